"""V1 to V4: AI SDK ModelMessage."""

from collections.abc import Iterator

from lastro.invariants.anywhere import MAY, Told
from lastro.invariants.subject import Message, Subject, Violation, blocks, role_of, typed

OPAQUE = ("providerOptions", "providerMetadata")


def told(message: Message) -> Told:
    """Give the ids of calls and results; where an approval is asked for, its response answers the call."""
    if role_of(message) == "tool":
        results = [str(part.get("toolCallId")) for part in typed(message, "tool-result")]
        return [], results + [
            f"approval:{part.get('approvalId')}" for part in typed(message, "tool-approval-response")
        ]
    approvals = typed(message, "tool-approval-request")
    asked = {part.get("toolCallId") for part in approvals}
    calls = [
        part.get("toolCallId") for part in typed(message, "tool-call") if not part.get("providerExecuted")
    ]
    names = [f"{MAY}{name}" if name in asked else str(name) for name in calls]
    return names + [f"{MAY}approval:{part.get('approvalId')}" for part in approvals], []


def v1(subject: Subject) -> Iterator[Violation]:
    """Each call has a result or an approval's response before anyone else speaks."""
    for index, message, results in _groups(subject):
        answered = {name for result in results for name in told(result)[1]}
        approvals = typed(message, "tool-approval-request")
        approved = {
            part.get("toolCallId") for part in approvals if f"approval:{part.get('approvalId')}" in answered
        }
        calls = {name.removeprefix(MAY) for name in told(message)[0]} - {
            f"approval:{part.get('approvalId')}" for part in approvals
        }
        if calls - answered - approved:
            yield Violation("V1", index, "a call without result or approval")


def _groups(subject: Subject) -> Iterator[tuple[int, Message, list[Message]]]:
    """Give each message that is no tool's, with the tool messages directly behind it."""
    group: tuple[int, Message, list[Message]] = (-1, {}, [])
    for index, message in subject.spoken:
        if role_of(message) == "tool":
            group[2].append(message)
        else:
            yield group
            group = (index, message, [])
    yield group


def v2(subject: Subject) -> Iterator[Violation]:
    """Each result has its call before it."""
    calls: set[str] = set()
    for index, message in subject.spoken:
        made, results = told(message)
        if set(results) - calls:
            yield Violation("V2", index, "a result without its call")
        calls.update(name.removeprefix(MAY) for name in made)


def v3(subject: Subject) -> Iterator[Violation]:
    """Opaque metadata of parts is where it was stored."""
    for index, served, stored in subject.pairs:
        kept = [_opaque(part) for part in blocks(served) if any(_opaque(part))]
        if index not in subject.account.changed and kept != [
            _opaque(part) for part in blocks(stored) if any(_opaque(part))
        ]:
            yield Violation("V3", index, "provider metadata is not what was stored")


def _opaque(part: Message) -> list[object]:
    return [part.get(name) for name in OPAQUE]


def v4(subject: Subject) -> Iterator[Violation]:
    """What the system says is a text, and each message has a role that there is."""
    for index, message in enumerate(subject.served):
        if role_of(message) == "system" and not isinstance(message.get("content"), str):
            yield Violation("V4", index, "content of the system that is no text")
        if role_of(message) not in ("system", "user", "assistant", "tool"):
            yield Violation("V4", index, "no such role")
