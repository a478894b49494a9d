"""The invariants of a window, checked on what is served alone: nothing of how windows are made is used (HI-11).

X8, X9, X11 and G4 are no facts of one window; they are shown by tests of their own.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from lastro.history.records import Provider
from lastro.invariants import aisdk, anthropic, anywhere, gemini, openai_chat, openai_responses
from lastro.invariants.anywhere import Told
from lastro.invariants.subject import Account, Bounds, Message, Subject, Violation

__all__ = ["DEFAULT", "Account", "Violation", "violations"]

Rule = Callable[[Subject], Iterator[Violation]]

TOLD: Mapping[Provider, Callable[[Message], Told]] = {
    "openai.chat": openai_chat.told,
    "openai.responses": openai_responses.told,
    "anthropic.messages": anthropic.told,
    "gemini.contents": gemini.told,
    "aisdk.model": aisdk.told,
}
PAIRED = {"X1": anywhere.together, "X2": anywhere.unbroken, "X5": anywhere.current}
ANYWHERE: Mapping[str, Rule] = {
    "X3": anywhere.unaltered,
    "X4": anywhere.instructed,
    "X6": anywhere.strict,
    "X7": anywhere.bounded,
    "X10": anywhere.summarized,
    "X12": anywhere.on_path,
}
OWN: Mapping[Provider, Mapping[str, Rule]] = {
    "openai.chat": {
        "C1": openai_chat.c1,
        "C2": openai_chat.c2,
        "C4": openai_chat.c4,
        "C5": openai_chat.c5,
        "C6": openai_chat.c6,
        "C7": openai_chat.c7,
    },
    "openai.responses": {
        "R1": openai_responses.r1,
        "R2": openai_responses.r2,
        "R3": openai_responses.r3,
        "R4": openai_responses.r4,
        "R5": openai_responses.r5,
        "R6": openai_responses.r6,
        "R7": openai_responses.r7,
    },
    "anthropic.messages": {
        "A1": anthropic.a1,
        "A2": anthropic.a2,
        "A3": anthropic.a3,
        "A4": anthropic.a4,
        "A5": anthropic.a5,
        "A6": anthropic.a6,
        "A7": anthropic.a7,
        "A8": anthropic.a8,
        "A9": anthropic.a9,
        "A10": anthropic.a10,
    },
    "gemini.contents": {"G1": gemini.g1, "G2": gemini.g2, "G3": gemini.g3, "G5": gemini.g5},
    "aisdk.model": {"V1": aisdk.v1, "V2": aisdk.v2, "V3": aisdk.v3, "V4": aisdk.v4},
}
ELSEWHERE = frozenset({"X8", "X9", "X11", "G4"})
OF_SOME_SERVERS = frozenset({"C7", "R5", "A7", "A8", "A9"})
"""Rules of stricter servers, of newer models, or of what stands beside the window: checked when they are named."""
DEFAULT: Mapping[Provider, frozenset[str]] = {
    provider: frozenset({*PAIRED, *ANYWHERE, *own} - OF_SOME_SERVERS) for provider, own in OWN.items()
}


def violations(
    provider: Provider,
    served_messages: Sequence[Message],
    *,
    stored: Sequence[Message] | None = None,
    account: Account | None = None,
    limits: Bounds | None = None,
    instructions: int | None = None,
    tools: bool | None = None,
    invariants: Collection[str] | None = None,
) -> list[Violation]:
    """List the invariants that a window breaks, by the table of history's invariants (HI-11).

    `stored` are the messages of the path in stored order, and `account` says which of them the served ones are;
    without both, X2 to X5, X10 and X12 see only what the window itself shows. `instructions` is how many served
    messages are instructions (those of system and developer in front, where not given). `tools` says whether the
    request defines tools. `invariants` names what is checked instead of `DEFAULT`; raises ValueError for an id that
    does not exist.
    """
    leading = _leading(served_messages) if instructions is None else instructions
    subject = Subject(served_messages, stored, account or Account(), limits, leading, tools)
    names = DEFAULT[provider] if invariants is None else invariants
    strangers = list(anywhere.on_path(subject))
    if strangers:
        return strangers
    return [broken for name in sorted(names) for broken in _check(name, provider, subject)]


def _check(name: str, provider: Provider, subject: Subject) -> Iterator[Violation]:
    if name in PAIRED:
        return PAIRED[name](subject, TOLD[provider])
    rule = ANYWHERE.get(name) or OWN[provider].get(name)
    if rule is None and name not in ELSEWHERE and not any(name in own for own in OWN.values()):
        raise ValueError(f"no invariant {name}")
    return rule(subject) if rule else iter(())


def _leading(messages: Sequence[Message]) -> int:
    """Count the instructions in front."""
    count = 0
    while count < len(messages) and anywhere.is_instruction(messages[count]):
        count += 1
    return count
