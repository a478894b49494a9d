"""The clients around the pure code: budgets, threads, closing, imports; nothing shows content (SD-7, SD-11)."""

import asyncio
import logging
import pickle
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from lastro import AsyncLastro, Budgets, Handle, Lastro, MemoryOutbox, StateName
from lastro.errors import (
    ClientClosed,
    InvalidBody,
    InvalidCall,
    LastroError,
    OutboxFull,
    ServerRefusal,
    UnexpectedAnswer,
)

CANARY = "canary-4711"


@contextmanager
def answering(status: int, body: bytes, **headers: str) -> Iterator[tuple[str, list[bytes]]]:
    """Give a server that answers every request alike, and what it was sent."""
    seen: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            seen.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        do_PUT = do_POST  # noqa: N815

        def log_message(self, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def client(url: str, **options: Any) -> Lastro:
    return Lastro("key", base_url=url, **{"agent": "a", "trust_env": False, **options})


@contextmanager
def dripping() -> Iterator[str]:
    """Give a server whose answer never ends: a byte of a header at a time."""
    listener, stop = socket.create_server(("127.0.0.1", 0)), threading.Event()

    def serve() -> None:
        while not stop.is_set():
            try:
                near, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=drip, args=(near,), daemon=True).start()

    def drip(near: socket.socket) -> None:
        with near:
            near.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
            while not stop.wait(0.02):
                try:
                    near.sendall(b"x")
                except OSError:
                    return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    stop.set()
    listener.close()


def test_an_answer_that_never_ends(caplog: pytest.LogCaptureFixture) -> None:
    """SD-7: a budget bounds the whole call, not one step of it: it returns though bytes keep coming."""
    with (
        dripping() as url,
        client(url, budgets=Budgets(read=0.1, write=0.1, attempt=0.1, close=0.1)) as lastro,
    ):
        state = lastro.conversation("c").state
        assert state.get().degraded
        assert state.put({"a": 1}).pending
        assert not lastro.flush(0.2)
    assert "outbox.lost writes=1" in caplog.text


@pytest.mark.parametrize(
    ("status", "body"), [(404, b"<html>default backend</html>"), (403, b"{}"), (302, b""), (401, b"[]")]
)
def test_something_else_answers(status: int, body: bytes) -> None:
    """SD-11: what does not speak as the server does is raised, not taken for a state or for being out of reach."""
    with answering(status, body) as (url, _), client(url) as lastro:
        for call in (lastro.task("t").state.get, lambda: lastro.task("t").state.put({"a": 1})):
            with pytest.raises(UnexpectedAnswer) as caught:
                call()
            assert (caught.value.status, caught.value.code) == (status, "unexpected_answer")


def test_what_is_sent() -> None:
    """SD-4, WM-15: a write that was not answered goes out again as the same bytes."""
    with (
        answering(503, b"{}", Retry_After="0") as (url, seen),
        client(url, budgets=Budgets(close=0)) as lastro,
    ):
        assert lastro.conversation("c").state.put({"a": 1}).pending
        latest = time.monotonic() + 60
        while len(seen) < 2 and time.monotonic() < latest:
            lastro.flush(0.1)
    assert len(seen) >= 2
    assert len(set(seen)) == 1


def test_detached_bodies() -> None:
    """SD-3: what is read, and what was given to a write, is the caller's own."""
    with client("http://127.0.0.1:1", budgets=Budgets(close=0)) as lastro:
        state = lastro.conversation("c").state
        given = {"a": {"b": [1]}}
        state.put(given, mode="cas")
        given["a"]["b"].append(2)
        state.get().body["a"]["b"].append(3)
        assert state.get().body == {"a": {"b": [1]}}


def test_many_threads() -> None:
    """SD-7: one client, many threads: each write is there, none is mixed up."""
    with client("http://127.0.0.1:1", budgets=Budgets(close=0)) as lastro:
        states = [lastro.conversation(f"c-{number}").state for number in range(4)]

        def work(thread: int) -> None:
            for number in range(10):
                states[number % 4].put({f"f-{thread}-{number}": number})

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        reads = [state.get() for state in states]
        assert sum(len(read.body) for read in reads) == sum(read.pending for read in reads) == 80


def test_cancelling_a_call() -> None:
    """SD-7: a call that its caller gives up ends there, and the client goes on."""

    async def give_up() -> None:
        lastro = AsyncLastro(
            "key", base_url=url, agent="a", trust_env=False, budgets=Budgets(read=60, write=60, close=0)
        )
        state = lastro.conversation("c").state
        for call in (state.get(), state.put({"a": 1})):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(call, 0.05)
        assert await lastro.flush(0)
        await lastro.close()

    with dripping() as url:
        asyncio.run(give_up())


def test_closing(caplog: pytest.LogCaptureFixture) -> None:
    """SD-7: a closed client says so; closing twice is closing once; what is lost is counted in a warning."""
    lastro = client("http://127.0.0.1:1", budgets=Budgets(close=0))
    state = lastro.conversation("c").state
    state.put({"a": CANARY})
    assert not lastro.close()
    assert lastro.close()
    for call in (state.get, lambda: state.put({"a": 1}), lambda: lastro.flush(0)):
        with pytest.raises(ClientClosed):
            call()
    assert "outbox.lost writes=1" in caplog.text
    assert CANARY not in caplog.text


def test_a_client_that_is_let_go() -> None:
    """SD-7: a client nobody holds any more ends its thread."""
    before = threading.active_count()
    lastro = client("http://127.0.0.1:1")
    lastro.conversation("c").state.get()
    assert threading.active_count() > before
    del lastro
    latest = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < latest:
        time.sleep(0.01)
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("why", "make"),
    [
        ("no key", lambda: Lastro("", base_url="http://x")),
        ("a key with a line break", lambda: Lastro("k\n", base_url="http://x")),
        ("no URL", lambda: Lastro("k", base_url="x")),
        ("no agent", lambda: Lastro("k", base_url="http://x").conversation("c").state),
        ("no id", lambda: Lastro("k", base_url="http://x").conversation("", agent="a")),
        ("a long id", lambda: Lastro("k", base_url="http://x").task("x" * 513, agent="a")),
        ("a long agent", lambda: Lastro("k", base_url="http://x").task("t", agent="x" * 257)),
        ("no object", lambda: Lastro("k", base_url="http://x").object("order:1", agent="a")),
        ("no value", lambda: Handle("email", " ")),
        ("no type", lambda: Handle.parse("ana@example.com")),
        ("no mode", lambda: state().put({}, mode="replace")),
        ("no field", lambda: state().delete()),
        ("no try", lambda: state().update(lambda body: body, tries=0)),
        ("no body", lambda: state().update(lambda _: None)),
        ("a set", lambda: state().put({"a": {CANARY}})),
        ("a number as a key", lambda: state().put({"a": {1: CANARY}})),
        ("no number", lambda: state().put({"a": float("nan")})),
        ("too deep", lambda: state().put(nested(33))),
    ],
)
def test_bad_arguments(why: str, make: Callable[[], object]) -> None:
    """SD-11, WM-25: each is refused at once, and says nothing of what it was given."""
    with pytest.raises(InvalidCall) as caught:
        make()
    assert CANARY not in str(caught.value)


def state() -> Any:
    return client("http://127.0.0.1:1").conversation("c").state


def nested(depth: int) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for _ in range(depth - 1):
        body = {"a": body}
    return body


def test_the_deepest_body() -> None:
    """WM-25: what is just deep enough is taken."""
    assert state().put(nested(32)).pending


def problems() -> Iterator[tuple[int, bytes]]:
    codes = {
        401: b"unauthenticated",
        410: b"subject_erased",
        412: b"agent_state_conflict",
        422: b"invalid_input",
    }
    for status in (400, 401, 404, 410, 412, 422, 429, 503):
        pointer = b'"errors": [{"pointer": "/body/%s"}]' % CANARY.encode()
        yield (
            status,
            b'{"code": "%s", "detail": "%s", %s}' % (codes.get(status, b"new"), CANARY.encode(), pointer),
        )
    yield 200, b'{"body": {"x": "%s"}, "stored": true}' % CANARY.encode()
    yield 200, b'{"body": {"x": "%s"}, "stored": true, "deleted": true, "version": 1}' % CANARY.encode()


def test_nothing_shows_content(caplog: pytest.LogCaptureFixture) -> None:
    """SD-11: a canary is written, read, refused, lost and kept; no error, log line, trace or representation has it."""
    caplog.set_level(logging.DEBUG)
    shown: list[str] = []
    body = {CANARY: CANARY, "a": {"b": [CANARY]}}
    for status, answer in problems():
        with answering(status, answer) as (url, seen):
            lastro = client(url, outbox=MemoryOutbox(max_writes=2), budgets=Budgets(close=0))
            place = lastro.conversation(CANARY, subject=Handle("email", CANARY))
            shown += [shown_by(call) for call in calls_of(place.state, body)]
            shown += [
                repr(lastro),
                repr(place),
                repr(place.state),
                repr(place.state.name),
                repr(place.subject),
            ]
            shown.append(repr(place.state.conflicts))
            assert any(CANARY.encode() in each for each in seen)
            lastro.close()
    assert CANARY not in "".join(shown)
    assert CANARY not in caplog.text


def calls_of(state: Any, body: dict[str, Any]) -> list[Callable[[], object]]:
    return [
        lambda: state.put(body),
        lambda: state.put(body, mode="cas"),
        state.get,
        lambda: state.delete(CANARY),
        lambda: state.update(lambda _: body, tries=1),
        lambda: state.put({"a": {1, CANARY}}),
        lambda: state.clear(if_version=1),
    ]


def shown_by(call: Callable[[], object]) -> str:
    try:
        return repr(call())
    except LastroError as error:
        return f"{error!r} {error} {''.join(traceback.format_exception(error))}"


def test_errors_travel() -> None:
    """SD-11: an error keeps its code and request id, and reads the same wherever it is shown."""
    error = ServerRefusal("new_rule", status=418, request_id="r-1", pointers=("/body/x",))
    assert (error.code, error.status, error.request_id, str(error)) == (
        "new_rule",
        418,
        "r-1",
        "new_rule (418)",
    )
    assert isinstance(InvalidBody(), ValueError)
    assert OutboxFull(bound="max_writes", needed=2, allowed=1).code == "outbox_full"
    assert pickle.loads(pickle.dumps(StateName("task", "t", "a"))) == StateName("task", "t", "a")  # noqa: S301


@pytest.mark.parametrize(
    ("statement", "loads"),
    [
        ("import lastro", False),
        ("import lastro.history.records", False),
        ("import lastro.history.contract", False),
        ("from lastro.history import History, RamStore, SqliteStore", False),
        ("from lastro.history import ServerStore", True),
        ("from lastro import LastroError, StateName", False),
        ("from lastro import MemoryOutbox", False),
        ("from lastro import Lastro", True),
    ],
)
def test_imports_are_light(statement: str, loads: bool) -> None:  # noqa: FBT001
    """SD-1: the pure parts load no HTTP client; the clients come with their first use."""
    code = f"import sys; {statement}; print('httpx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(loads)


def test_every_name_is_there() -> None:
    """SD-1: each name that the package lists can be had from it, and no other."""
    import lastro

    assert all(getattr(lastro, name) is not None for name in lastro.__all__)
    with pytest.raises(AttributeError):
        lastro.Nothing  # noqa: B018
