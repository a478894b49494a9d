"""C1 to C7: OpenAI Chat Completions."""

from collections.abc import Iterator

from lastro.invariants.anywhere import Told
from lastro.invariants.subject import Message, Subject, Violation, blocks, role_of


def told(message: Message) -> Told:
    """Give the ids of calls and results."""
    return _ids(message), [str(message.get("tool_call_id"))] if role_of(message) == "tool" else []


def _ids(message: Message) -> list[str]:
    return (
        [str(call.get("id")) for call in blocks(message, "tool_calls")]
        if role_of(message) == "assistant"
        else []
    )


def _groups(subject: Subject) -> Iterator[tuple[int, Message, list[tuple[int, str]]]]:
    """Give each message that is no tool's, with the tool messages directly behind it."""
    group: tuple[int, Message, list[tuple[int, str]]] = (-1, {}, [])
    for index, message in enumerate(subject.served):
        if role_of(message) == "tool":
            group[2].append((index, str(message.get("tool_call_id"))))
        else:
            yield group
            group = (index, message, [])
    yield group


def c1(subject: Subject) -> Iterator[Violation]:
    """A tool message follows the assistant message that holds its id, only tool messages between."""
    for _, message, results in _groups(subject):
        ids = _ids(message)
        yield from (
            Violation("C1", index, "no such call before it") for index, name in results if name not in ids
        )


def c2(subject: Subject) -> Iterator[Violation]:
    """Each id has exactly one tool message before another role."""
    for index, message, results in _groups(subject):
        names = [name for _, name in results]
        if any(names.count(name) != 1 for name in _ids(message)):
            yield Violation("C2", index, "a call without exactly one result")


def c4(subject: Subject) -> Iterator[Violation]:
    """An assistant message has content or calls."""
    says = ("content", "tool_calls", "function_call", "refusal", "audio")
    for index, message in enumerate(subject.served):
        if role_of(message) == "assistant" and not any(message.get(name) for name in says):
            yield Violation("C4", index, "neither content nor calls")


def c5(subject: Subject) -> Iterator[Violation]:
    """Ids of calls are unique in the request."""
    seen: set[str] = set()
    for index, message in enumerate(subject.served):
        ids = _ids(message)
        if seen.intersection(ids) or len(set(ids)) < len(ids):
            yield Violation("C5", index, "an id for the second time")
        seen.update(ids)


def c6(subject: Subject) -> Iterator[Violation]:
    """A message with calls keeps its `reasoning_content`."""
    for index, served, stored in subject.pairs:
        if _ids(stored) and stored.get("reasoning_content") != served.get("reasoning_content"):
            yield Violation("C6", index, "reasoning_content is not what was stored")


def c7(subject: Subject) -> Iterator[Violation]:
    """The last role is user or tool."""
    if subject.served and role_of(subject.served[-1]) not in ("user", "tool"):
        yield Violation("C7", len(subject.served) - 1, "neither user nor tool stands last")
