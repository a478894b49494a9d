"""OpenAI Responses: items in one list, reasoning items paired with what was made with them."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from loopback.answers import Call, Refusal, Turn
from loopback.wire import Body, Memory, first, opaque, tokens_of

OUTPUTS = {
    "function_call_output": "function_call",
    "custom_tool_call_output": "custom_tool_call",
    "computer_call_output": "computer_call",
    "local_shell_call_output": "local_shell_call",
    "shell_call_output": "shell_call",
    "apply_patch_call_output": "apply_patch_call",
    "mcp_approval_response": "mcp_approval_request",
}
WORDS = {
    "function_call": "function call",
    "custom_tool_call": "custom tool call",
    "computer_call": "computer call",
    "local_shell_call": "local shell call",
    "shell_call": "shell call",
    "apply_patch_call": "apply patch call",
    "mcp_approval_request": "approval request",
}


def check(body: Body, memory: Memory) -> Refusal | None:
    """Give the first rule of R1 to R6 that the request breaks."""
    return first(_refusals(body, memory))


def _refusals(body: Body, memory: Memory) -> Iterator[Refusal]:
    given = body.get("input")
    if body.get("previous_response_id"):
        name = body["previous_response_id"]
        yield Refusal("state", f"Previous response with id '{name}' not found.", "previous_response_id")
    if not isinstance(given, str | list) or not given:
        yield Refusal("input", "Missing required parameter: 'input'.", "input")
        return
    items = given if isinstance(given, list) else []
    yield from _shapes(items)
    yield from _references(items, stored=body.get("store", True))
    yield from _pairs(items)
    yield from _reasoning(items, memory)


def _shapes(items: list[Any]) -> Iterator[Refusal]:
    for at, item in enumerate(items):
        kind = type_of(item)
        if kind == "message" and not item.get("content") and item.get("content") != "":
            yield Refusal(
                "input", f"Missing required parameter: 'input[{at}].content'.", f"input[{at}].content"
            )
        if kind == "message":
            yield from _parts(at, item)
        if kind == "reasoning" and not isinstance(item.get("summary"), list):
            yield Refusal("R6", f"Missing required parameter: 'input[{at}].summary'.", f"input[{at}].summary")
        if kind == "function_call" and not isinstance(item.get("arguments"), str):
            yield Refusal(
                "input", f"Invalid type for 'input[{at}].arguments': expected a string.", f"input[{at}]"
            )


def _parts(at: int, item: Body) -> Iterator[Refusal]:
    content = item.get("content")
    wanted = ("output_text", "refusal") if item.get("role") == "assistant" else ("input_",)
    for place, part in enumerate(content if isinstance(content, list) else []):
        if not str(part.get("type", "")).startswith(wanted):
            where = f"input[{at}].content[{place}]"
            yield Refusal("input", f"Invalid value: '{part.get('type')}'.", where)


def type_of(item: Any) -> str:
    """Give the type of an item; a message may leave it out."""
    if not isinstance(item, dict):
        return ""
    return str(item.get("type") or ("message" if "role" in item else ""))


def _references(items: list[Any], *, stored: bool) -> Iterator[Refusal]:
    gone = "Items are not persisted when `store` is set to false."
    for at, item in enumerate(items):
        sealed = item.get("encrypted_content")
        if type_of(item) == "item_reference" or (
            type_of(item) == "reasoning" and item.get("id") and not stored and not sealed
        ):
            yield Refusal("R5", f"Item with id '{item.get('id')}' not found. {gone}", f"input[{at}].id", 404)
    ids = [item["id"] for item in items if item.get("id") and type_of(item) != "item_reference"]
    for name in ids:
        if ids.count(name) > 1:
            yield Refusal("duplicate", f"Duplicate item found with id {name}.", "input")


def _id(item: Body) -> str:
    kind = type_of(item)
    if kind == "mcp_approval_request":
        return str(item.get("id"))
    return str(item.get("approval_request_id") if kind == "mcp_approval_response" else item.get("call_id"))


def _pairs(items: list[Any]) -> Iterator[Refusal]:
    open_calls: list[tuple[str, str]] = []
    for item in items:
        kind, name = type_of(item), _id(item)
        if kind in WORDS:
            open_calls.append((kind, name))
        elif kind in OUTPUTS:
            asked = (OUTPUTS[kind], name)
            if asked in open_calls:
                open_calls.remove(asked)
            else:
                word = WORDS[OUTPUTS[kind]]
                yield Refusal("R1", f"No tool call found for {word} output with call_id {name}.", "input")
    for kind, name in open_calls:
        yield Refusal("R2", f"No tool output found for {WORDS[kind]} {name}.", "input")


def _by_model(item: Any) -> bool:
    kind = type_of(item)
    return (
        item.get("role") == "assistant" if kind == "message" else kind not in (*OUTPUTS, "item_reference", "")
    )


def _reasoning(items: list[Any], memory: Memory) -> Iterator[Refusal]:
    for at, item in enumerate(items):
        behind = items[at + 1] if at + 1 < len(items) else {}
        if type_of(item) == "reasoning" and item.get("id") and not _by_model(behind):
            yield Refusal(
                "R3",
                f"Item '{item['id']}' of type 'reasoning' was provided without its required following item.",
                "input",
            )
        needed = memory.produced.get(str(item.get("id")))
        if needed and (at == 0 or items[at - 1].get("id") != needed):
            yield Refusal(
                "R4",
                f"Item '{item['id']}' of type '{type_of(item)}' was provided without its required 'reasoning' item: "
                f"'{needed}'.",
                "input",
            )


def remember(items: list[Any], memory: Memory) -> None:
    """Remember which items were made with a reasoning item: the one right behind it (R3, R4)."""
    for item, behind in pairwise(items):
        if type_of(item) == "reasoning" and item.get("id") and _by_model(behind) and behind.get("id"):
            memory.produced[behind["id"]] = item["id"]


def counted(body: Body) -> Body:
    """Give the body itself: the counting endpoint takes the request."""
    return body


def count(tokens: int) -> Body:
    """Give the answer of the counting endpoint."""
    return {"object": "response.input_tokens", "input_tokens": tokens}


def answer(body: Body, turn: Turn, memory: Memory) -> Body:
    """Give a response of the model."""
    output = [*_thought(turn, memory), *_said(turn, memory), *(_call(call, memory) for call in turn.calls)]
    remember(output, memory)
    status = "incomplete" if turn.stop else "completed"
    return {
        "id": memory.next("resp"),
        "object": "response",
        "created_at": 1_780_000_000,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": turn.stop} if turn.stop else None,
        "model": body["model"],
        "output": output,
        "parallel_tool_calls": True,
        "store": body.get("store", True),
        "usage": {"input_tokens": tokens_of(body), "output_tokens": 9, "total_tokens": tokens_of(body) + 9},
    }


def _thought(turn: Turn, memory: Memory) -> list[Body]:
    if not turn.thinking:
        return []
    thought: Body = {"id": memory.next("rs"), "type": "reasoning", "summary": []}
    return [{**thought, "encrypted_content": opaque(turn.thinking)}]


def _said(turn: Turn, memory: Memory) -> list[Body]:
    part: Body
    if turn.stop == "refusal":
        part = {"type": "refusal", "refusal": turn.text}
    else:
        part = {"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []}
    message = {"type": "message", "role": "assistant", "status": "completed", "content": [part]}
    return [{"id": memory.next("msg"), **message}] if turn.text else []


def _call(call: Call, memory: Memory) -> Body:
    arguments = json.dumps(call.arguments) if call.raw is None else call.raw
    ids = {"id": memory.next("fc"), "call_id": memory.next("call")}
    return {"type": "function_call", **ids, "name": call.name, "arguments": arguments, "status": "completed"}


def error(refusal: Refusal) -> Body:
    """Give OpenAI's kind of error body."""
    kind = "invalid_request_error" if refusal.status < 500 else "server_error"
    return {"error": {"message": refusal.message, "type": kind, "param": refusal.param or None, "code": None}}
