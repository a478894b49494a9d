"""AI SDK ModelMessage: parts; results in messages of the role `tool` (V1 to V4)."""

from collections.abc import Set

from lastro.history.formats.shapes import (
    NOT_EXECUTED,
    Call,
    Format,
    Reading,
    Result,
    array_of,
    objects,
    picked,
    text,
)
from lastro.history.records import Message


class AISDK(Format):
    """Messages of system, user, assistant and tool; an approval's response answers a call too (V1)."""

    provider = "aisdk.model"
    orphan_rule = "V2"

    def read(self, message: Message) -> Reading:
        """Tell by the role and the parts; calls that the provider ran itself wait for nothing."""
        role = message.get("role")
        if role == "system":
            return Reading("instruction")
        if role == "assistant":
            return Reading("response", calls=_calls(message))
        if role == "tool":
            results = _results(message)
            return Reading(
                "results", results=results, mixed=len(results) < len(array_of(message.get("content")))
            )
        return Reading("input")

    def filled(self, message: Message) -> Message | None:
        """Leave out an assistant or a tool that says nothing."""
        return (
            None if message.get("role") in ("assistant", "tool") and not message.get("content") else message
        )

    def only(self, message: Message, places: Set[int]) -> Message:
        """Keep the results at these places."""
        return picked(message, "content", lambda place: place in places)

    def without(self, message: Message, places: Set[int]) -> Message | None:
        """Leave the results at these places out."""
        rest = picked(message, "content", lambda place: place not in places)
        return rest if rest["content"] else None

    def not_executed(self, call: Call) -> Message:
        """Write a tool message that says so."""
        output = {"type": "error-text", "value": NOT_EXECUTED}
        part = {"type": "tool-result", "toolCallId": call.id, "toolName": call.name, "output": output}
        return {"role": "tool", "content": [part]}

    def summary(self, text: str) -> Message:
        """Write a user's message."""
        return {"role": "user", "content": [{"type": "text", "text": text}]}


def _calls(message: Message) -> tuple[Call, ...]:
    parts = list(objects(message.get("content")))
    approvals = {
        text(part.get("toolCallId")): text(part.get("approvalId"))
        for _, part in parts
        if part.get("type") == "tool-approval-request"
    }
    return tuple(
        Call(place, name, text(part.get("toolName")), approvals.get(name, ""))
        for place, part in parts
        if part.get("type") == "tool-call" and not part.get("providerExecuted")
        for name in [text(part.get("toolCallId"))]
    )


def _results(message: Message) -> tuple[Result, ...]:
    named = {"tool-result": "toolCallId", "tool-approval-response": "approvalId"}
    return tuple(
        Result(place, text(part.get(named[kind])), text(part.get("toolName")))
        for place, part in objects(message.get("content"))
        for kind in [text(part.get("type"))]
        if kind in named
    )
