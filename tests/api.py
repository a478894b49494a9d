"""A small client of /v1 for tests: in this process, or against a server that listens."""

import json
from typing import Any, Protocol

import httpx
import msgspec
from django.test import Client


class Answer(msgspec.Struct, frozen=True):
    """An answer, with its body read as JSON."""

    status: int
    body: Any
    headers: dict[str, str]

    @property
    def code(self) -> str | None:
        """Give the problem's code."""
        return self.body.get("code") if isinstance(self.body, dict) else None


class Api(Protocol):
    """What both clients do."""

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer: ...


class _Calls:
    def put(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self.call("PUT", path, body, **headers)  # type: ignore[attr-defined, no-any-return]

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self.call("POST", path, body, **headers)  # type: ignore[attr-defined, no-any-return]

    def get(self, path: str, **headers: str) -> Answer:
        return self.call("GET", path, **headers)  # type: ignore[attr-defined, no-any-return]

    def write(self, body: dict[str, Any], **headers: str) -> Answer:
        return self.put("/v1/agent-state", body, **headers)

    def read(self, scope: dict[str, str], agent: str = "order-taker") -> Answer:
        return self.post("/v1/agent-state/read", {"scope": scope, "agent": agent})


class InProcess(_Calls):
    """Calls the views in this process, inside the test's transaction."""

    def __init__(self, key: str | None) -> None:
        self._key, self._client = key, Client(raise_request_exception=False)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        if self._key is not None:
            headers = {"Authorization": f"Bearer {self._key}", **headers}
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        content_type = headers.pop("Content-Type", "application/json")
        answer: Any = self._client.generic(method, path, raw, content_type=content_type, headers=headers)
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        return _answer(answer.status_code, content, dict(answer.headers))


class OverHttp(_Calls):
    """Calls a server over HTTP, on one kept connection."""

    def __init__(self, base_url: str, key: str | None) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.http = httpx.Client(base_url=base_url, headers=headers, timeout=30, trust_env=False)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        raw = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        if raw is not None:
            headers = {"Content-Type": "application/json", **headers}
        answer = self.http.request(method, path, content=raw, headers=headers)
        return _answer(answer.status_code, answer.content, dict(answer.headers))


def _answer(status: int, content: bytes, headers: dict[str, str]) -> Answer:
    try:
        body = json.loads(content)
    except ValueError:
        body = None
    return Answer(status=status, body=body, headers={name.lower(): value for name, value in headers.items()})
