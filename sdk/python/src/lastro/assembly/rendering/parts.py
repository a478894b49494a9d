"""Parts of messages and arguments of calls, as several providers write them."""

import json
from typing import Any, cast

from lastro.assembly.locators import canonical
from lastro.assembly.records import Part, ToolCall


def placeholder(part: Part) -> str:
    """Give a part as text: what is no text is named."""
    return (
        part.text
        if part.kind == "text"
        else f"[{part.kind}: {part.name or part.media_type or part.url or ''}]"
    )


def data_url(part: Part) -> str:
    """Give the address of a part, its data in it where it has no other."""
    return part.url or f"data:{part.media_type};base64,{part.data}"


def arguments_of(call: ToolCall) -> str:
    """Give a call's arguments as JSON text."""
    return canonical(argument_object(call)).decode()


def argument_object(call: ToolCall) -> dict[str, Any]:
    """Give a call's arguments as an object: some providers take nothing else."""
    value = call.arguments.value
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    return {} if value is None else {"value": value}


def result_object(result: str) -> dict[str, Any]:
    """Give a result as an object: its own where it is one, else as the only member."""
    try:
        value: Any = json.loads(result)
    except (ValueError, RecursionError):
        return {"result": result}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"result": value}
