"""What every store of this package does the same way: reserve, let the operation run, save or let go (HI-3, HI-5).

The reservation is what excludes others; no lock and no transaction is held while an operation runs.
"""

import asyncio
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from lastro.history.contract import View
from lastro.history.errors import (
    DecisionHistoryBusy,
    DecisionHistoryConflict,
    DecisionHistoryIdentityMissing,
    DecisionHistoryMessageInvalid,
    DecisionHistoryMismatch,
    DecisionHistoryNotFound,
    DecisionHistoryRecoveryRefused,
)
from lastro.history.records import Head, NewItem, Outcome, Reservation, SessionKey, Snapshot, is_name
from lastro.history.stores.bounds import Bounds

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reserved:
    """A session while its operation runs."""

    key: SessionKey
    token: str
    view: View | None


def new_id() -> str:
    """Give a name that nothing else has."""
    return uuid.uuid4().hex


def require_idle(reservation: Reservation | None) -> None:
    """Refuse a session that a decision runs on (HI-5)."""
    if reservation is not None:
        raise DecisionHistoryBusy(since=reservation.since, worker=reservation.worker)


def is_held(reservation: Reservation | None, token: str) -> bool:
    """Say whether a session is reserved under a token."""
    return reservation is not None and reservation.token == token


def require_worker(worker: object) -> None:
    """Refuse a label that cannot be kept beside a reservation (HI-5)."""
    if not is_name(worker):
        raise DecisionHistoryIdentityMissing("the label of a worker is text of at most 200 characters")


def require_outcome(outcome: Outcome[T]) -> Outcome[T]:
    """Refuse what an operation gave and a store cannot keep; nothing of it is stored (HI-3)."""
    _require(outcome, Outcome, pointer="", reason="the operation gave no outcome")
    _require(outcome.append, tuple, list, pointer="/append", reason="no list of items")
    for place, item in enumerate(outcome.append):
        _require(item, NewItem, pointer=f"/append/{place}", reason="no item")
    head = Head() if outcome.head is None else outcome.head
    _require(head, Head, pointer="/head", reason="no head")
    return outcome


def _require(value: object, *kinds: type, pointer: str, reason: str) -> None:
    if not isinstance(value, kinds):
        raise DecisionHistoryMessageInvalid(pointer=pointer, reason=reason)


class ReservingStore(ABC):
    """Both forms of the contract over a few short steps, each of them atomic."""

    def __init__(
        self,
        bounds: Bounds,
        *,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = new_id,
    ) -> None:
        self._bounds = bounds
        self._clock = clock
        self._new_id = new_id

    def transact(
        self,
        key: SessionKey,
        operation: Callable[[View | None], Outcome[T]],
        *,
        worker: str = "",
        create: bool = True,
    ) -> T:
        """Reserve, run the operation, save what it gives (HI-3)."""
        require_worker(worker)
        reserved = self._reserve(key, worker=worker, create=create)
        try:
            outcome = require_outcome(operation(reserved.view))
            self._save(reserved, outcome)
        except BaseException:
            self._release(reserved)
            raise
        return outcome.result

    async def atransact(
        self,
        key: SessionKey,
        operation: Callable[[View | None], Awaitable[Outcome[T]]],
        *,
        worker: str = "",
        create: bool = True,
    ) -> T:
        """Do as `transact`, with an operation that may await a provider."""
        require_worker(worker)
        reserved = await self._apart(
            lambda: self._reserve(key, worker=worker, create=create), undo=self._release
        )
        try:
            outcome = require_outcome(await operation(reserved.view))
            await self._apart(lambda: self._save(reserved, outcome))
        except GeneratorExit:
            # A coroutine that is closed may not await any more.
            self._release(reserved)
            raise
        except BaseException:
            await self._apart(lambda: self._release(reserved))
            raise
        return outcome.result

    def read(self, key: SessionKey) -> Snapshot | None:
        """Give a detached snapshot, None when absent or expired (HI-6)."""
        return self._snapshot(key)

    async def aread(self, key: SessionKey) -> Snapshot | None:
        """Do as `read`."""
        return await self._apart(lambda: self.read(key))

    def fork(self, key: SessionKey, to: SessionKey, *, at: str) -> None:
        """Make a new session that shares the messages up to an item."""
        if key.namespace != to.namespace:
            raise DecisionHistoryMismatch("a fork stays in its namespace")
        if key == to:
            raise DecisionHistoryConflict("a fork is another session")
        if not is_name(at):
            raise DecisionHistoryNotFound
        self._fork(key, to, at=at)

    async def afork(self, key: SessionKey, to: SessionKey, *, at: str) -> None:
        """Do as `fork`."""
        await self._apart(lambda: self.fork(key, to, at=at))

    def recover(self, key: SessionKey, *, worker_stopped: bool = False) -> None:
        """Free a reservation; refuses without the word that its worker has stopped (HI-5)."""
        if worker_stopped is not True:
            raise DecisionHistoryRecoveryRefused("say worker_stopped=True once it has")
        self._recover(key)

    async def arecover(self, key: SessionKey, *, worker_stopped: bool = False) -> None:
        """Do as `recover`."""
        await self._apart(lambda: self.recover(key, worker_stopped=worker_stopped))

    def delete(self, key: SessionKey) -> None:
        """Remove an idle session; again is no error; busy refuses (HI-6)."""
        self._delete(key)

    async def adelete(self, key: SessionKey) -> None:
        """Do as `delete`."""
        await self._apart(lambda: self.delete(key))

    async def aclose(self) -> None:
        """Do as `close`."""
        await self._apart(self.close)

    @abstractmethod
    def look(self, key: SessionKey, reading: Callable[[View], T]) -> T:
        """Run a reading on a session without reserving it."""

    async def alook(self, key: SessionKey, reading: Callable[[View], T]) -> T:
        """Do as `look`."""
        return await self._apart(lambda: self.look(key, reading))

    @abstractmethod
    def close(self) -> None:
        """Close what the store opened itself."""

    async def _apart(self, call: Callable[[], T], *, undo: Callable[[T], None] | None = None) -> T:
        """Run a short step of the async form; a store that waits for a disk runs it beside the event loop."""
        return call()

    @abstractmethod
    def _reserve(self, key: SessionKey, *, worker: str, create: bool) -> Reserved: ...

    @abstractmethod
    def _save(self, reserved: Reserved, outcome: Outcome[T]) -> None: ...

    @abstractmethod
    def _release(self, reserved: Reserved) -> None: ...

    @abstractmethod
    def _snapshot(self, key: SessionKey) -> Snapshot | None: ...

    @abstractmethod
    def _fork(self, key: SessionKey, to: SessionKey, *, at: str) -> None: ...

    @abstractmethod
    def _recover(self, key: SessionKey) -> None: ...

    @abstractmethod
    def _delete(self, key: SessionKey) -> None: ...


async def beside_the_loop(call: Callable[[], T], *, undo: Callable[[T], None] | None = None) -> T:
    """Run a step in a thread, to its end also when the caller is cancelled; what it then did alone is undone."""
    running = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await ended(running)
        if undo is not None and running.exception() is None:
            await beside_the_loop(lambda: undo(running.result()))
        raise


async def ended(running: asyncio.Future[T]) -> None:
    """Wait for the end of a step, through any number of cancellations."""
    while not running.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait((running,))
