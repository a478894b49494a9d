"""A1 to A10: Anthropic Messages."""

from collections.abc import Iterator

from lastro.invariants.anywhere import Told
from lastro.invariants.subject import Message, Subject, Violation, blocks, role_of, typed

THINKING = ("thinking", "redacted_thinking")


def told(message: Message) -> Told:
    """Give the ids of tool_use and tool_result."""
    return _uses(message), [str(block.get("tool_use_id")) for block in typed(message, "tool_result")]


def _uses(message: Message) -> list[str]:
    return [str(block.get("id")) for block in typed(message, "tool_use")]


def _neighbours(subject: Subject) -> Iterator[tuple[int, Message, Message]]:
    """Give each message with the one before it."""
    before: Message = {}
    for index, message in subject.spoken:
        yield index, before, message
        before = message


def a1(subject: Subject) -> Iterator[Violation]:
    """Each tool_result refers to a tool_use of the message directly before."""
    for index, before, message in _neighbours(subject):
        if set(told(message)[1]) - set(_uses(before)):
            yield Violation("A1", index, "no such tool_use directly before")


def a2(subject: Subject) -> Iterator[Violation]:
    """All tool_use of a message are answered once in the next message, results first."""
    for index, before, message in _neighbours(subject):
        if sorted(_uses(before)) != sorted(told(message)[1]) and _uses(before):
            yield Violation("A2", index - 1, "not every tool_use answered once in the next message")
        kinds = [block.get("type") != "tool_result" for block in blocks(message)]
        if role_of(message) == "user" and kinds != sorted(kinds):
            yield Violation("A2", index, "results do not stand first")
    if subject.spoken and _uses(subject.spoken[-1][1]):
        yield Violation("A2", subject.spoken[-1][0], "an unanswered tool_use")


def a3(subject: Subject) -> Iterator[Violation]:
    """Ids of tool_use are unique."""
    seen: set[str] = set()
    for index, message in subject.spoken:
        ids = _uses(message)
        if seen.intersection(ids) or len(set(ids)) < len(ids):
            yield Violation("A3", index, "an id for the second time")
        seen.update(ids)


def a4(subject: Subject) -> Iterator[Violation]:
    """No empty text, no empty content but that of an assistant standing last."""
    for index, message in subject.spoken:
        last = index == len(subject.served) - 1 and role_of(message) == "assistant"
        if not message.get("content") and not last:
            yield Violation("A4", index, "empty content")
        inner = [block for result in typed(message, "tool_result") for block in typed(result, "text")]
        if any(not str(block.get("text") or "").strip() for block in [*typed(message, "text"), *inner]):
            yield Violation("A4", index, "an empty text")


def a5(subject: Subject) -> Iterator[Violation]:
    """The first message is a user's."""
    if subject.spoken and role_of(subject.spoken[0][1]) != "user":
        yield Violation("A5", subject.spoken[0][0], "no user speaks first")


def a6(subject: Subject) -> Iterator[Violation]:
    """Thinking of the latest assistant message is as it was stored, in its order, and signed."""
    pairs = [pair for pair in subject.pairs if role_of(pair[1]) == "assistant"]
    for index, served, stored in pairs[-1:]:
        if typed(served, *THINKING) != typed(stored, *THINKING):
            yield Violation("A6", index, "thinking is not what was stored")
    for index, message in [pair for pair in subject.spoken if role_of(pair[1]) == "assistant"][-1:]:
        if any(not block.get("signature") for block in typed(message, "thinking")):
            yield Violation("A6", index, "thinking without its signature")


def a7(subject: Subject) -> Iterator[Violation]:
    """A user speaks last."""
    if subject.spoken and role_of(subject.spoken[-1][1]) != "user":
        yield Violation("A7", subject.spoken[-1][0], "no user speaks last")


def a8(subject: Subject) -> Iterator[Violation]:
    """Where tools were used, tools are defined."""
    if subject.tools is False and any(any(told(message)) for _, message in subject.spoken):
        yield Violation("A8", -1, "tools used and none defined")


def a9(subject: Subject) -> Iterator[Violation]:
    """Roles alternate, and tool_use stands last in its message."""
    for index, before, message in _neighbours(subject):
        if role_of(before) == role_of(message):
            yield Violation("A9", index, "one role twice in a row")
        kinds = [block.get("type") == "tool_use" for block in blocks(message)]
        if kinds != sorted(kinds):
            yield Violation("A9", index, "a block behind a tool_use")


def a10(subject: Subject) -> Iterator[Violation]:
    """A tool that the provider ran has its use and its result in one message; a user waits for the result."""
    for index, before, message in _neighbours(subject):
        begun = [message, before] if role_of(before) == "assistant" else [message]
        ids = {block.get("id") for one in begun for block in typed(one, "server_tool_use", "mcp_tool_use")}
        results = [block for block in blocks(message) if _is_server_result(block)]
        if any(block.get("tool_use_id") not in ids for block in results):
            yield Violation("A10", index, "a server's result without its use")
    for index, before, message in _neighbours(subject):
        uses = {block.get("id") for block in typed(before, "server_tool_use", "mcp_tool_use")}
        ended = {block.get("tool_use_id") for block in blocks(before)}
        if uses - ended and role_of(message) == "user" and not told(message)[1]:
            yield Violation("A10", index - 1, "a server's use without its result, and a user behind it")


def _is_server_result(block: Message) -> bool:
    kind = str(block.get("type"))
    return kind.endswith("_tool_result") and kind != "tool_result"
