"""One session of an agent's history: append, observe, decide, and see the window (HI-1, HI-3, HI-13)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, overload

from lastro.history.contract import HistoryStore, LookingStore, View
from lastro.history.drafting import Before, Decision, Draft, Turn, nothing
from lastro.history.opaque import OpaqueItems
from lastro.history.records import Message, NewItem, Outcome, Pins, Provider, SessionKey, Snapshot
from lastro.history.steps import ataken, taken
from lastro.history.windows import Limits, Window

T = TypeVar("T")
Given = Sequence[Message | NewItem]
"""Messages of a provider, or items where more is to be said than the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One session; every call has a sync form, and an async one with `a` before its name that does the same.

    Errors: those of the store; DecisionHistoryMismatch where pins, conversation or subject differ from what the
    session has (HI-1); DecisionHistoryInvalid for a result that nobody asked for (HI-13).
    """

    key: SessionKey
    draft: Draft
    worker: str = ""

    @property
    def opaque(self) -> OpaqueItems:
        """Give the records of another framework that this session keeps (HI-25)."""
        return OpaqueItems(self)

    def read_as(self, provider: Provider) -> "Session":
        """Give the same session, read in a provider's format as long as no decision has pinned one."""
        return replace(self, draft=replace(self.draft, provider=provider))

    def append(self, messages: Given, *, key: str = "") -> tuple[str, ...]:
        """Store messages behind the leaf, and give their ids.

        The same key again gives the first answer and stores nothing; other messages under it are
        DecisionHistoryConflict. Also DecisionHistoryMessageInvalid, DecisionHistoryLimitExceeded, DecisionHistoryBusy.
        """
        return self.transact(lambda view: self.draft.appended(view, messages, key=key))

    async def aappend(self, messages: Given, *, key: str = "") -> tuple[str, ...]:
        """Do as `append`."""
        return await self.atransact(lambda view: self.draft.appended(view, messages, key=key))

    def observe(
        self, results: Sequence[Message], *, key: str = "", provisional: bool = False
    ) -> tuple[str, ...]:
        """Store results that the runtime reports, each only for a call that is open, and give their ids (HI-13).

        `provisional`: the final result is still to come. Raises DecisionHistoryInvalid for a call that nobody made.
        """
        return self.transact(
            lambda view: self.draft.observed(view, results, key=key, provisional=provisional)
        )

    async def aobserve(
        self, results: Sequence[Message], *, key: str = "", provisional: bool = False
    ) -> tuple[str, ...]:
        """Do as `observe`."""
        return await self.atransact(
            lambda view: self.draft.observed(view, results, key=key, provisional=provisional)
        )

    def not_executed(self, call_ids: Sequence[str], *, key: str = "") -> tuple[str, ...]:
        """Record of open calls that they were not executed; it is served as their result, and marked so."""
        return self.transact(lambda view: self.draft.unexecuted(view, call_ids, key=key))

    async def anot_executed(self, call_ids: Sequence[str], *, key: str = "") -> tuple[str, ...]:
        """Do as `not_executed`."""
        return await self.atransact(lambda view: self.draft.unexecuted(view, call_ids, key=key))

    def window(self, *, leaf: str = "", limits: Limits | None = None) -> Window:
        """Give the window of the session, or of a branch by its leaf (HI-9 to HI-11); stores nothing.

        Raises DecisionHistoryNotFound where there is no such session or leaf, DecisionHistoryBusy while a decision
        runs, and what a window refuses.
        """
        store = self._store
        if isinstance(store, LookingStore):
            return store.look(self.key, lambda view: self.draft.windowed(view, leaf, limits).result)
        return self.transact(lambda view: self.draft.windowed(view, leaf, limits), create=False)

    async def awindow(self, *, leaf: str = "", limits: Limits | None = None) -> Window:
        """Do as `window`."""
        store = self._store
        if isinstance(store, LookingStore):
            return await store.alook(self.key, lambda view: self.draft.windowed(view, leaf, limits).result)
        return await self.atransact(lambda view: self.draft.windowed(view, leaf, limits), create=False)

    @overload
    def decide(
        self,
        pins: Pins,
        operation: Callable[[Turn], Outcome[T]],
        *,
        leaf: str = "",
        observations: int = 0,
        before: Before = ...,
    ) -> T: ...
    @overload
    def decide(
        self,
        pins: Pins,
        operation: Callable[[Turn], Given],
        *,
        leaf: str = "",
        observations: int = 0,
        before: Before = ...,
    ) -> tuple[str, ...]: ...
    def decide(
        self,
        pins: Pins,
        operation: Callable[[Turn], Any],
        *,
        leaf: str = "",
        observations: int = 0,
        before: Before = nothing,
    ) -> Any:
        """Reserve the session, make its window, run the operation on it, and store what it gives (HI-1, HI-5).

        The operation gives the new messages, whose ids are then the answer; or an Outcome, whose result is. When it
        raises, nothing is stored. `leaf` decides on another branch; `observations` says how many the runtime still
        has, for the event of a resume without messages (HI-8). `before` gives items that the window shows already and
        that are stored with the answer, or not at all; a result among them (`observation`) is one of an open call.
        """
        decision = Decision(
            pins=pins, operation=operation, leaf=leaf, observations=observations, before=before
        )
        return self._store.transact(
            self.key, lambda view: taken(self.draft.decided(view, decision)), worker=self.worker
        )

    @overload
    async def adecide(
        self,
        pins: Pins,
        operation: Callable[[Turn], Awaitable[Outcome[T]]],
        *,
        leaf: str = "",
        observations: int = 0,
        before: Before = ...,
    ) -> T: ...
    @overload
    async def adecide(
        self,
        pins: Pins,
        operation: Callable[[Turn], Awaitable[Given]],
        *,
        leaf: str = "",
        observations: int = 0,
        before: Before = ...,
    ) -> tuple[str, ...]: ...
    async def adecide(
        self,
        pins: Pins,
        operation: Callable[[Turn], Awaitable[Any]],
        *,
        leaf: str = "",
        observations: int = 0,
        before: Before = nothing,
    ) -> Any:
        """Do as `decide`, with an operation that awaits its provider."""
        decision = Decision(
            pins=pins, operation=operation, leaf=leaf, observations=observations, before=before
        )
        return await self._store.atransact(
            self.key, lambda view: ataken(self.draft.decided(view, decision)), worker=self.worker
        )

    def read(self) -> Snapshot | None:
        """Give a detached snapshot, None when absent or expired; does not renew the idle time (HI-6)."""
        return self._store.read(self.key)

    async def aread(self) -> Snapshot | None:
        """Do as `read`."""
        return await self._store.aread(self.key)

    def fork(self, to: "Session", *, at: str) -> None:
        """Make another session that shares the messages up to an item."""
        self._store.fork(self.key, to.key, at=at)

    async def afork(self, to: "Session", *, at: str) -> None:
        """Do as `fork`."""
        await self._store.afork(self.key, to.key, at=at)

    def recover(self, *, worker_stopped: bool = False) -> None:
        """Free the reservation of a worker that has stopped; says nothing of what that worker did (HI-5)."""
        self._store.recover(self.key, worker_stopped=worker_stopped)

    async def arecover(self, *, worker_stopped: bool = False) -> None:
        """Do as `recover`."""
        await self._store.arecover(self.key, worker_stopped=worker_stopped)

    def delete(self) -> None:
        """Remove the session; again is no error, busy refuses (HI-6)."""
        self._store.delete(self.key)

    async def adelete(self) -> None:
        """Do as `delete`."""
        await self._store.adelete(self.key)

    def transact(self, operation: Callable[[View | None], Outcome[T]], *, create: bool = True) -> T:
        """Run an operation on the session by the store's own contract (HI-3)."""
        return self._store.transact(self.key, operation, worker=self.worker, create=create)

    async def atransact(self, operation: Callable[[View | None], Outcome[T]], *, create: bool = True) -> T:
        """Do as `transact`."""

        async def awaited(view: View | None) -> Outcome[T]:
            return operation(view)

        return await self._store.atransact(self.key, awaited, worker=self.worker, create=create)

    def now(self) -> float:
        """Give the time by the history's clock."""
        return self.draft.settings.clock()

    @property
    def _store(self) -> HistoryStore:
        return self.draft.settings.store
