"""Gemini contents: n calls are followed by n responses, a call's signature returns in its part (G1 to G5)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from lastro.assembly.records import Part, ToolCall
from lastro.assembly.rendering.parts import argument_object, placeholder, result_object
from lastro.assembly.rendering.turns import Said, Turn

Content = dict[str, Any]


def messages_of(turns: Sequence[Turn]) -> list[Content]:
    """Write turns as contents of the roles user and model; the system instruction is left to the host."""
    contents: list[Content] = []
    for turn in turns:
        for role, parts, is_response in _written(turn):
            joins = contents and contents[-1]["role"] == role and not is_response
            if joins and "functionResponse" not in contents[-1]["parts"][-1]:
                contents[-1]["parts"] += parts
            elif parts:
                contents.append({"role": role, "parts": parts})
    return contents


def _written(turn: Turn) -> Iterator[tuple[str, list[Content], bool]]:
    if isinstance(turn, Said):
        role = "model" if turn.role == "assistant" else "user"
        yield role, [_part(part) for part in turn.parts if placeholder(part)], False
        return
    yield "model", [_call(answered.call) for answered in turn.answered], False
    yield (
        "user",
        [
            {
                "functionResponse": {
                    "id": answered.call.id,
                    "name": answered.call.tool,
                    "response": result_object(answered.result),
                }
            }
            for answered in turn.answered
        ],
        True,
    )


def _call(call: ToolCall) -> Content:
    part: Content = {"functionCall": {"id": call.id, "name": call.tool, "args": argument_object(call)}}
    signature = _signature(call.provider_metadata)
    return {**part, "thoughtSignature": signature} if signature else part


def _signature(metadata: Any) -> str:
    """Give the signature that came with a call, kept in its provider's metadata as it came (G3)."""
    if not isinstance(metadata, dict):
        return ""
    found = cast("Mapping[str, Any]", metadata).get("thoughtSignature")
    return found if isinstance(found, str) else ""


def _part(part: Part) -> Content:
    if part.kind == "text":
        return {"text": part.text}
    if part.data:
        return {"inlineData": {"mimeType": part.media_type, "data": part.data}}
    return {"fileData": {"fileUri": part.url, **({"mimeType": part.media_type} if part.media_type else {})}}
