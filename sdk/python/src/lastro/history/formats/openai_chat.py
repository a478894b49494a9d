"""OpenAI Chat Completions, and the servers that speak as it does (C1 to C7)."""

from collections.abc import Mapping, Sequence

from lastro.history.formats.shapes import (
    NOT_EXECUTED,
    Call,
    Format,
    Reading,
    Result,
    object_of,
    objects,
    replaced,
    text,
)
from lastro.history.records import Message

SAYS = ("tool_calls", "function_call", "content", "refusal", "audio")


class OpenAIChat(Format):
    """Messages with a role; calls in `tool_calls`, each result a message of its own behind them."""

    provider = "openai.chat"
    orphan_rule = "C1"
    unique_ids = True

    def read(self, message: Message) -> Reading:
        """Tell who speaks by the role; the older `function_call` has no id and is matched by its name."""
        role = message.get("role")
        if role in ("system", "developer"):
            return Reading("instruction")
        if role == "assistant":
            return Reading("response", calls=_calls(message))
        if role == "tool":
            return Reading("results", results=(Result(0, text(message.get("tool_call_id"))),))
        if role == "function":
            return Reading("results", results=(Result(0, "", text(message.get("name"))),))
        return Reading("input")

    def filled(self, message: Message) -> Message | None:
        """Leave out an assistant that says nothing and calls nothing (C4)."""
        empty = message.get("role") == "assistant" and not any(message.get(name) for name in SAYS)
        return None if empty else message

    def renamed(self, message: Message, ids: Mapping[int, str]) -> Message:
        """Give calls, or the one result, other ids."""
        if message.get("role") == "tool":
            return {**message, "tool_call_id": ids[0]}
        calls = {
            place: {**call, "id": ids[place]}
            for place, call in objects(message.get("tool_calls"))
            if place in ids
        }
        return replaced(message, "tool_calls", calls)

    def joins(self, first: Message, second: Message) -> bool:
        """Say whether two texts of a user follow each other."""
        return first.get("role") == second.get("role") == "user"

    def joined(self, messages: Sequence[Message]) -> Message:
        """Put what a user said in a row into one message."""
        parts = [part for message in messages for part in _parts(message.get("content"))]
        return {**messages[0], "content": parts}

    def not_executed(self, call: Call) -> Message:
        """Write a tool message that says so."""
        if not call.id:
            return {"role": "function", "name": call.name, "content": NOT_EXECUTED}
        return {"role": "tool", "tool_call_id": call.id, "content": NOT_EXECUTED}

    def summary(self, text: str) -> Message:
        """Write a user's message."""
        return {"role": "user", "content": text}


def _calls(message: Message) -> tuple[Call, ...]:
    calls = [
        Call(
            place,
            text(call.get("id")),
            text(object_of(call.get(text(call.get("type")) or "function")).get("name")),
        )
        for place, call in objects(message.get("tool_calls"))
    ]
    older = object_of(message.get("function_call"))
    return (*calls, Call(0, "", text(older.get("name")))) if older else tuple(calls)


def _parts(content: object) -> list[Message]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part for _, part in objects(content)]
