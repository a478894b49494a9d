"""A model that does what is usual: calls the first tool once, gives an object where one is asked for, else speaks."""

import json
from typing import Any

from loopback.answers import Call, Turn
from loopback.wire import Body

SAMPLES: dict[str, Any] = {"string": "Friday", "integer": 1, "number": 1, "boolean": True, "array": []}


def obliging(request: Body) -> Turn:
    """Answer one request of OpenAI's two APIs, and in plain words one of any other."""
    shape = request.get("text", {}).get("format", {}).get("schema")
    if shape:
        return Turn(json.dumps(sample(shape)))
    last = (request.get("input") or request.get("messages") or [{}])[-1]
    if request.get("tools") and last.get("role") == "user":
        tool = request["tools"][0].get("function", request["tools"][0])
        return Turn(calls=(Call(tool["name"], sample(tool["parameters"])),))
    return Turn("Room 12 is free.")


def sample(schema: Body) -> Any:
    """Give a value of a simple JSON Schema."""
    if schema.get("type") == "object":
        return {name: sample(part) for name, part in schema.get("properties", {}).items()}
    return SAMPLES.get(schema.get("type", ""))
