"""What stands behind a client: its loop, its connections, its outbox and its copies, anew in the child of a fork."""

import asyncio
import concurrent.futures
import hashlib
import logging
import os
import time
import weakref
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from lastro.errors import ClientClosed, InvalidCall, ReplayEnded
from lastro.history.contract import HistoryStore
from lastro.history.history import History
from lastro.history.stores.ram import RamStore
from lastro.history.stores.server import ServerStore
from lastro.outbox import FileOutbox, MemoryOutbox, Outbox
from lastro.recording.local import LocalGraph
from lastro.recording.queue import Queue
from lastro.recording.recorder import Recorder
from lastro.recording.units import Unit
from lastro.replay import Executor, RecordedStates
from lastro.states.operations import States
from lastro.states.tuning import Budgets, Tuning
from lastro.states.types import StateName, StateRead
from lastro.transport import Http, Loop

log = logging.getLogger("lastro")
T = TypeVar("T")


OpensHistory = Callable[[HistoryStore], History]


def history_on(store: HistoryStore) -> History:
    """Make a history with the usual limits."""
    return History(store, namespace="conversations")


@dataclass(frozen=True, slots=True)
class Options:
    """How a client behaves, with what holds where nothing is said."""

    agent: str | None = None
    outbox: Outbox | str | Path | None = None
    budgets: Budgets = field(default_factory=Budgets)
    history: OpensHistory = history_on
    trust_env: bool = True
    tuning: Tuning = field(default_factory=Tuning)


class Replay:
    """One replay: nothing of it leaves the process (SD-6)."""

    def __init__(self, runtime: "Runtime", states: RecordedStates) -> None:
        self.runtime = runtime
        self.has_ended = False
        options = runtime.options
        self.history = options.history(RamStore())
        self._executor = Executor(states, now=options.tuning.chances.clock())
        self.records = Queue()
        self.recorder = Recorder(
            LocalGraph(now=runtime.now).send,
            queue=self.records,
            budgets=options.budgets,
            tuning=options.tuning,
        )
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
        self.records = Queue()
        self._recorder: Recorder | None = None
        self._loop = Loop(self._begin, self._end)
        self._http: Http | None = None
        self._history: History | None = None
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

    def graph(
        self, work: Callable[[Recorder], Coroutine[Any, Any, T]], *, replay: Replay | None
    ) -> "concurrent.futures.Future[T]":
        """Run something on the recorder of a replay, or of the server. Raises ClientClosed and ReplayEnded."""

        async def started() -> T:
            recorder = self._live_recorder() if replay is None else replay.recorder
            recorder.start()
            return await work(recorder)

        self.require_open(replay)
        return self._loop.submit(started)

    def queue(self, units: Sequence[Unit], *, replay: Replay | None) -> None:
        """Let units wait to be recorded. Raises ClientClosed, ReplayEnded and OutboxFull."""
        self.require_open(replay)
        (self.records if replay is None else replay.records).add(units)

    def require_open(self, replay: Replay | None) -> None:
        """Refuse a call that comes after the end: ClientClosed, ReplayEnded."""
        if replay is not None and replay.has_ended:
            raise ReplayEnded
        if self.is_closed:
            raise ClientClosed

    def now(self) -> datetime:
        """Give the time by the clock of this client."""
        return datetime.fromtimestamp(self.options.tuning.chances.clock(), tz=UTC)

    def replay(self) -> Replay | None:
        """Give the replay of this client that the caller is within."""
        return next((each for each in reversed(_replays.get()) if each.runtime is self), None)

    def histories(self) -> Callable[[], History]:
        """Give what opens the history of a conversation that is made now: of the replay that it is made within, too.

        What it gives raises ClientClosed and ReplayEnded.
        """
        made_within = self.replay()
        return lambda: self._history_of(made_within or self.replay())

    def _history_of(self, replay: Replay | None) -> History:
        if replay is not None:
            if replay.has_ended:
                raise ReplayEnded
            return replay.history
        if self.is_closed:
            raise ClientClosed
        if self._history is None:
            store = ServerStore(self._api_key, base_url=self._base_url, trust_env=self.options.trust_env)
            self._history = self.options.history(store)
        return self._history

    @contextmanager
    def replaying(self, states: RecordedStates) -> Generator[Replay]:
        """Be within a replay, here and in what is started with a copy of this context."""
        replay = Replay(self, states)
        token = _replays.set((*_replays.get(), replay))
        try:
            yield replay
        finally:
            replay.has_ended = True
            _replays.reset(token)
            if not self.is_closed:
                self._loop.submit(replay.recorder.stop)

    def flush(self, timeout: float) -> "concurrent.futures.Future[bool]":
        """Send what waits, for at most `timeout` seconds."""
        deadline = time.monotonic() + timeout
        return self._loop.submit(lambda: self._flushed(deadline))

    async def _flushed(self, deadline: float) -> bool:
        states, records = self._live(), self._live_recorder()
        sent = await asyncio.gather(states.flush(deadline=deadline), records.flush(deadline=deadline))
        return all(sent)

    def waiting(self) -> int:
        """Give how many writes and records wait to be sent."""
        return self.outbox.count() + self.records.count()

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
        if self._history is not None:
            self._history.close()
        lost = 0 if self.outbox.is_durable else self.outbox.count()
        if lost:
            log.warning("outbox.lost writes=%d", lost)
        if self.records.count():
            log.warning("records.lost records=%d", self.records.count())
        self.outbox.close()

    def in_child(self) -> None:
        """Begin anew in the child of a fork: what is under way, and what waits in memory, is the parent's."""
        _abandoned.append((self._http, self._history, self._states, self._sending, self._recorder))
        self._http = self._history = self._states = self._sending = self._recorder = None
        self._loop.in_child()
        self.outbox.in_child()
        self.records.in_child()

    def _live(self) -> States:
        assert self._states is not None  # noqa: S101  (made before the loop takes its first call)
        return self._states

    def _live_recorder(self) -> Recorder:
        assert self._recorder is not None  # noqa: S101  (made before the loop takes its first call)
        return self._recorder

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
        self._recorder = Recorder(
            self._http.send, queue=self.records, budgets=options.budgets, tuning=options.tuning
        )

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
