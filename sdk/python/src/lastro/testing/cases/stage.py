"""Where a case is played: one kind of store with the host's settings, and a clock that the case sets."""

import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from lastro.client.sync import Lastro
from lastro.history.contract import HistoryStore
from lastro.history.history import History
from lastro.history.records import Provider
from lastro.history.sessions import Session
from lastro.history.stores.ram import RamStore
from lastro.history.stores.server import ServerStore
from lastro.history.stores.sqlite import SqliteStore
from lastro.states.tuning import Budgets

LONG = 10 * 365 * 86_400.0
CONVERSATION = "the conversation of the case"
PATIENT = Budgets(record=10.0, assemble=10.0)
KEY_VARIABLE = "LASTRO_KEY"


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
    """A store under a name, and how a process of its own takes a reservation of it and dies.

    Each tenant has a namespace; on a store that outlives the case, `mark` makes it one of this play alone. `graph`
    gives a client whose graph keeps what an assembly is made of; a file keeps none.
    """

    name: str
    open: Callable[[], HistoryStore]
    clock: Clock
    dying: Sequence[str] = ()
    mark: str = ""
    graph: Callable[[], AbstractContextManager[Lastro]] | None = None
    _store: HistoryStore | None = None

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
        if self._store is None:
            self._store = self.open()
        history = History(
            self._store, namespace=self.namespace(tenant), repair=repair, dialect=dialect, clock=self.clock
        )
        return history.session(conversation, provider=provider, worker=worker)

    def namespace(self, tenant: str = "") -> str:
        """Name where a tenant's sessions are."""
        return f"{tenant or 'case'}{self.mark}"

    def crash(self, session_id: str, *, worker: str) -> None:
        """Let a process of its own reserve the session for a decision, and kill it there. Raises Unplayable."""
        if not self.dying:
            raise Unplayable("nothing of this store outlives a process")
        whose = [*self.dying, worker, self.namespace(), session_id]
        child = subprocess.Popen(  # noqa: S603 - our own module, under this very interpreter
            [sys.executable, "-m", "lastro.testing.cases.dying", *whose], stdout=subprocess.PIPE
        )
        with child:
            word = child.stdout.readline() if child.stdout else b""
            child.kill()
        if word != b"reserved\n":
            raise Unplayable("the process did not get its reservation")

    def close(self) -> None:
        """Close the store; what comes next opens it again."""
        store, self._store = self._store, None
        if store is not None:
            store.close()


def ram(clock: Clock, _folder: Path) -> Stage:
    """Play in RAM."""
    store = RamStore(ttl=LONG, clock=clock)
    return Stage(name="ram", open=lambda: store, clock=clock, graph=_graph_in_ram)


def sqlite(clock: Clock, folder: Path) -> Stage:
    """Play in a SQLite file."""
    file = str(folder / "history.sqlite")
    return Stage(
        name="sqlite",
        open=lambda: SqliteStore(file, ttl=LONG, clock=clock),
        clock=clock,
        dying=("sqlite", file),
    )


def server(url: str, key: str) -> Callable[[Clock, Path], Stage]:
    """Play on a running server, under the source of a key with the scope `history`."""

    def stage(clock: Clock, _folder: Path) -> Stage:
        if clock.time is not None:
            raise Unplayable("server: its clock cannot be set")
        return Stage(
            name="server",
            open=lambda: ServerStore(key, base_url=url),
            clock=clock,
            dying=("server", url),
            mark=f"-{uuid4().hex}",
            graph=lambda: Lastro(key, base_url=url, budgets=PATIENT),
        )

    return stage


@contextmanager
def _graph_in_ram() -> Generator[Lastro]:
    with Lastro("key", base_url="http://127.0.0.1:1", budgets=PATIENT) as client, client.replay():
        yield client
