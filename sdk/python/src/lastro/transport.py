"""The way to the server: one event loop in a thread of its own per client and process, and one pool of connections.

Both clients hand their calls to that loop, so that a call ends at its deadline whatever it waits for, threads and event
loops of the caller share nothing, and what waits is sent beside them. A child of a fork begins a loop of its own.
"""

import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, TypeVar

import httpx

from lastro.errors import ClientClosed
from lastro.states.answers import Reply
from lastro.states.writes import Request

T = TypeVar("T")
USER_AGENT = "lastro-python/0.1.0"
LONGEST_SECONDS = 30.0
KEPT = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=30.0)
CUT = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError, httpx.CloseError)


class Http:
    """Connections to one server with one key."""

    def __init__(self, base_url: str, api_key: str, *, trust_env: bool) -> None:
        self._headers = {
            "Authorization": f"Bearer {api_key}",
            "Accept": "application/json, application/problem+json",
            "Content-Type": "application/json",
            "User-Agent": USER_AGENT,
        }
        # A bound for what goes on after a call was given up; the call itself ends at its deadline.
        self._client = httpx.AsyncClient(
            base_url=base_url,
            timeout=LONGEST_SECONDS,
            trust_env=trust_env,
            limits=KEPT,
            follow_redirects=False,
        )

    async def send(self, request: Request, *, deadline: float) -> Reply | None:
        """Send a request; none where no whole answer came by the deadline (by `time.monotonic`)."""
        headers = {**self._headers, "Content-Type": request.media_type}
        if request.key:
            headers["Idempotency-Key"] = request.key
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                answer = await self._answered(request, headers)
        except (TimeoutError, httpx.TransportError, httpx.DecodingError):
            return None
        return Reply(answer.status_code, dict(answer.headers), answer.content)

    async def _answered(self, request: Request, headers: Mapping[str, str]) -> httpx.Response:
        """Send it, and once more where the line was cut: a kept connection may have been closed at the other end.

        What is sent twice is the same read, or the same write under the same key (WM-15).
        """
        sent = partial(
            self._client.request, request.method, request.path, content=request.raw, headers=headers
        )
        try:
            return await sent()
        except CUT:
            return await sent()

    async def close(self) -> None:
        """Close every connection."""
        await self._client.aclose()


class Loop:
    """An event loop in a thread, begun at its first use and once more in the child of a fork.

    `begin` runs in the loop before anything else does, `end` after it.
    """

    def __init__(
        self, begin: Callable[[], Coroutine[Any, Any, None]], end: Callable[[], Coroutine[Any, Any, None]]
    ):
        self._begin, self._end = begin, end
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.is_closed = False

    def submit(self, work: Callable[[], Coroutine[Any, Any, T]]) -> "concurrent.futures.Future[T]":
        """Run something in the loop. Raises ClientClosed."""
        loop = self._started()
        if threading.current_thread() is self._thread:
            raise RuntimeError("a call of the client from within its own loop would wait for itself")
        return asyncio.run_coroutine_threadsafe(work(), loop)

    def start(self) -> None:
        """Begin the loop, so that what waits is sent without any call."""
        self._started()

    def stop(self) -> None:
        """End the loop and its thread."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
            self.is_closed = True
        if loop is None or thread is None or loop.is_closed():
            return
        if thread is threading.current_thread():
            loop.stop()
            return
        asyncio.run_coroutine_threadsafe(self._end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()

    def in_child(self) -> None:
        """Leave the parent's loop alone, unclosed: it shares what it waits with."""
        _abandoned.append(self._loop)
        self._lock = threading.Lock()
        self._loop = self._thread = None

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self.is_closed:
                raise ClientClosed
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), daemon=True, name="lastro")
                self._thread.start()
                asyncio.run_coroutine_threadsafe(self._begin(), self._loop).result()
            return self._loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


_abandoned: list[object] = []
"""Loops of a parent process: to close one in the child would reach into the parent's."""
