"""Ask a provider over HTTP whether it takes a window."""

import atexit
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx

from loopback import messages
from loopback.server import Loopback
from loopback.wire import Memory

PATHS = {
    "openai.chat": "/v1/chat/completions",
    "openai.responses": "/v1/responses",
    "anthropic.messages": "/v1/messages",
}
MODELS = {
    "openai.chat": "gpt-loopback",
    "openai.responses": "gpt-loopback",
    "anthropic.messages": "claude-loopback-prefill",
    "gemini.contents": "gemini-3-loopback",
}


@dataclass(frozen=True)
class Rejection:
    """Why a provider did not take a request: the rule, and the provider's words."""

    rule: str
    message: str
    status: int


def accepts(
    provider: str,
    window: Sequence[Mapping[str, Any]],
    *,
    tools: Sequence[Mapping[str, Any]] | None = None,
    model: str = "",
    knows: Iterable[Mapping[str, Any]] = (),
    **members: Any,
) -> Rejection | None:
    """Send a window to a provider and give None, or why it was not taken.

    `tools` None defines the tools that the window uses. `model` chooses what is checked beyond the API itself (see each
    provider). `knows` are messages that the provider made itself: it then checks its signatures and pairs.
    """
    name = model or MODELS[provider]
    loopback, client = _shared()
    loopback.seen.clear()
    loopback.memory = Memory()
    loopback.know(provider, [dict(message) for message in knows])
    return _ask(loopback, client, provider, _body(provider, window, tools, name, members), name)


@cache
def _shared() -> tuple[Loopback, httpx.Client]:
    loopback = Loopback().__enter__()
    client = httpx.Client()
    atexit.register(loopback.__exit__, None, None, None)
    atexit.register(client.close)
    return loopback, client


def _body(
    provider: str,
    window: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]] | None,
    model: str,
    members: Mapping[str, Any],
) -> dict[str, Any]:
    sent = [dict(message) for message in window]
    if provider == "gemini.contents":
        return {"contents": sent, **members}
    if provider == "openai.responses":
        return {"model": model, "input": sent, "store": False, **members}
    if provider == "openai.chat":
        return {"model": model, "messages": sent, **members}
    given = list(tools) if tools is not None else [{"name": each, "input_schema": {}} for each in _used(sent)]
    return {"model": model, "max_tokens": 64, "messages": sent, "tools": given, **members}


def _used(sent: list[dict[str, Any]]) -> Iterator[str]:
    blocks = [block for message in sent for block in messages.blocks(message)]
    yield from {str(block.get("name")) for block in blocks if block.get("type") == "tool_use"}


def _ask(
    loopback: Loopback, client: httpx.Client, provider: str, body: dict[str, Any], model: str
) -> Rejection | None:
    path = PATHS.get(provider, f"/v1beta/models/{model}:generateContent")
    text = json.dumps(body, ensure_ascii=False).encode()
    answer = client.post(f"{loopback.url}{path}", content=text, headers={"x-loopback": "check"})
    if answer.status_code == httpx.codes.OK:
        return None
    refused = answer.json()
    return Rejection(refused["broken_rule"], refused["error"]["message"], answer.status_code)
