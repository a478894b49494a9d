"""A server with a graph on this machine: the rules of a replay behind HTTP, with the faults that a test wants."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from lastro.recording.local import LocalGraph
from lastro.states.answers import Reply
from lastro.states.writes import Request

Fault = Callable[[Request], Reply | None]


@dataclass
class GraphServer:
    """Where it is, what it was sent, and its graph. A `fault` answers in its place, unless it gives None."""

    url: str = ""
    seen: list[Request] = field(default_factory=list)
    fault: Fault | None = None
    graph: LocalGraph = field(default_factory=lambda: LocalGraph(now=lambda: datetime.now(UTC)))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: Request) -> Reply:
        """Answer one request."""
        with self.lock:
            self.seen.append(request)
            reply = self.fault(request) if self.fault else None
            return reply or self.graph.answer(request)

    @property
    def bodies(self) -> list[bytes]:
        """Give the bodies of what was sent to be recorded."""
        return [request.raw for request in self.seen if request.path == "/v1/graph"]


def down(_: Request) -> Reply:
    """Be there, and not able to answer."""
    return Reply(503, {"Retry-After": "0"}, b"{}")


@contextmanager
def graph_server() -> Iterator[GraphServer]:
    """Run a server."""
    server = GraphServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            kind = self.headers.get("Content-Type") or ""
            reply = server.answer(Request(self.command, self.path, raw, media_type=kind))
            self.send_response(reply.status)
            self.send_header("X-Request-Id", "r-1")
            for name, value in {**reply.headers, "Content-Length": str(len(reply.raw))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.raw)

        do_PUT = do_GET = do_POST  # noqa: N815

        def log_message(self, *args: Any) -> None:
            return

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_port}"
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
