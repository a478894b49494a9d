"""What stands behind a client: its loop, its connections, its outbox and its copies, anew in the child of a fork."""

import asyncio
import concurrent.futures
import hashlib
import logging
import os
import time
import weakref
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from lastro.errors import InvalidCall, ReplayEnded
from lastro.outbox import FileOutbox, MemoryOutbox, Outbox
from lastro.replay import Executor, Recorded
from lastro.states.operations import States
from lastro.states.tuning import Budgets, Tuning
from lastro.states.types import StateName, StateRead
from lastro.transport import Http, Loop

log = logging.getLogger("lastro")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Options:
    """How a client behaves, with what holds where nothing is said."""

    agent: str | None = None
    outbox: Outbox | str | Path | None = None
    budgets: Budgets = field(default_factory=Budgets)
    trust_env: bool = True
    tuning: Tuning = field(default_factory=Tuning)


class Replay:
    """One replay: nothing of it leaves the process (SD-6)."""

    def __init__(self, runtime: "Runtime", states: Recorded) -> None:
        self.runtime = runtime
        self.has_ended = False
        options = runtime.options
        self._executor = Executor(states, now=options.tuning.chances.clock())
        self.states = States(
            self._executor.send,
            outbox=MemoryOutbox(),
            budgets=options.budgets,
            tuning=options.tuning,
        )

    def found(self) -> dict[StateName, StateRead]:
        """Give every state as the replay has it now, to compare with what was recorded."""
        return self._executor.found()


_replays: ContextVar[tuple[Replay, ...]] = ContextVar("lastro_replays", default=())


class Runtime:
    """Hands calls to the loop of this process."""

    def __init__(self, api_key: str, base_url: str, options: Options) -> None:
        self.options = options
        self._api_key, self._base_url = _checked(api_key, base_url)
        self.outbox = _outbox(options.outbox)
        self.outbox.bind(hashlib.sha256(f"{self._base_url}\n{api_key}".encode()).hexdigest())
        self._loop = Loop(self._begin, self._end)
        self._http: Http | None = None
        self._states: States | None = None
        self._sending: asyncio.Task[None] | None = None
        _living.add(self)
        if self.outbox.is_durable and self.outbox.count():
            self._loop.start()

    def call(
        self, work: Callable[[States], Coroutine[Any, Any, T]], *, replay: Replay | None = None
    ) -> "concurrent.futures.Future[T]":
        """Run something on the states: of a replay where one is given or the caller is within one, else of the server.

        Raises ClientClosed and ReplayEnded.
        """
        replay = replay or self.replay()
        if replay is not None and replay.has_ended:
            raise ReplayEnded
        return self._loop.submit(lambda: work(replay.states if replay is not None else self._live()))

    def replay(self) -> Replay | None:
        """Give the replay of this client that the caller is within."""
        return next((each for each in reversed(_replays.get()) if each.runtime is self), None)

    @contextmanager
    def replaying(self, states: Recorded) -> Generator[Replay]:
        """Be within a replay, here and in what is started with a copy of this context."""
        replay = Replay(self, states)
        token = _replays.set((*_replays.get(), replay))
        try:
            yield replay
        finally:
            replay.has_ended = True
            _replays.reset(token)

    def flush(self, timeout: float) -> "concurrent.futures.Future[bool]":
        """Send what waits, for at most `timeout` seconds."""
        deadline = time.monotonic() + timeout
        return self._loop.submit(lambda: self._live().flush(deadline=deadline))

    @property
    def is_closed(self) -> bool:
        """Tell whether the client was closed."""
        return self._loop.is_closed

    def stop(self) -> None:
        """End the loop; what waits in memory is lost, and counted in a warning."""
        was_closed = self._loop.is_closed
        self._loop.stop()
        if was_closed:
            return
        lost = 0 if self.outbox.is_durable else self.outbox.count()
        if lost:
            log.warning("outbox.lost writes=%d", lost)
        self.outbox.close()

    def in_child(self) -> None:
        """Begin anew in the child of a fork: what is under way, and what waits in memory, is the parent's."""
        _abandoned.append((self._http, self._states, self._sending))
        self._http = self._states = self._sending = None
        self._loop.in_child()
        self.outbox.in_child()

    def _live(self) -> States:
        assert self._states is not None  # noqa: S101  (made before the loop takes its first call)
        return self._states

    async def _begin(self) -> None:
        options = self.options
        self._http = Http(self._base_url, self._api_key, trust_env=options.trust_env)
        self._states = States(
            self._http.send,
            outbox=self.outbox,
            budgets=options.budgets,
            tuning=options.tuning,
        )
        self._sending = asyncio.create_task(self._states.run())

    async def _end(self) -> None:
        own = asyncio.current_task()
        others = [task for task in asyncio.all_tasks() if task is not own]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._http is not None:
            await self._http.close()
        await asyncio.get_running_loop().shutdown_default_executor()


def _checked(api_key: str, base_url: str) -> tuple[str, str]:
    if not api_key or not api_key.isascii() or not api_key.isprintable() or " " in api_key:
        raise InvalidCall("an API key is printable ASCII without blanks")
    if not base_url.startswith(("http://", "https://")):
        raise InvalidCall("base_url begins with http:// or https://")
    return api_key, base_url.rstrip("/")


def _outbox(wanted: Outbox | str | Path | None) -> Outbox:
    if wanted is None:
        return MemoryOutbox()
    return FileOutbox(wanted) if isinstance(wanted, str | Path) else wanted


_living: "weakref.WeakSet[Runtime]" = weakref.WeakSet()
_abandoned: list[object] = []
"""What a parent process has under way; its child never ends it."""


def _in_child() -> None:
    for runtime in list(_living):
        runtime.in_child()


os.register_at_fork(after_in_child=_in_child)
