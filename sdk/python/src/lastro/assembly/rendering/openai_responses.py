"""OpenAI Responses: every function_call has its output, every output its call (R1, R2)."""

from collections.abc import Iterator, Sequence
from typing import Any

from lastro.assembly.records import Part
from lastro.assembly.rendering.parts import arguments_of, data_url, placeholder
from lastro.assembly.rendering.turns import Said, Turn

Item = dict[str, Any]


def messages_of(turns: Sequence[Turn]) -> list[Item]:
    """Write turns as input items; no item is of the role system or developer."""
    return [item for turn in turns for item in _written(turn)]


def _written(turn: Turn) -> Iterator[Item]:
    if isinstance(turn, Said):
        content = [_part(part, turn.role) for part in turn.parts if placeholder(part)]
        if content:
            yield {"type": "message", "role": turn.role, "content": content}
        return
    for answered in turn.answered:
        call = answered.call
        yield {
            "type": "function_call",
            "call_id": call.id,
            "name": call.tool,
            "arguments": arguments_of(call),
        }
    for answered in turn.answered:
        yield {"type": "function_call_output", "call_id": answered.call.id, "output": answered.result}


def _part(part: Part, role: str) -> Item:
    if role == "assistant":
        return {"type": "output_text", "text": placeholder(part)}
    if part.kind == "image":
        return {"type": "input_image", "image_url": data_url(part)}
    if part.kind == "file":
        where = {"file_url": part.url} if part.url else {"file_data": data_url(part)}
        return {"type": "input_file", "filename": part.name or "file", **where}
    return {"type": "input_text", "text": placeholder(part)}
