"""How a check uses a store: the same words for the sync form and the async one."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from lastro.history.contract import HistoryStore, View
from lastro.history.records import Head, Item, Message, NewItem, Outcome, SessionKey, Snapshot

T = TypeVar("T")
E = TypeVar("E", bound=BaseException)
Operation = Callable[[View | None], Outcome[T]]


@dataclass(frozen=True, slots=True)
class Settable:
    """What of a store a test can set: its clock, its bounds, and whether it gives back whom a session names."""

    clock: bool = True
    bounds: bool = True
    names: bool = True


@dataclass(slots=True)
class Clock:
    """A clock that stands until it is moved."""

    now: float = 1_000_000.0

    def __call__(self) -> float:
        """Give the time."""
        return self.now

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class Refusal:
    """What a refused call raised."""

    error: Any = None


def hold(condition: object, why: str) -> None:
    """Fail a check that does not hold."""
    if not condition:
        raise AssertionError(why)


def same(found: object, wanted: object, why: str = "") -> None:
    """Fail where two values differ."""
    if found != wanted:
        raise AssertionError(f"{why}: {found!r} is not {wanted!r}")


@contextmanager
def refused(kind: type[E]) -> Generator[Refusal, None, None]:
    """Fail unless exactly this error is raised inside."""
    refusal = Refusal()
    try:
        yield refusal
    except kind as error:
        same(type(error), kind, "the kind of refusal")
        refusal.error = error
    else:
        raise AssertionError(f"{kind.__name__} was not raised")


class Use(ABC):
    """A store in the hands of a check."""

    def __init__(self, make_store: Callable[..., HistoryStore], settable: Settable) -> None:
        self.settable = settable
        self.clock = Clock()
        self._make_store = make_store
        self._stores: list[HistoryStore] = []

    def store(self, **settings: Any) -> HistoryStore:
        """Open an empty store with settings, on the check's clock."""
        if self.settable.clock:
            settings["clock"] = self.clock
        self._stores.append(self._make_store(**settings))
        return self._stores[-1]

    def named(self, head: Head) -> Head:
        """Give a head with names, where the store gives them back."""
        return head.with_(conversation="c-1", subject="s-1") if self.settable.names else head

    def key(self, name: str, *, namespace: str = "suite") -> SessionKey:
        """Name a session."""
        return SessionKey(namespace, session_id=name)

    def append(
        self, store: HistoryStore, key: SessionKey, *items: NewItem | Message, worker: str = ""
    ) -> None:
        """Append messages or items."""
        new = tuple(item if isinstance(item, NewItem) else NewItem(item) for item in items)
        self.transact(store, key, lambda _: Outcome(None, new), worker=worker)

    def messages(self, store: HistoryStore, key: SessionKey) -> list[Message]:
        """Read the messages of a session in the order of storing."""
        return [item.message for item in self.items(store, key)]

    def items(self, store: HistoryStore, key: SessionKey) -> Sequence[Item]:
        """Read the items of a session."""
        snapshot = self.read(store, key)
        return () if snapshot is None else snapshot.items

    def path(self, store: HistoryStore, key: SessionKey, leaf: str = "") -> list[str]:
        """Read the ids on the way from a leaf to the root."""

        def ids(view: View | None) -> Outcome[list[str]]:
            return Outcome(
                [] if view is None else [item.id for item in view.backwards(leaf or view.head.leaf)]
            )

        return self.transact(store, key, ids)

    def opaque(self, store: HistoryStore, key: SessionKey) -> list[Message]:
        """Read the live opaque items, newest first."""
        return self.transact(
            store, key, lambda view: Outcome([item.message for item in view.opaque()] if view else [])
        )

    @abstractmethod
    def transact(
        self,
        store: HistoryStore,
        key: SessionKey,
        operation: Operation[T],
        *,
        worker: str = "",
        create: bool = True,
    ) -> T:
        """Run an operation."""

    @abstractmethod
    def read(self, store: HistoryStore, key: SessionKey) -> Snapshot | None:
        """Read a session."""

    @abstractmethod
    def fork(self, store: HistoryStore, key: SessionKey, to: SessionKey, *, at: str) -> None:
        """Fork a session."""

    @abstractmethod
    def recover(self, store: HistoryStore, key: SessionKey, **words: Any) -> None:
        """Free a reservation."""

    @abstractmethod
    def delete(self, store: HistoryStore, key: SessionKey) -> None:
        """Delete a session."""

    @abstractmethod
    def close(self) -> None:
        """Close what was opened."""


class SyncUse(Use):
    """The sync form."""

    def transact(
        self,
        store: HistoryStore,
        key: SessionKey,
        operation: Operation[T],
        *,
        worker: str = "",
        create: bool = True,
    ) -> T:
        """Run an operation."""
        return store.transact(key, operation, worker=worker, create=create)

    def read(self, store: HistoryStore, key: SessionKey) -> Snapshot | None:
        """Read a session."""
        return store.read(key)

    def fork(self, store: HistoryStore, key: SessionKey, to: SessionKey, *, at: str) -> None:
        """Fork a session."""
        store.fork(key, to, at=at)

    def recover(self, store: HistoryStore, key: SessionKey, **words: Any) -> None:
        """Free a reservation."""
        store.recover(key, **words)

    def delete(self, store: HistoryStore, key: SessionKey) -> None:
        """Delete a session."""
        store.delete(key)

    def close(self) -> None:
        """Close what was opened."""
        for store in self._stores:
            store.close()


class AsyncUse(Use):
    """The async form, all of a check in one event loop; inside an operation the sync form is used."""

    def __init__(self, make_store: Callable[..., HistoryStore], settable: Settable) -> None:
        super().__init__(make_store, settable)
        self._runner = asyncio.Runner()
        self._inside = SyncUse(make_store, settable)

    def transact(
        self,
        store: HistoryStore,
        key: SessionKey,
        operation: Operation[T],
        *,
        worker: str = "",
        create: bool = True,
    ) -> T:
        """Run an operation, after another task had its turn."""
        if self._is_inside:
            return self._inside.transact(store, key, operation, worker=worker, create=create)

        async def awaited(view: View | None) -> Outcome[T]:
            await asyncio.sleep(0)
            return operation(view)

        return self._runner.run(store.atransact(key, awaited, worker=worker, create=create))

    def read(self, store: HistoryStore, key: SessionKey) -> Snapshot | None:
        """Read a session."""
        return self._inside.read(store, key) if self._is_inside else self._runner.run(store.aread(key))

    def fork(self, store: HistoryStore, key: SessionKey, to: SessionKey, *, at: str) -> None:
        """Fork a session."""
        if self._is_inside:
            self._inside.fork(store, key, to, at=at)
        else:
            self._runner.run(store.afork(key, to, at=at))

    def recover(self, store: HistoryStore, key: SessionKey, **words: Any) -> None:
        """Free a reservation."""
        if self._is_inside:
            self._inside.recover(store, key, **words)
        else:
            self._runner.run(store.arecover(key, **words))

    def delete(self, store: HistoryStore, key: SessionKey) -> None:
        """Delete a session."""
        if self._is_inside:
            self._inside.delete(store, key)
        else:
            self._runner.run(store.adelete(key))

    def close(self) -> None:
        """Close what was opened."""
        for store in self._stores:
            self._runner.run(store.aclose())
        self._runner.close()

    @property
    def _is_inside(self) -> bool:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return False
        return True
