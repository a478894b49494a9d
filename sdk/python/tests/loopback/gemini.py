"""Gemini generateContent; models named `gemini-3...` check the signatures of the current turn."""

import base64
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from loopback.answers import Call, Refusal, Turn
from loopback.wire import Body, Memory, first, opaque, tokens_of

BYPASS = "skip_thought_signature_validator"


def check(body: Body, memory: Memory) -> Refusal | None:
    """Give the first rule of G1 to G5 that the request breaks."""
    return first(_refusals(body, memory))


def _refusals(body: Body, memory: Memory) -> Iterator[Refusal]:
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        yield Refusal("G5", "* GenerateContentRequest.contents: contents is not specified")
        return
    yield from _shapes(contents)
    yield from _turns(contents)
    if "gemini-3" in str(body.get("model")):
        yield from _signed(contents, memory)


def _member(part: Any, camel: str, snake: str) -> Any:
    return part.get(camel, part.get(snake))


def calls(content: Body) -> list[Body]:
    """Give the function calls of a content."""
    found = (_member(part, "functionCall", "function_call") for part in content.get("parts") or [])
    return [call for call in found if call is not None]


def responses(content: Body) -> list[Body]:
    """Give the function responses of a content."""
    found = (_member(part, "functionResponse", "function_response") for part in content.get("parts") or [])
    return [answer for answer in found if answer is not None]


def _shapes(contents: list[Any]) -> Iterator[Refusal]:
    for at, content in enumerate(contents):
        place = f"* GenerateContentRequest.contents[{at}]"
        if content.get("role") not in ("user", "model", "function"):
            yield Refusal("role", f"Please use a valid role: user, model. {place}.role")
        if not content.get("parts"):
            yield Refusal("G5", f"{place}.parts: contents.parts must not be empty.")
        for index, part in enumerate(content.get("parts") or []):
            if not {*part} - {"thoughtSignature", "thought_signature", "thought", "metadata"}:
                yield Refusal(
                    "G5",
                    f"{place}.parts[{index}].data: required oneof field 'data' must have one initialized field",
                )


def _turns(contents: list[Any]) -> Iterator[Refusal]:
    if contents[0].get("role") == "model" or responses(contents[0]):
        yield Refusal("G2", "Please ensure that multiturn requests start with a user turn.")
    for before, content in zip([{}, *contents], [*contents, {}], strict=True):
        asked, answered = calls(before), responses(content)
        if calls(content) and before.get("role") not in ("user", "function"):
            yield Refusal(
                "G2",
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn.",
            )
        if answered and not asked:
            yield Refusal(
                "G1",
                "Please ensure that function response turn comes immediately after a function call turn.",
            )
        if len(asked) != len(answered) or _unmatched(asked, answered):
            yield Refusal(
                "G1",
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn.",
            )


def _unmatched(asked: list[Body], answered: list[Body]) -> bool:
    names = [Counter(str(each.get("name")) for each in side) for side in (asked, answered)]
    ids = [Counter(each["id"] for each in side if each.get("id")) for side in (asked, answered)]
    return names[0] != names[1] or (bool(ids[0]) and ids[0] != ids[1])


def _signed(contents: list[Any], memory: Memory) -> Iterator[Refusal]:
    opened = (
        at for at, content in enumerate(contents) if content.get("role") == "user" and not responses(content)
    )
    start = max(opened, default=0)
    for at, content in enumerate(contents[start:], start):
        yield from _step(at, content, memory)


def _step(at: int, content: Body, memory: Memory) -> Iterator[Refusal]:
    first_call = True
    for part in content.get("parts") or []:
        call = _member(part, "functionCall", "function_call")
        signature = _member(part, "thoughtSignature", "thought_signature")
        if call is not None and first_call and not signature:
            yield Refusal(
                "G3",
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                f"work correctly: function call `{call.get('name')}`, position {at}.",
            )
        first_call = first_call and call is None
        known = memory.produced.get(str(signature)) if signature and signature != BYPASS else None
        if known is not None and known != _bare(part):
            yield Refusal("G3", "Corrupted thought signature.")


def _bare(part: Body) -> str:
    bare = {
        name: value for name, value in part.items() if name not in ("thoughtSignature", "thought_signature")
    }
    return json.dumps(bare, sort_keys=True)


def remember(items: list[Any], memory: Memory) -> None:
    """Remember in which part each signature was given (G3)."""
    for content in items:
        for part in content.get("parts") or []:
            signature = _member(part, "thoughtSignature", "thought_signature")
            if content.get("role") == "model" and signature:
                memory.produced[str(signature)] = _bare(part)


def counted(body: Body) -> Body:
    """Give the request inside the counting endpoint's body; both ways at once are refused by the caller."""
    inner: Body = body.get("generateContentRequest") or body
    return inner


def count(tokens: int) -> Body:
    """Give the answer of the counting endpoint."""
    return {"totalTokens": tokens}


def answer(body: Body, turn: Turn, memory: Memory) -> Body:
    """Give a candidate of the model."""
    content = {"role": "model", "parts": _parts(turn, memory)}
    remember([content], memory)
    candidate: Body = {"content": content, "finishReason": turn.stop or "STOP", "index": 0}
    if not content["parts"]:
        candidate = {"finishReason": turn.stop or "STOP", "index": 0}
    return {
        "candidates": [candidate],
        "usageMetadata": {"promptTokenCount": tokens_of(body), "candidatesTokenCount": 9},
        "modelVersion": "loopback",
        "responseId": memory.next("gen"),
    }


def _parts(turn: Turn, memory: Memory) -> list[Body]:
    parts: list[Body] = [{"text": turn.text}] if turn.text else []
    parts += [{"functionCall": _call(call, memory)} for call in turn.calls]
    if turn.thinking and parts:
        signed = next((part for part in parts if "functionCall" in part), parts[-1])
        signed["thoughtSignature"] = base64.b64encode(
            bytes.fromhex(opaque(turn.thinking)) + b"\xfb\xff"
        ).decode()
    return parts


def _call(call: Call, memory: Memory) -> Body:
    given = call.arguments if call.raw is None else call.raw
    return {"id": memory.next("fc"), "name": call.name, "args": given}


def error(refusal: Refusal) -> Body:
    """Give Google's kind of error body."""
    status = "INVALID_ARGUMENT" if refusal.status < 500 else "INTERNAL"
    return {"error": {"code": refusal.status, "message": refusal.message, "status": status}}
