"""Sessions in the memory of one process: the default (HI-4)."""

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import TypeVar

from lastro.history.contract import View
from lastro.history.errors import (
    DecisionHistoryConflict,
    DecisionHistoryNotFound,
    DecisionHistoryReservationLost,
)
from lastro.history.records import Head, Item, Outcome, Reservation, SessionKey, Snapshot
from lastro.history.stores.appends import (
    BESIDE,
    Append,
    Place,
    Row,
    fork_rows,
    present,
    removes,
    without_removed,
)
from lastro.history.stores.bounds import MIB, Bounds
from lastro.history.stores.heads import forked_head, saved_head, seen_head, size_of
from lastro.history.stores.reserving import Reserved, ReservingStore, is_held, new_id, require_idle

T = TypeVar("T")


@dataclass(slots=True)
class Session:
    """One session; `head` None while its first decision runs."""

    head: Head | None = None
    last: int = 0
    rows: dict[str, Row] = field(default_factory=dict[str, Row])
    keys: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])
    leading: list[Row] = field(default_factory=list[Row])
    is_branched: bool = False
    beside: dict[str, Row] = field(default_factory=dict[str, Row])
    removals: int = 0
    reservation: Reservation | None = None

    def row(self, id: str) -> Row | None:
        """Give an item by its id."""
        return self.rows.get(id)

    def keyed(self, key: str) -> Sequence[Row]:
        """Give the items of a dedupe key in their order."""
        return self.keys.get(key, ())

    def keep(self, row: Row) -> None:
        """Add a row."""
        self.rows[row.id] = row
        self.last = row.position
        if row.key:
            self.keys.setdefault(row.key, []).append(row)
        if row.leading:
            self.leading.append(row)
        self.is_branched = self.is_branched or row.branches
        if row.kind in BESIDE:
            self.beside[row.id] = row
            self.removals += row.kind == "removal"

    def path(self, leaf: str) -> Iterator[Row]:
        """Give the rows from a leaf to the root."""
        row = self.rows.get(leaf)
        while row is not None:
            yield row
            row = self.rows.get(row.parent)

    def sweep(self) -> None:
        """Take out what removals took, and the removals (HI-25)."""
        removals = [row for row in self.beside.values() if row.kind == "removal"] if self.removals else []
        gone = [self.beside[id] for removal in removals for id in self.taken_by(removal)] + removals
        for row in dict.fromkeys(gone):
            self.drop(row)
        self.removals = 0

    def taken_by(self, removal: Row) -> list[str]:
        """Give the ids of the opaque items that a removal took."""
        names = removes(removal)
        if names is None:
            return [row.id for row in self.beside.values() if is_older_opaque(row, removal)]
        return [id for id in names if id in self.beside and is_older_opaque(self.beside[id], removal)]

    def drop(self, row: Row) -> None:
        """Take out a row that stands beside the tree."""
        del self.rows[row.id], self.beside[row.id]
        if row.key:
            self.keys[row.key].remove(row)
        if self.head is not None:
            self.head = self.head.with_(count=self.head.count - 1, bytes=self.head.bytes - len(row.body))


def is_older_opaque(row: Row, removal: Row) -> bool:
    """Say whether a removal can have taken an item."""
    return row.kind == "opaque" and row.position < removal.position


@dataclass(frozen=True, slots=True)
class RamView:
    """A session as it was when the operation began; it only ever grows, and not while it is reserved."""

    head: Head
    session: Session

    def backwards(self, leaf: str) -> Iterator[Item]:
        """Give the items from a leaf to the root, newest first."""
        return (row.item() for row in self.session.path(leaf))

    def instructions(self) -> Sequence[Item]:
        """Give the instructions, of all branches."""
        return [row.item() for row in self.session.leading]

    def on_path(self, ids: Collection[str], leaf: str) -> Set[str]:
        """Give those of these items that are between a leaf and the root."""
        session = self.session
        if session.is_branched:
            return set(ids).intersection(row.id for row in session.path(leaf))
        last = session.rows[leaf].position if leaf in session.rows else 0
        return {id for id in ids if session.rows[id].position <= last}

    def known(self, key: str) -> Sequence[Item]:
        """Give the items of a dedupe key."""
        return [row.item() for row in self.session.keyed(key)]

    def opaque(self) -> Iterator[Item]:
        """Give the opaque items that no removal took, newest first."""
        return (row.item() for row in without_removed(list(reversed(self.session.beside.values()))))


class RamStore(ReservingStore):
    """Keep sessions in RAM: 128 of them, 32 MiB in all, 8 MiB each, one hour idle (HI-4).

    `ttl` is in seconds. A store without room refuses (DecisionHistoryLimitExceeded) and keeps what it has. Safe across
    threads and event loops; another process sees nothing of it.
    """

    def __init__(
        self,
        *,
        max_sessions: int = 128,
        max_store_bytes: int = 32 * MIB,
        max_retained_bytes: int = 8 * MIB,
        ttl: float = 3600.0,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = new_id,
    ) -> None:
        super().__init__(
            Bounds(max_sessions, max_store_bytes, max_retained_bytes, ttl), clock=clock, new_id=new_id
        )
        self._sessions: dict[str, Session] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def look(self, key: SessionKey, reading: Callable[[View], T]) -> T:
        """Run a reading on a session without reserving it (HI-6)."""
        with self._lock:
            now = self._purged()
            view = view_of(self._idle(key), now=now)
        if view is None:
            raise DecisionHistoryNotFound
        return reading(view)

    def close(self) -> None:
        """Do nothing: what is in RAM ends with the process, by expiry or by `delete`."""

    def _reserve(self, key: SessionKey, *, worker: str, create: bool) -> Reserved:
        with self._lock:
            now = self._purged()
            session = self._sessions.get(key.digest) or self._begun(key, create=create)
            require_idle(session.reservation)
            token = new_id()
            session.reservation = Reservation(token, now, worker)
            self._swept(session)
            return Reserved(key, token, view_of(session, now=now))

    def _save(self, reserved: Reserved, outcome: Outcome[T]) -> None:
        with self._lock:
            session = self._own(reserved)
            if outcome.append or outcome.head is not None:
                self._grow(session, outcome)
                self._touched(reserved.key)
            self._freed(reserved.key)

    def _release(self, reserved: Reserved) -> None:
        with self._lock:
            session = self._sessions.get(reserved.key.digest)
            if session is not None and is_held(session.reservation, reserved.token):
                self._freed(reserved.key)

    def _snapshot(self, key: SessionKey) -> Snapshot | None:
        with self._lock:
            now = self._purged()
            session = self._sessions.get(key.digest)
            if session is None:
                return None
            require_idle(session.reservation)
            head = seen_head(session.head or Head(), now=now)
            rows = tuple(session.rows.values())
        return Snapshot(key, head, present(rows, now=now))

    def _fork(self, key: SessionKey, to: SessionKey, *, at: str) -> None:
        with self._lock:
            now = self._purged()
            origin = self._idle(key)
            path = tuple(reversed(tuple(origin.path(at))))
            if not path or path[-1].kind in BESIDE or origin.head is None:
                raise DecisionHistoryNotFound
            if to.digest in self._sessions:
                raise DecisionHistoryConflict("the session is there already")
            self._forked(fork_rows(path), forked_head(origin.head, path, now=now), to)

    def _recover(self, key: SessionKey) -> None:
        with self._lock:
            self._purged()
            if key.digest not in self._sessions:
                raise DecisionHistoryNotFound
            self._freed(key)

    def _delete(self, key: SessionKey) -> None:
        with self._lock:
            self._purged()
            if key.digest in self._sessions:
                self._ended(key.digest, self._idle(key))

    def _idle(self, key: SessionKey) -> Session:
        session = self._sessions.get(key.digest)
        if session is None:
            raise DecisionHistoryNotFound
        require_idle(session.reservation)
        return session

    def _own(self, reserved: Reserved) -> Session:
        session = self._sessions.get(reserved.key.digest)
        if session is None or not is_held(session.reservation, reserved.token):
            raise DecisionHistoryReservationLost
        return session

    def _begun(self, key: SessionKey, *, create: bool) -> Session:
        if not create:
            raise DecisionHistoryNotFound
        self._bounds.require_session(sessions=len(self._sessions) + 1)
        return self._sessions.setdefault(key.digest, Session())

    def _grow(self, session: Session, outcome: Outcome[T]) -> None:
        now = self._clock()
        before = session.head or Head(created_at=now)
        append = Append(session, Place(session.last, before.leaf), now=now, new_id=self._new_id)
        rows, place = append.add(outcome.append)
        if rows or outcome.head is not None:
            head = saved_head(before, outcome.head, rows, leaf=place.leaf, now=now)
            self._store(session, rows, head)

    def _store(self, session: Session, rows: Sequence[Row], head: Head) -> None:
        grown = self._bytes - size_of(session.head) + size_of(head)
        self._bounds.require_bytes(session=size_of(head), store=grown)
        self._bytes = grown
        session.head = head
        for row in rows:
            session.keep(row)

    def _forked(self, rows: Sequence[Row], head: Head, to: SessionKey) -> None:
        self._bounds.require_session(sessions=len(self._sessions) + 1)
        session = Session()
        self._store(session, rows, head)
        self._sessions[to.digest] = session

    def _freed(self, key: SessionKey) -> None:
        session = self._sessions[key.digest]
        session.reservation = None
        if session.head is None:
            del self._sessions[key.digest]

    def _touched(self, key: SessionKey) -> None:
        self._sessions[key.digest] = self._sessions.pop(key.digest)

    def _swept(self, session: Session) -> None:
        before = size_of(session.head)
        session.sweep()
        self._bytes += size_of(session.head) - before

    def _purged(self) -> float:
        """End what is idle for too long; the sessions stand in the order of their last saving."""
        now = self._clock()
        for digest, session in [*self._idle_since(now)]:
            self._ended(digest, session)
        return now

    def _idle_since(self, now: float) -> Iterator[tuple[str, Session]]:
        for digest, session in self._sessions.items():
            if session.reservation is not None or session.head is None:
                continue
            if not self._bounds.is_idle(touched_at=session.head.touched_at, now=now):
                return
            yield digest, session

    def _ended(self, digest: str, session: Session) -> None:
        self._bytes -= size_of(session.head)
        del self._sessions[digest]


def view_of(session: Session, *, now: float) -> RamView | None:
    """Give the view of an operation, None where the session is new."""
    if session.head is None:
        return None
    return RamView(seen_head(session.head, now=now), session)
