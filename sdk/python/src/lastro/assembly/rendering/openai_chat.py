"""OpenAI Chat Completions: every result follows its call's message, all calls of a message are answered (C1 to C5)."""

from collections.abc import Iterator, Sequence
from typing import Any

from lastro.assembly.records import Part
from lastro.assembly.rendering.parts import arguments_of, data_url, placeholder
from lastro.assembly.rendering.turns import Round, Said, Turn

Message = dict[str, Any]


def messages_of(turns: Sequence[Turn]) -> list[Message]:
    """Write turns as messages of the roles user, assistant and tool; never system."""
    return [message for turn in turns for message in _written(turn)]


def _written(turn: Turn) -> Iterator[Message]:
    if isinstance(turn, Said):
        content = _content(turn)
        if content:
            yield {"role": turn.role, "content": content}
        return
    yield _calls(turn)
    for answered in turn.answered:
        yield {"role": "tool", "tool_call_id": answered.call.id, "content": answered.result}


def _calls(turn: Round) -> Message:
    calls = [
        {
            "id": answered.call.id,
            "type": "function",
            "function": {"name": answered.call.tool, "arguments": arguments_of(answered.call)},
        }
        for answered in turn.answered
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _content(turn: Said) -> str | list[Message]:
    """Give a text where every part is one: an assistant says nothing else, and servers that take less take that."""
    if turn.role == "assistant" or all(part.kind == "text" for part in turn.parts):
        return "\n".join(filter(None, map(placeholder, turn.parts)))
    return [_part(part) for part in turn.parts if part.kind != "text" or part.text]


def _part(part: Part) -> Message:
    if part.kind == "image":
        return {"type": "image_url", "image_url": {"url": data_url(part)}}
    if part.kind == "audio" and part.data:
        sound = {"data": part.data, "format": (part.media_type or "").rpartition("/")[2]}
        return {"type": "input_audio", "input_audio": sound}
    if part.kind == "file" and part.data:
        return {"type": "file", "file": {"filename": part.name or "file", "file_data": data_url(part)}}
    return {"type": "text", "text": placeholder(part)}
