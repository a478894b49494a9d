"""Sessions in a SQLite file: they outlive the process, and so do their reservations (HI-4, HI-5, HI-7)."""

import os
import sqlite3
import time
from collections.abc import Callable
from typing import TypeVar

from lastro.history.contract import View
from lastro.history.errors import (
    DecisionHistoryConflict,
    DecisionHistoryNotFound,
    DecisionHistoryReservationLost,
)
from lastro.history.records import Head, Outcome, SessionKey, Snapshot
from lastro.history.stores.appends import BESIDE, Append, Place, Row, fork_rows, present, removes
from lastro.history.stores.bounds import MIB, Bounds
from lastro.history.stores.heads import forked_head, saved_head, seen_head, size_of
from lastro.history.stores.reserving import (
    Reserved,
    ReservingStore,
    beside_the_loop,
    is_held,
    new_id,
    require_idle,
)
from lastro.history.stores.sqlite.connection import GivenConnection, OwnConnection
from lastro.history.stores.sqlite.rows import (
    Session,
    SessionRows,
    SqliteView,
    all_rows,
    find_session,
    make_session,
    page_back,
    removal_rows,
    write_head,
    write_rows,
)

T = TypeVar("T")
WHOLE_PATH = 2**31


class SqliteStore(ReservingStore):
    """Keep sessions in SQLite: 128 of them, 32 MiB in all, 8 MiB each, 24 hours idle (HI-4).

    With a file name the store makes or resets the file and its side files to 0600, and refuses links, what is no
    regular file, and a folder that others can write (DecisionHistoryStorageUnsafe); the content is not encrypted. An
    open connection can be given instead, outside of a transaction; then closing and protecting it stay with the host,
    and the async form runs in its thread. `ttl` is in seconds. Killed at any point, the old record is there or the new
    one; a reservation stays until `recover` (HI-5). Several processes may use one file at once.
    """

    def __init__(
        self,
        file: str | os.PathLike[str] | None = None,
        *,
        connection: sqlite3.Connection | None = None,
        max_sessions: int = 128,
        max_store_bytes: int = 32 * MIB,
        max_retained_bytes: int = 8 * MIB,
        ttl: float = 24 * 3600.0,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = new_id,
    ) -> None:
        bounds = Bounds(max_sessions, max_store_bytes, max_retained_bytes, ttl)
        super().__init__(bounds, clock=clock, new_id=new_id)
        self._connection = connection_of(file, connection)

    def look(self, key: SessionKey, reading: Callable[[View], T]) -> T:
        """Run a reading on a session without reserving it (HI-6); all of it sees one state of the file."""
        now = self._purged()
        with self._connection.reading_once() as cursor:
            session = idle(cursor, key)
            view = self._view_of(session, session.head, now=now)
            if view is None:
                raise DecisionHistoryNotFound
            return reading(view)

    def close(self) -> None:
        """Close the connection that the store opened; one that was given stays open."""
        self._connection.close()

    async def _apart(self, call: Callable[[], T], *, undo: Callable[[T], None] | None = None) -> T:
        if isinstance(self._connection, OwnConnection):
            return await beside_the_loop(call, undo=undo)
        # A given connection may belong to the thread that made it.
        return call()

    def _reserve(self, key: SessionKey, *, worker: str, create: bool) -> Reserved:
        now = self._clock()
        with self._connection.writing() as cursor:
            self._purge(cursor, now=now)
            session = find_session(cursor, key.digest) or self._begun(cursor, key, create=create)
            require_idle(session.reservation)
            token = new_id()
            cursor.execute(
                "UPDATE lastro_session SET token = ?, since = ?, worker = ? WHERE id = ?",
                (token, now, worker, session.id),
            )
            head = swept(cursor, session)
        return Reserved(key, token, self._view_of(session, head, now=now))

    def _save(self, reserved: Reserved, outcome: Outcome[T]) -> None:
        with self._connection.writing() as cursor:
            session = own(cursor, reserved)
            if outcome.append or outcome.head is not None:
                self._grow(cursor, session, outcome)
            free(cursor, session.id)

    def _release(self, reserved: Reserved) -> None:
        with self._connection.writing() as cursor:
            session = find_session(cursor, reserved.key.digest)
            if session is not None and is_held(session.reservation, reserved.token):
                free(cursor, session.id)

    def _snapshot(self, key: SessionKey) -> Snapshot | None:
        now = self._purged()
        with self._connection.reading_once() as cursor:
            session = find_session(cursor, key.digest)
            if session is None:
                return None
            require_idle(session.reservation)
            rows = all_rows(cursor, session.id)
        return Snapshot(key, seen_head(session.head or Head(), now=now), present(rows, now=now))

    def _fork(self, key: SessionKey, to: SessionKey, *, at: str) -> None:
        now = self._clock()
        with self._connection.writing() as cursor:
            self._purge(cursor, now=now)
            origin = idle(cursor, key)
            path = page_back(cursor, origin.id, at, size=WHOLE_PATH)[::-1]
            if not path or path[-1].kind in BESIDE or origin.head is None:
                raise DecisionHistoryNotFound
            if find_session(cursor, to.digest) is not None:
                raise DecisionHistoryConflict("the session is there already")
            copy = self._begun(cursor, to, create=True)
            self._store(
                cursor, copy, fork_rows(path), forked_head(origin.head, path, now=now), last=len(path)
            )

    def _recover(self, key: SessionKey) -> None:
        with self._connection.writing() as cursor:
            self._purge(cursor, now=self._clock())
            session = find_session(cursor, key.digest)
            if session is None:
                raise DecisionHistoryNotFound
            free(cursor, session.id)

    def _delete(self, key: SessionKey) -> None:
        with self._connection.writing() as cursor:
            self._purge(cursor, now=self._clock())
            session = find_session(cursor, key.digest)
            if session is not None:
                require_idle(session.reservation)
                cursor.execute("DELETE FROM lastro_session WHERE id = ?", (session.id,))

    def _begun(self, cursor: sqlite3.Cursor, key: SessionKey, *, create: bool) -> Session:
        if not create:
            raise DecisionHistoryNotFound
        sessions = int(cursor.execute("SELECT sessions FROM lastro_total").fetchone()[0])
        self._bounds.require_session(sessions=sessions + 1)
        return make_session(cursor, key.digest)

    def _grow(self, cursor: sqlite3.Cursor, session: Session, outcome: Outcome[T]) -> None:
        now = self._clock()
        before = session.head or Head(created_at=now)
        place = Place(session.last, before.leaf)
        append = Append(SessionRows(cursor, session.id), place, now=now, new_id=self._new_id)
        rows, place = append.add(outcome.append)
        if rows or outcome.head is not None:
            head = saved_head(before, outcome.head, rows, leaf=place.leaf, now=now)
            self._store(cursor, session, rows, head, last=place.last)

    def _store(
        self, cursor: sqlite3.Cursor, session: Session, rows: tuple[Row, ...], head: Head, *, last: int
    ) -> None:
        held = int(cursor.execute("SELECT bytes FROM lastro_total").fetchone()[0])
        grown = held - size_of(session.head) + size_of(head)
        self._bounds.require_bytes(session=size_of(head), store=grown)
        write_rows(cursor, session.id, rows)
        write_head(cursor, session.id, head, last=last)

    def _view_of(self, session: Session, head: Head | None, *, now: float) -> SqliteView | None:
        if head is None:
            return None
        return SqliteView(seen_head(head, now=now), session.id, self._connection.reading)

    def _purge(self, cursor: sqlite3.Cursor, *, now: float) -> None:
        cursor.execute(
            "DELETE FROM lastro_session WHERE token IS NULL AND touched_at <= ?", (now - self._bounds.ttl,)
        )

    def _purged(self) -> float:
        """End what is idle for too long; a reading alone waits for no writer."""
        now = self._clock()
        with self._connection.reading() as cursor:
            found = cursor.execute(
                "SELECT 1 FROM lastro_session WHERE token IS NULL AND touched_at <= ? LIMIT 1",
                (now - self._bounds.ttl,),
            ).fetchone()
        if found is not None:
            with self._connection.writing() as cursor:
                self._purge(cursor, now=now)
        return now


def connection_of(
    file: str | os.PathLike[str] | None, connection: sqlite3.Connection | None
) -> GivenConnection:
    """Open the file, or take the connection: one of the two."""
    if (file is None) == (connection is None):
        raise ValueError("give a file or an open connection")
    if connection is not None:
        return GivenConnection(connection)
    return OwnConnection(file or "")


def idle(cursor: sqlite3.Cursor, key: SessionKey) -> Session:
    """Find a session that no decision runs on."""
    session = find_session(cursor, key.digest)
    if session is None:
        raise DecisionHistoryNotFound
    require_idle(session.reservation)
    return session


def own(cursor: sqlite3.Cursor, reserved: Reserved) -> Session:
    """Find the session that is reserved, unless a recovery freed it meanwhile."""
    session = find_session(cursor, reserved.key.digest)
    if session is None or not is_held(session.reservation, reserved.token):
        raise DecisionHistoryReservationLost
    return session


def free(cursor: sqlite3.Cursor, session: int) -> None:
    """Take a reservation away, and a session that nothing was saved of."""
    cursor.execute(
        "UPDATE lastro_session SET token = NULL, since = NULL, worker = NULL WHERE id = ?", (session,)
    )
    cursor.execute("DELETE FROM lastro_session WHERE id = ? AND saved = 0", (session,))


def swept(cursor: sqlite3.Cursor, session: Session) -> Head | None:
    """Take out what removals took, and the removals (HI-25); give the head after that."""
    removals = removal_rows(cursor, session.id)
    if session.head is None or not removals:
        return session.head
    for removal in removals:
        sweep(cursor, session.id, removal)
    count, held = cursor.execute(
        "SELECT count, bytes FROM lastro_session WHERE id = ?", (session.id,)
    ).fetchone()
    return session.head.with_(count=count, bytes=held)


def sweep(cursor: sqlite3.Cursor, session: int, removal: Row) -> None:
    """Take out one removal and what it took; a trigger keeps the counts."""
    names = removes(removal)
    older = "DELETE FROM lastro_item WHERE session = ? AND kind = 'opaque' AND position < ?"
    if names is None:
        cursor.execute(older, (session, removal.position))
    else:
        cursor.executemany(f"{older} AND name = ?", [(session, removal.position, name) for name in names])
    cursor.execute("DELETE FROM lastro_item WHERE session = ? AND name = ?", (session, removal.id))
