"""OpenAI Chat Completions, and what servers compatible with it ask beyond it (by the model's name)."""

import json
import re
from collections.abc import Iterator
from typing import Any

from loopback.answers import Call, Refusal, Turn
from loopback.responses import error
from loopback.wire import Body, Memory, first, tokens_of

__all__ = ["answer", "check", "count", "counted", "error"]

ROLES = ("system", "developer", "user", "assistant", "tool")


def check(body: Body, memory: Memory) -> Refusal | None:
    """Give the first rule of C1 to C7 that the request breaks."""
    return first(_refusals(body))


def _refusals(body: Body) -> Iterator[Refusal]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield Refusal("messages", "[] is too short - 'messages'", "messages")
        return
    yield from _shapes(messages)
    yield from _pairs(messages)
    model = str(body.get("model"))
    if model.startswith("mistral"):
        yield from _mistral(messages)
    if model.startswith("deepseek"):
        yield from _deepseek(messages)
    if model.startswith("strict"):
        yield from _unique(messages)


def _shapes(messages: list[Any]) -> Iterator[Refusal]:
    for at, message in enumerate(messages):
        place, content = f"messages.[{at}]", message.get("content")
        if message.get("role") not in ROLES:
            yield Refusal("role", f"Invalid value: '{message.get('role')}'.", f"{place}.role")
        if message.get("tool_calls") == []:
            yield Refusal("C4", f"[] is too short - '{place}.tool_calls'", f"{place}.tool_calls")
        if content is None and not message.get("tool_calls"):
            yield Refusal(
                "C4", "Invalid value for 'content': expected a string, got null.", f"{place}.content"
            )
        if content == []:
            yield Refusal("C4", f"[] is too short - '{place}.content'", f"{place}.content")


def _ids(message: Body) -> list[str]:
    return [str(call.get("id")) for call in message.get("tool_calls") or []]


def _pairs(messages: list[Any]) -> Iterator[Refusal]:
    waiting: list[str] = []
    for at, message in enumerate([*messages, {}]):
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in waiting:
                yield Refusal(
                    "C1",
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                    "'tool_calls'.",
                    f"messages.[{at}].role",
                )
            else:
                waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            yield Refusal(
                "C2",
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}",
                f"messages.[{at}].role",
            )
        waiting = _ids(message)
        if len(set(waiting)) < len(waiting):
            yield Refusal("C5", "Duplicate value for 'tool_call_id'.", f"messages.[{at}].tool_calls")


def _unique(messages: list[Any]) -> Iterator[Refusal]:
    ids = [name for message in messages for name in _ids(message)]
    if len(set(ids)) < len(ids):
        yield Refusal("C5", "Duplicate tool call id in assistant messages.", "messages")


def _mistral(messages: list[Any]) -> Iterator[Refusal]:
    yield from _unique(messages)
    for name in (name for message in messages for name in _ids(message)):
        if not re.fullmatch(r"[a-zA-Z0-9]{9}", name):
            yield Refusal("C5", "Tool call id has to be a-z, A-Z, 0-9, with a length of 9.", "messages")
    if messages[-1].get("role") not in ("user", "tool"):
        yield Refusal("C7", "Expected last role User or Tool for serving.", "messages")


def _deepseek(messages: list[Any]) -> Iterator[Refusal]:
    users = [at for at, message in enumerate(messages) if message.get("role") == "user"]
    turns = zip([0, *users], [*users, len(messages)], strict=True)
    for start, end in turns:
        turn = [message for message in messages[start:end] if message.get("role") == "assistant"]
        if any(map(_ids, turn)) and not all("reasoning_content" in message for message in turn):
            yield Refusal(
                "C6", "The `reasoning_content` in the thinking mode must be passed back to the API."
            )


def counted(body: Body) -> Body:
    """Give the body itself; the API has no counting endpoint."""
    return body


def count(tokens: int) -> Body:
    """Give nothing that the API has."""
    raise NotImplementedError


def answer(body: Body, turn: Turn, memory: Memory) -> Body:
    """Give a completion of the model."""
    reason = turn.stop or ("tool_calls" if turn.calls else "stop")
    return {
        "id": memory.next("chatcmpl"),
        "object": "chat.completion",
        "created": 1_780_000_000,
        "model": body["model"],
        "choices": [
            {"index": 0, "message": _message(turn, memory), "finish_reason": reason, "logprobs": None}
        ],
        "usage": {
            "prompt_tokens": tokens_of(body),
            "completion_tokens": 9,
            "total_tokens": tokens_of(body) + 9,
        },
    }


def _message(turn: Turn, memory: Memory) -> Body:
    refused = turn.stop == "refusal"
    message: Body = {
        "role": "assistant",
        "content": None if refused else turn.text or None,
        "refusal": turn.text if refused else None,
        "annotations": [],
    }
    if turn.thinking:
        message["reasoning_content"] = turn.thinking
    if turn.calls:
        message["tool_calls"] = [_call(call, memory) for call in turn.calls]
    return message


def _call(call: Call, memory: Memory) -> Body:
    arguments = json.dumps(call.arguments) if call.raw is None else call.raw
    return {
        "id": memory.next("call"),
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def remember(items: list[Any], memory: Memory) -> None:
    """Remember nothing: the API signs nothing."""
