"""Where a case is played: one kind of store with the host's settings, and a clock that the case sets."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lastro.history.contract import HistoryStore
from lastro.history.history import History
from lastro.history.records import Provider
from lastro.history.sessions import Session
from lastro.history.stores.ram import RamStore
from lastro.history.stores.sqlite import SqliteStore

LONG = 10 * 365 * 86_400.0
CONVERSATION = "the conversation of the case"


class Unplayable(Exception):
    """A store cannot be put into a case: its clock cannot be set, or nothing of it outlives a process."""


class Clock:
    """The time of a case: the machine's own, or what the case says."""

    def __init__(self, *, is_given: bool) -> None:
        self.time = 0.0 if is_given else None

    def __call__(self) -> float:
        """Give the time, in seconds."""
        return time.time() if self.time is None else self.time


@dataclass(slots=True, kw_only=True)
class Stage:
    """A store under a name, how it is opened again, and how a process of its own takes a reservation and dies."""

    name: str
    open: Callable[[Clock, str], HistoryStore]
    clock: Clock
    crash_code: Callable[[str], Sequence[str]] | None = None
    _stores: dict[str, HistoryStore] = field(default_factory=dict[str, HistoryStore])

    def session(
        self,
        *,
        provider: Provider,
        tenant: str = "",
        conversation: str = CONVERSATION,
        repair: bool = False,
        dialect: str = "",
        worker: str = "",
    ) -> Session:
        """Give a session of a tenant."""
        history = History(
            self.store(tenant),
            namespace=tenant or "case",
            repair=repair,
            dialect=dialect,
            clock=self.clock,
        )
        return history.session(conversation, provider=provider, worker=worker)

    def store(self, tenant: str = "") -> HistoryStore:
        """Give the store, as a tenant's credential opens it."""
        if tenant not in self._stores:
            self._stores[tenant] = self.open(self.clock, tenant)
        return self._stores[tenant]

    def crash(self, session_id: str, *, worker: str) -> None:
        """Let a process of its own reserve the session for a decision, and kill it there. Raises Unplayable."""
        if self.crash_code is None:
            raise Unplayable("nothing of this store outlives a process")
        child = subprocess.Popen(  # noqa: S603 - our own module, under this very interpreter
            [sys.executable, "-m", "lastro.testing.cases.dying", *self.crash_code(worker), session_id],
            stdout=subprocess.PIPE,
        )
        with child:
            word = child.stdout.readline() if child.stdout else b""
            child.kill()
        if word != b"reserved\n":
            raise Unplayable("the process did not get its reservation")

    def close(self) -> None:
        """Close every store that was opened; what comes next opens it again."""
        while self._stores:
            self._stores.popitem()[1].close()


def ram(clock: Clock) -> Stage:
    """Play in RAM: one store for all tenants."""
    store = RamStore(ttl=LONG, clock=clock)
    return Stage(name="ram", open=lambda _clock, _tenant: store, clock=clock)


def sqlite(clock: Clock, folder: Path) -> Stage:
    """Play in one SQLite file, which each tenant opens for itself."""
    file = folder / "history.sqlite"
    return Stage(
        name="sqlite",
        open=lambda given, _tenant: SqliteStore(str(file), ttl=LONG, clock=given),
        clock=clock,
        crash_code=lambda worker: ["sqlite", str(file), worker],
    )
