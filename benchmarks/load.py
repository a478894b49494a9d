"""The load: HTTP/1.1 on kept connections, one request in flight per client, all in one thread.

A thread per client would spend more on handing the interpreter's lock over than on the requests; one loop over the
sockets is the cheapest client that Python can be. What it could do at most is measured too (`benchmarks.ceiling`).
"""

import re
import select
import socket
from collections.abc import Sequence
from time import perf_counter
from typing import Protocol

import msgspec

from benchmarks.rounds import Slice, slice_of

RECEIVE_BYTES = 262_144
PATIENCE_SECONDS = 15.0
LAST_CHUNK = b"\r\n0\r\n\r\n"
CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked\r\n", re.IGNORECASE)
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


class Broken(Exception):
    """A server that ends a connection, or answers what cannot be told apart."""


class Script(Protocol):
    """What one client asks, again and again, and how it tells a right answer."""

    def request(self) -> bytes: ...

    def accept(self, status: int, body: bytes) -> bool: ...


class Client:
    """One client: a socket, a script, and the request that is in flight."""

    __slots__ = ("_expected", "_parts", "_received", "script", "sent_at", "socket")

    def __init__(self, address: tuple[str, int], script: Script) -> None:
        self.script = script
        self.socket = socket.create_connection(address, timeout=PATIENCE_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent_at = 0.0
        self._parts: list[bytes] = []
        self._received = 0
        self._expected: int | None = 0

    def send(self, now: float) -> None:
        """Ask for the next thing."""
        self.sent_at = now
        self.socket.sendall(self.script.request())

    def receive(self) -> tuple[int, bytes] | None:
        """Take what has come; give status and body once all of it is there."""
        data = self.socket.recv(RECEIVE_BYTES)
        if not data:
            raise Broken("The server closed the connection.")
        if not self._parts:
            self._expected = _length(data)
        self._received += len(data)
        self._parts.append(data)
        if self._expected is None:
            if not b"".join(self._parts[-8:]).endswith(LAST_CHUNK):
                return None
        elif self._received < self._expected:
            return None
        whole = data if len(self._parts) == 1 else b"".join(self._parts)
        body = whole[whole.index(b"\r\n\r\n") + 4 :]
        is_chunked, self._parts, self._received = self._expected is None, [], 0
        return int(whole[9:12]), _joined(body) if is_chunked else body


class Over(msgspec.Struct, frozen=True):
    """A contender: some scripts against one server."""

    address: tuple[str, int]
    scripts: Sequence[Script]
    is_patient: bool = True
    """Whether what is in flight at the end is waited for; where answers may never come it is not."""

    def run(self, seconds: float) -> Slice:
        """Keep every client busy for some seconds, and count what was answered rightly in that time."""
        clients = [Client(self.address, script) for script in self.scripts]
        try:
            return _Turn(clients, seconds).play(is_patient=self.is_patient)
        finally:
            for client in clients:
                client.socket.close()


class _Turn:
    """One turn of some clients: what was answered rightly in its time, and what was not."""

    def __init__(self, clients: Sequence[Client], seconds: float) -> None:
        self._poll, self._clients = select.poll(), {client.socket.fileno(): client for client in clients}
        for number in self._clients:
            self._poll.register(number, select.POLLIN)
        self._latencies: list[float] = []
        self._failed, self._wrong, self._in_flight = 0, "", len(clients)
        self._seconds, self._until = seconds, perf_counter() + seconds

    def play(self, *, is_patient: bool) -> Slice:
        """Ask with all of them until the time is over and nothing is in flight any more."""
        for client in self._clients.values():
            client.send(perf_counter())
        patience = PATIENCE_SECONDS if is_patient else 0.0
        while self._in_flight and (left := self._until + patience - perf_counter()) > 0:
            for number, _ in self._poll.poll(1000 * left):
                self._take(self._clients[number])
        unanswered = self._in_flight if is_patient else 0
        failed = self._failed + unanswered
        return slice_of(self._latencies, seconds=self._seconds, failed=failed, wrong=self._wrong)

    def _take(self, client: Client) -> None:
        answer = client.receive()
        if answer is None:
            return
        now = perf_counter()
        if not client.script.accept(*answer):
            self._failed += 1
            self._wrong = self._wrong or f"{answer[0]} {answer[1][:300]!r}"
        elif now < self._until:
            self._latencies.append(now - client.sent_at)
        if now < self._until:
            client.send(now)
        else:
            self._in_flight -= 1


def _length(data: bytes) -> int | None:
    """Tell how long an answer is, or none where it comes in chunks."""
    end = data.find(b"\r\n\r\n")
    found = LENGTH.search(data, 0, end + 2) if end >= 0 else None
    if found is not None:
        return end + 4 + int(found[1])
    if end < 0 or CHUNKED.search(data, 0, end + 2) is None:
        raise Broken(f"Neither a length nor chunks: {data[:200]!r}")
    return None


def _joined(chunks: bytes) -> bytes:
    """Give the body that came in chunks."""
    body, place = b"", 0
    while True:
        end = chunks.index(b"\r\n", place)
        size = int(chunks[place:end], 16)
        if not size:
            return body
        body += chunks[end + 2 : end + 2 + size]
        place = end + 4 + size
