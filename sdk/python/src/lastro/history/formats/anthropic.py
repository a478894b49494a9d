"""Anthropic Messages: blocks; the results of a message stand first in the next one (A1 to A10)."""

from collections.abc import Mapping, Sequence, Set

from lastro.history.formats.shapes import (
    NOT_EXECUTED,
    Call,
    Flaw,
    Format,
    Reading,
    Result,
    array_of,
    objects,
    picked,
    replaced,
    text,
)
from lastro.history.records import Message

RUN_BY_PROVIDER = ("server_tool_use", "mcp_tool_use")


class Anthropic(Format):
    """Messages of user and assistant; system is a field of its own, and a message with that role is one too."""

    provider = "anthropic.messages"
    orphan_rule = "A1"
    start_rule = "A5"
    starts_with_input = True
    joins_results = True
    unique_ids = True

    def read(self, message: Message) -> Reading:
        """Tell by the role and the blocks; tools that the provider runs wait for nothing."""
        role, content = message.get("role"), message.get("content")
        if role in ("system", "developer"):
            return Reading("instruction")
        if role == "assistant":
            calls = [
                Call(place, text(block.get("id")), text(block.get("name")))
                for place, block in _of(content, "tool_use")
            ]
            return Reading("response", calls=tuple(calls))
        results = tuple(
            Result(place, text(block.get("tool_use_id"))) for place, block in _of(content, "tool_result")
        )
        mixed = len(results) < len(array_of(content))
        return Reading("results", results=results, mixed=mixed) if results else Reading("input")

    def filled(self, message: Message) -> Message | None:
        """Leave out texts without a visible character, and a message of nothing else (A4)."""
        content = message.get("content")
        if isinstance(content, str):
            return message if content.strip() else None
        blocks = {place: _filled_result(block) for place, block in _of(content, "tool_result")}
        if any(blocks[place] is not block for place, block in _of(content, "tool_result")):
            message = replaced(message, "content", blocks)
        empty = {place for place, block in _of(content, "text") if not text(block.get("text")).strip()}
        if len(empty) == len(array_of(content)):
            return None
        return picked(message, "content", lambda place: place not in empty) if empty else message

    def mended_run(
        self, messages: Sequence[Message], *, words: Set[str]
    ) -> tuple[tuple[Message | None, tuple[Flaw, ...]], ...]:
        """Leave out results of tools that the provider never began to run (A10), and mend what is left."""
        return tuple(self._mended_one(messages, index, words=words) for index in range(len(messages)))

    def _mended_one(
        self, messages: Sequence[Message], index: int, *, words: Set[str]
    ) -> tuple[Message | None, tuple[Flaw, ...]]:
        orphans = _orphans(messages, index)
        if not orphans:
            return self.mended(messages[index], words=words)
        flaw = Flaw("A10", tuple(orphans.values()))
        rest = picked(messages[index], "content", lambda place: place not in orphans)
        kept, flaws = self.mended(rest, words=words) if rest["content"] else (None, ())
        return kept, (flaw, *flaws)

    def mended(self, message: Message, *, words: Set[str]) -> tuple[Message | None, tuple[Flaw, ...]]:
        """Put results first (A2) and calls last (A9); leave out thinking that lost its signature (A6)."""
        if message.get("role") == "assistant":
            return _mended_response(message)
        kinds = [block.get("type") == "tool_result" for _, block in objects(message.get("content"))]
        if kinds == sorted(kinds, reverse=True):
            return message, ()
        return self.joined([message]), (Flaw("A2"),)

    def continues(self, first: Message, second: Message) -> bool:
        """Say whether the second brings a result of what the provider began to run in the first (A10)."""
        begun = set(_unended(first).values())
        return any(block.get("tool_use_id") in begun for _, block in objects(second.get("content")))

    def finished(self, message: Message) -> tuple[Message | None, tuple[Flaw, ...]]:
        """Leave out tools that the provider began to run and gave no result of (A10)."""
        open_ = _unended(message)
        if not open_:
            return message, ()
        rest = picked(message, "content", lambda place: place not in open_)
        return (rest if rest["content"] else None), (Flaw("A10", tuple(open_.values())),)

    def only(self, message: Message, places: Set[int]) -> Message:
        """Keep the results at these places."""
        return picked(message, "content", lambda place: place in places)

    def without(self, message: Message, places: Set[int]) -> Message | None:
        """Leave the results at these places out."""
        rest = picked(message, "content", lambda place: place not in places)
        return rest if rest["content"] else None

    def joins(self, first: Message, second: Message) -> bool:
        """Say whether two messages in a row have one role."""
        return first.get("role") == second.get("role")

    def joined(self, messages: Sequence[Message]) -> Message:
        """Put the blocks of messages of one role into one message, results first."""
        blocks = [block for message in messages for block in _blocks(message.get("content"))]
        return {
            **messages[0],
            "content": sorted(blocks, key=lambda block: block.get("type") != "tool_result"),
        }

    def renamed(self, message: Message, ids: Mapping[int, str]) -> Message:
        """Give the calls or results at these places other ids."""
        name = "id" if message.get("role") == "assistant" else "tool_use_id"
        blocks = {
            place: {**block, name: ids[place]}
            for place, block in objects(message.get("content"))
            if place in ids
        }
        return replaced(message, "content", blocks)

    def not_executed(self, call: Call) -> Message:
        """Write a user's message with a result that says so."""
        block = {"type": "tool_result", "tool_use_id": call.id, "content": NOT_EXECUTED, "is_error": True}
        return {"role": "user", "content": [block]}

    def summary(self, text: str) -> Message:
        """Write a user's message."""
        return {"role": "user", "content": [{"type": "text", "text": text}]}


def _of(content: object, kind: str) -> list[tuple[int, Message]]:
    return [(place, block) for place, block in objects(content) if block.get("type") == kind]


def _unended(message: Message) -> dict[int, str]:
    """Give the places and ids of what the provider began to run and gave no result of in this message."""
    content = message.get("content")
    ended = {text(block.get("tool_use_id")) for _, block in objects(content)}
    begun = [(place, block) for kind in RUN_BY_PROVIDER for place, block in _of(content, kind)]
    ids = {place: text(block.get("id")) for place, block in begun}
    return {place: name for place, name in ids.items() if name not in ended}


def _orphans(messages: Sequence[Message], index: int) -> dict[int, str]:
    """Give the results of tools of the provider in a message, whose use is in none up to it."""
    begun = {
        text(block.get("id"))
        for message in messages[: index + 1]
        for _, block in objects(message.get("content"))
    }
    results = [
        (place, text(block.get("tool_use_id")))
        for place, block in objects(messages[index].get("content"))
        if text(block.get("type")).endswith("_tool_result")
    ]
    return {place: name for place, name in results if name not in begun}


def _blocks(content: object) -> list[Message]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for _, block in objects(content)]


def _filled_result(block: Message) -> Message:
    inner = block.get("content")
    empty = {place for place, part in _of(inner, "text") if not text(part.get("text")).strip()}
    return picked(block, "content", lambda place: place not in empty) if empty else block


def _mended_response(message: Message) -> tuple[Message | None, tuple[Flaw, ...]]:
    flaws: list[Flaw] = []
    unsigned = {
        place for place, block in _of(message.get("content"), "thinking") if not block.get("signature")
    }
    if unsigned:
        flaws.append(Flaw("A6"))
        message = picked(message, "content", lambda place: place not in unsigned)
    last = [block.get("type") == "tool_use" for _, block in objects(message.get("content"))]
    if last != sorted(last):
        flaws.append(Flaw("A9"))
        blocks = sorted(array_of(message.get("content")), key=lambda block: block.get("type") == "tool_use")
        message = {**message, "content": blocks}
    return (message if array_of(message.get("content")) or not unsigned else None), tuple(flaws)
