"""The server of the fake providers: one port, every provider's paths, in threads."""

import json
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType, TracebackType
from typing import Any

from loopback import chat, gemini, messages, responses
from loopback.answers import Fault, Refusal, Turn
from loopback.wire import Body, Memory, tokens_of

WIRES: dict[str, ModuleType] = {
    "openai.chat": chat,
    "openai.responses": responses,
    "anthropic.messages": messages,
    "gemini.contents": gemini,
}
PATHS = [
    (re.compile(r"/v1/chat/completions"), "openai.chat", False),
    (re.compile(r"/v1/responses/input_tokens"), "openai.responses", True),
    (re.compile(r"/v1/responses"), "openai.responses", False),
    (re.compile(r"/v1/messages/count_tokens"), "anthropic.messages", True),
    (re.compile(r"/v1/messages"), "anthropic.messages", False),
    (re.compile(r"/v1(?:beta)?/models/(?P<model>[^:]+):countTokens"), "gemini.contents", True),
    (re.compile(r"/v1(?:beta)?/models/(?P<model>[^:]+):generateContent"), "gemini.contents", False),
]
Answer = Turn | Fault | Callable[[Body], Turn | Fault]


@dataclass(frozen=True)
class Seen:
    """A request that came: of which provider, to be counted or to be answered, and its body as it came."""

    provider: str
    counting: bool
    text: str
    body: Body


@dataclass
class Loopback:
    """Providers that answer with what a test wrote for them, in order, and remember every request."""

    script: deque[Answer] = field(default_factory=deque)
    counts: deque[int | Fault] = field(default_factory=deque)
    answered: list[Body] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    memory: Memory = field(default_factory=Memory)
    released: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "Loopback":
        self._server = _Server(self)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answers(self, *answers: Answer) -> None:
        """Write what the next generations are answered with."""
        self.script.extend(answers)

    def know(self, provider: str, stored: Iterable[Body]) -> None:
        """Let a provider remember messages as its own, as if it had answered them."""
        WIRES[provider].remember(list(stored), self.memory)

    @property
    def generations(self) -> list[Body]:
        """Give the bodies that were to be answered."""
        return [seen.body for seen in self.seen if not seen.counting]

    @property
    def countings(self) -> list[Body]:
        """Give the bodies that were to be counted."""
        return [seen.body for seen in self.seen if seen.counting]

    def reply(self, seen: Seen, model: str, *, only_check: bool) -> tuple[int, Body] | Fault:
        """Decide what a request is answered with."""
        wire = WIRES[seen.provider]
        request = {"model": model, **wire.counted(seen.body)} if model else wire.counted(seen.body)
        refusal: Refusal | None = _both_ways(seen) or wire.check(request, self.memory)
        if refusal is not None:
            return refusal.status, {**wire.error(refusal), "broken_rule": refusal.rule}
        if seen.counting:
            return self._count(wire, request)
        return self._answer(wire, request, Turn("accepted") if only_check else None)

    def _count(self, wire: ModuleType, request: Body) -> tuple[int, Body] | Fault:
        given = self.counts.popleft() if self.counts else tokens_of(request)
        return given if isinstance(given, Fault) else (200, wire.count(given))

    def _answer(self, wire: ModuleType, request: Body, turn: Turn | None) -> tuple[int, Body] | Fault:
        answer: Answer | None = turn or (self.script.popleft() if self.script else None)
        if callable(answer):
            answer = answer(request)
        if answer is None:
            return 500, wire.error(Refusal("script", "nothing is written for this request", status=500))
        if isinstance(answer, Turn):
            self.answered.append(wire.answer(request, answer, self.memory))
            return 200, self.answered[-1]
        if answer.kind == "status":
            return answer.status, wire.error(Refusal("fault", answer.message, status=answer.status))
        return answer


def _both_ways(seen: Seen) -> Refusal | None:
    if seen.counting and seen.body.get("contents") and seen.body.get("generateContentRequest"):
        return Refusal("count", "contents and generateContentRequest are mutually exclusive")
    return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, loopback: Loopback) -> None:
        self.loopback = loopback
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that hung up: that is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        """Answer one request of a provider's API."""
        text = self.rfile.read(int(self.headers.get("content-length", "0"))).decode("utf-8", "surrogatepass")
        for pattern, provider, counting in PATHS:
            if found := pattern.fullmatch(self.path.partition("?")[0]):
                seen = Seen(provider, counting, text, json.loads(text))
                self.server.loopback.seen.append(seen)
                check = self.headers.get("x-loopback") == "check"
                model = found.groupdict().get("model", "")
                return self._send(self.server.loopback.reply(seen, model, only_check=check))
        return self._send((404, {"error": {"message": "no such path", "type": "invalid_request_error"}}))

    def _send(self, reply: tuple[int, Body] | Fault) -> None:
        if not isinstance(reply, Fault):
            self._write(reply[0], json.dumps(reply[1]).encode())
        elif reply.kind == "timeout":
            self.server.loopback.released.wait(30)
            self.close_connection = True
        elif reply.kind == "cut":
            self._write(200, b'{"id": "resp', length=5000)
            self.close_connection = True
        elif reply.kind == "malformed":
            self._write(200, b'{"id": "resp_1", "output": [')
        else:
            self._write(reply.status, json.dumps(reply.body).encode())

    def _write(self, status: int, body: bytes, *, length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body) if length is None else length))
        self.send_header("x-request-id", "req_loopback")
        self.send_header("request-id", "req_loopback")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Keep quiet."""
