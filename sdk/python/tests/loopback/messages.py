"""Anthropic Messages; by the model's name also what Bedrock asks (`bedrock`), or prefill allowed (`prefill`)."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from loopback.answers import Call, Refusal, Turn
from loopback.wire import Body, Memory, first, opaque, tokens_of

THINKING = ("thinking", "redacted_thinking")


def check(body: Body, memory: Memory) -> Refusal | None:
    """Give the first rule of A1 to A10 that the request breaks."""
    return first(_refusals(body, memory))


def _refusals(body: Body, memory: Memory) -> Iterator[Refusal]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield Refusal("messages", "messages: at least one message is required")
        return
    yield from _shapes(messages)
    yield from _order(messages, str(body.get("model")))
    yield from _pairs(messages)
    yield from _tools(body, messages)
    yield from _thoughts(body, messages, memory)


def blocks(message: Body) -> list[Body]:
    """Give the content of a message as blocks."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content if isinstance(content, list) else []


def _of(message: Body, *kinds: str) -> list[Body]:
    return [block for block in blocks(message) if block.get("type") in kinds]


def _shapes(messages: list[Any]) -> Iterator[Refusal]:
    for at, message in enumerate(messages):
        if message.get("role") not in ("user", "assistant"):
            yield Refusal("A5", f'messages: Unexpected role "{message.get("role")}".')
        if not blocks(message) and not (at == len(messages) - 1 and message.get("role") == "assistant"):
            yield Refusal(
                "A4",
                f"messages.{at}: all messages must have non-empty content except for the optional final assistant "
                "message",
            )
        if any(not block.get("text") for block in _of(message, "text")):
            yield Refusal("A4", "messages: text content blocks must be non-empty")


def _order(messages: list[Any], model: str) -> Iterator[Refusal]:
    roles = [message.get("role") for message in messages]
    if roles[0] != "user":
        yield Refusal("A5", 'messages: first message must use the "user" role')
    if roles[-1] != "user" and "prefill" not in model:
        yield Refusal(
            "A7",
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        )
    if "bedrock" in model and any(one == other for one, other in pairwise(roles)):
        yield Refusal("A9", 'messages: roles must alternate between "user" and "assistant"')


def _pairs(messages: list[Any]) -> Iterator[Refusal]:
    ids = [block.get("id") for message in messages for block in _of(message, "tool_use")]
    if len(set(ids)) < len(ids):
        yield Refusal("A3", "messages: `tool_use` ids must be unique")
    before: Body = {}
    for at, message in enumerate(messages):
        yield from _results(at, message, before)
        behind = messages[at + 1] if at + 1 < len(messages) else {}
        yield from _calls(at, message, behind)
        yield from _server_tools(at, message)
        before = message


def _calls(at: int, message: Body, behind: Body) -> Iterator[Refusal]:
    asked = [str(block.get("id")) for block in _of(message, "tool_use")]
    leading = []
    for block in blocks(behind):
        if block.get("type") != "tool_result":
            break
        leading.append(block.get("tool_use_id"))
    missing = [name for name in asked if leading.count(name) != 1]
    if missing:
        yield Refusal(
            "A2",
            f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
            "message.",
        )
    kinds = [block.get("type") for block in blocks(message)]
    if asked and any(kind != "tool_use" for kind in kinds[kinds.index("tool_use") :]):
        yield Refusal("A9", f"messages.{at}: `tool_use` blocks must stand last in the content")


def _results(at: int, message: Body, before: Body) -> Iterator[Refusal]:
    asked = [block.get("id") for block in _of(before, "tool_use")]
    for place, block in enumerate(blocks(message)):
        name = block.get("tool_use_id")
        if block.get("type") == "tool_result" and (name not in asked or message.get("role") != "user"):
            yield Refusal(
                "A1",
                f"messages.{at}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {name}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous message.",
            )


def _server_tools(at: int, message: Body) -> Iterator[Refusal]:
    asked = [block.get("id") for block in _of(message, "server_tool_use")]
    answered = [
        block.get("tool_use_id")
        for block in blocks(message)
        if str(block.get("type")).endswith("_tool_result") and message.get("role") == "assistant"
    ]
    for name in {*asked} ^ {*answered}:
        yield Refusal(
            "A10", f"messages.{at}: `server_tool_use` and its result must be in one message: {name}"
        )


def _tools(body: Body, messages: list[Any]) -> Iterator[Refusal]:
    used = any(_of(message, "tool_use", "tool_result") for message in messages)
    if used and not body.get("tools"):
        yield Refusal("A8", "Requests which include `tool_use` or `tool_result` blocks must define tools")


def _thoughts(body: Body, messages: list[Any], memory: Memory) -> Iterator[Refusal]:
    latest = next((at for at in reversed(range(len(messages))) if messages[at]["role"] == "assistant"), None)
    if latest is None:
        return
    for place, block in enumerate(blocks(messages[latest])):
        if block.get("type") == "thinking" and not block.get("signature"):
            yield Refusal("A6", f"messages.{latest}.content.{place}.thinking.signature: Field required")
    yield from _unchanged(latest, messages[latest], memory)
    on = (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
    kinds = [block.get("type") for block in blocks(messages[latest])]
    if on and "tool_use" in kinds and kinds[0] not in THINKING:
        yield Refusal(
            "A6",
            f"messages.{latest}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{kinds[0]}`. "
            "When `thinking` is enabled, a final `assistant` message must start with a thinking block.",
        )


def _unchanged(at: int, message: Body, memory: Memory) -> Iterator[Refusal]:
    for key in _keys(message):
        known = memory.produced.get(key)
        if known is not None and known != _thinking_of(message):
            yield Refusal(
                "A6",
                f"messages.{at}.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message "
                "cannot be modified. These blocks must remain as they were in the original response.",
            )


def _thinking_of(message: Body) -> str:
    found = [(place, block) for place, block in enumerate(blocks(message)) if block.get("type") in THINKING]
    return repr([(place, sorted(block.items())) for place, block in found])


def _keys(message: Body) -> list[str]:
    """Give what the provider knows a message of its own by."""
    signed = {str(block.get("signature") or block.get("data")) for block in _of(message, *THINKING)}
    return [*signed, *(str(block.get("id")) for block in _of(message, "tool_use"))]


def remember(items: list[Any], memory: Memory) -> None:
    """Remember the thinking of the provider's own messages (A6); an id that names two calls tells nothing."""
    own = [message for message in items if message.get("role") == "assistant"]
    named = Counter(key for message in own for key in _keys(message))
    for message in own:
        for key in _keys(message):
            if named[key] == 1:
                memory.produced[key] = _thinking_of(message)


def counted(body: Body) -> Body:
    """Give the body itself: the counting endpoint takes the request."""
    return body


def count(tokens: int) -> Body:
    """Give the answer of the counting endpoint."""
    return {"input_tokens": tokens}


def answer(body: Body, turn: Turn, memory: Memory) -> Body:
    """Give a message of the model."""
    reason = turn.stop or ("tool_use" if turn.calls else "end_turn")
    content: list[Body] = []
    if turn.thinking:
        content.append({"type": "thinking", "thinking": turn.thinking, "signature": opaque(turn.thinking)})
    if turn.text:
        content.append({"type": "text", "text": turn.text, "citations": None})
    content += [_call(call, memory) for call in turn.calls]
    remember([{"role": "assistant", "content": content}], memory)
    return {
        "id": memory.next("msg"),
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": tokens_of(body), "output_tokens": 9},
    }


def _call(call: Call, memory: Memory) -> Body:
    given = call.arguments if call.raw is None else call.raw
    return {"type": "tool_use", "id": memory.next("toolu"), "name": call.name, "input": given}


def error(refusal: Refusal) -> Body:
    """Give Anthropic's kind of error body."""
    kind = "invalid_request_error" if refusal.status < 500 else "api_error"
    return {
        "type": "error",
        "error": {"type": kind, "message": refusal.message},
        "request_id": "req_loopback",
    }
