"""The contract of a store of sessions (HI-3 to HI-6); `lastro.testing` has the suite that shows it of any store."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Protocol, TypeVar, runtime_checkable

from lastro.history.records import Head, Item, Outcome, SessionKey, Snapshot

T = TypeVar("T")


class Items(Protocol):
    """The items of a session, read when asked for."""

    def backwards(self, leaf: str) -> Iterator[Item]:
        """Give the items on the path from a leaf to the root, newest first; read in pages (X12, PF-4)."""
        ...

    def instructions(self) -> Sequence[Item]:
        """Give the system and developer messages, which stand first in every window (X4).

        Where a source is a `windows.PathIndex`, those of other branches too.
        """
        ...


class View(Items, Protocol):
    """A private view of one session, for one operation."""

    @property
    def head(self) -> Head:
        """Give the head as it was when the operation began."""
        ...

    def known(self, key: str) -> Sequence[Item]:
        """Give what was appended with a dedupe key, so that a second append is the first one's answer."""
        ...

    def opaque(self) -> Iterator[Item]:
        """Give another framework's records that no removal took, newest first; read in pages (HI-25)."""
        ...


class HistoryStore(Protocol):
    """A store; each call has a sync and an async form that do the same.

    Errors: DecisionHistoryBusy, DecisionHistoryLimitExceeded, DecisionHistoryNotFound, DecisionHistoryErased,
    DecisionHistoryRecoveryRefused, DecisionHistoryConflict, DecisionHistoryMessageInvalid,
    DecisionHistoryReservationLost, DecisionHistoryStorageFailed.
    """

    def transact(
        self,
        key: SessionKey,
        operation: Callable[[View | None], Outcome[T]],
        *,
        worker: str = "",
        create: bool = True,
    ) -> T:
        """Reserve the session, run the operation on its view (None: there is none), and save atomically what it gives.

        An exception of the operation leaves the old record as it was, and the session free. A process that dies leaves
        the reservation. Saving costs what is appended, not what is there. An outcome without items and head changes
        nothing. `create` False: an unknown session is DecisionHistoryNotFound, and the operation does not run. A new
        session that has no room is refused before the operation runs, since it may pay a provider. A reservation that
        was freed meanwhile is DecisionHistoryReservationLost, and nothing is stored.
        """
        ...

    async def atransact(
        self,
        key: SessionKey,
        operation: Callable[[View | None], Awaitable[Outcome[T]]],
        *,
        worker: str = "",
        create: bool = True,
    ) -> T:
        """Do as `transact`, with an operation that may await a provider."""
        ...

    def read(self, key: SessionKey) -> Snapshot | None:
        """Give a detached snapshot, None when absent or expired; does not renew the idle time; busy refuses (HI-6)."""
        ...

    async def aread(self, key: SessionKey) -> Snapshot | None:
        """Do as `read`."""
        ...

    def fork(self, key: SessionKey, to: SessionKey, *, at: str) -> None:
        """Make a new session that shares the messages from the root to an item, and what is pinned.

        Both of one namespace, else DecisionHistoryMismatch; DecisionHistoryNotFound for an unknown session or item;
        DecisionHistoryConflict where the new one is there already.
        """
        ...

    async def afork(self, key: SessionKey, to: SessionKey, *, at: str) -> None:
        """Do as `fork`."""
        ...

    def recover(self, key: SessionKey, *, worker_stopped: bool = False) -> None:
        """Free a reservation; refuses without the word that its worker has stopped (HI-5).

        Without a reservation it changes nothing; an unknown session is DecisionHistoryNotFound.
        """
        ...

    async def arecover(self, key: SessionKey, *, worker_stopped: bool = False) -> None:
        """Do as `recover`."""
        ...

    def delete(self, key: SessionKey) -> None:
        """Remove an idle session; again is no error; busy refuses (HI-6)."""
        ...

    async def adelete(self, key: SessionKey) -> None:
        """Do as `delete`."""
        ...

    def close(self) -> None:
        """Close what the store opened itself."""
        ...

    async def aclose(self) -> None:
        """Do as `close`."""
        ...


@runtime_checkable
class LookingStore(Protocol):
    """A store that can also show a session without reserving it, so that a look never makes a decision busy."""

    def look(self, key: SessionKey, reading: Callable[[View], T]) -> T:
        """Run a reading on the session as it is now; DecisionHistoryNotFound, DecisionHistoryBusy (HI-6)."""
        ...

    async def alook(self, key: SessionKey, reading: Callable[[View], T]) -> T:
        """Do as `look`; the reading may run in another thread."""
        ...
