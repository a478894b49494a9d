"""Anthropic Messages: roles alternate and begin with user, results stand first, behind their calls (A1 to A9)."""

from collections.abc import Iterator, Sequence
from typing import Any

from lastro.assembly.records import Part
from lastro.assembly.rendering.parts import argument_object, placeholder
from lastro.assembly.rendering.turns import Said, Turn

Block = dict[str, Any]


def messages_of(turns: Sequence[Turn]) -> list[Block]:
    """Write turns as messages of the roles user and assistant; the separate system text is left to the host."""
    messages: list[Block] = []
    for turn in turns:
        for role, blocks in _written(turn):
            if messages and messages[-1]["role"] == role:
                messages[-1]["content"] += blocks
            elif blocks:
                messages.append({"role": role, "content": blocks})
    return messages


def _written(turn: Turn) -> Iterator[tuple[str, list[Block]]]:
    if isinstance(turn, Said):
        yield turn.role, [_block(part, turn.role) for part in turn.parts if placeholder(part)]
        return
    yield (
        "assistant",
        [
            {
                "type": "tool_use",
                "id": answered.call.id,
                "name": answered.call.tool,
                "input": argument_object(answered.call),
            }
            for answered in turn.answered
        ],
    )
    yield (
        "user",
        [
            {
                "type": "tool_result",
                "tool_use_id": answered.call.id,
                **({"content": answered.result} if answered.result else {}),
            }
            for answered in turn.answered
        ],
    )


def _block(part: Part, role: str) -> Block:
    if role == "user" and part.kind in ("image", "file"):
        kind = "image" if part.kind == "image" else "document"
        return {"type": kind, "source": _source(part)}
    return {"type": "text", "text": placeholder(part)}


def _source(part: Part) -> Block:
    if part.url:
        return {"type": "url", "url": part.url}
    return {"type": "base64", "media_type": part.media_type, "data": part.data}
