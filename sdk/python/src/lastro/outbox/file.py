"""An outbox in a SQLite file: what waits outlives the process, and several processes may share it (SD-4)."""

import os
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lastro.errors import OutboxUnavailable, OutboxUnsafe
from lastro.files import FileUnreachable, FileUnsafe, protected
from lastro.outbox.contract import (
    LONGEST_DUE_SECONDS,
    MAX_BYTES,
    MAX_REFUSED,
    MAX_WRITES,
    Entry,
    require_room,
)
from lastro.states.types import Conflict, StateName
from lastro.states.writes import Write, conflict_of

OPEN_SECONDS = 10.0
BUSY_MILLISECONDS = 1_000
"""How long to wait for another process: at the opening, and within a call."""
SCHEMA = """
CREATE TABLE IF NOT EXISTS writes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    account TEXT NOT NULL,
    scope_kind TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,
    written_at REAL NOT NULL,
    raw BLOB,
    size INTEGER NOT NULL,
    if_version INTEGER,
    born INTEGER NOT NULL,
    born_by TEXT NOT NULL,
    predicted INTEGER,
    epoch TEXT NOT NULL,
    due_at REAL NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    is_asked INTEGER NOT NULL DEFAULT 0,
    claimed_until REAL NOT NULL DEFAULT 0,
    refused TEXT,
    request_id TEXT
);
CREATE INDEX IF NOT EXISTS writes_of_a_state ON writes (account, scope_kind, scope_id, agent, number);
"""
COLUMNS = (
    "scope_kind, scope_id, agent, kind, key, written_at, raw, if_version, born, born_by, predicted, epoch"
)
STATE = "account = ? AND scope_kind = ? AND scope_id = ? AND agent = ?"
DUE = "(due_at <= :now OR due_at > :late) AND (claimed_until <= :now OR claimed_until > :late)"
FIRST = """refused IS NULL AND NOT EXISTS (
    SELECT 1 FROM writes AS earlier WHERE earlier.account = writes.account AND earlier.refused IS NULL
    AND earlier.scope_kind = writes.scope_kind AND earlier.scope_id = writes.scope_id
    AND earlier.agent = writes.agent AND earlier.number < writes.number)"""

_abandoned: list[sqlite3.Connection] = []
"""Connections of a parent process, which its child may neither use nor close."""
_locks: defaultdict[Path, threading.RLock] = defaultdict(threading.RLock)
"""One lock per file: closing any descriptor of a file lets go of every lock that the process has on it."""


def _hold_files() -> None:
    """Let no fork happen within a change of a file: the child would undo it."""
    for lock in _locks.values():
        lock.acquire()


def _let_go() -> None:
    for lock in _locks.values():
        lock.release()


os.register_at_fork(before=_hold_files, after_in_parent=_let_go, after_in_child=_locks.clear)


class FileOutbox:
    """Keeps writes in the file `path`, at most `max_writes` of together `max_bytes` (see Outbox for the methods).

    The file is for its owner alone (0600); links and folders that others can write are refused with OutboxUnsafe. It
    holds what the writes say, unmasked, until they are delivered; what was delivered is overwritten. Writes go out
    under the account they were made for: by default the base URL and the key, so that no other workspace gets them.
    Name the `account` yourself if writes are to outlive a change of keys. Where the file fails: OutboxUnavailable.
    """

    is_durable = True

    def __init__(
        self,
        path: str | Path,
        *,
        account: str | None = None,
        max_writes: int = MAX_WRITES,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._path, self._account = Path(path).absolute(), account
        self._is_named = account is not None
        self._max_writes, self._max_bytes = max_writes, max_bytes
        self._lock = _locks[self._path]
        self._connection: sqlite3.Connection | None = None
        with self._transaction() as connection:
            connection.execute("SELECT 1 FROM writes LIMIT 1")

    def bind(self, account: str) -> None:
        """Take the account of the client, unless one was named."""
        if not self._is_named:
            self._account = account

    def add(self, write: Write, *, due_at: float, is_asked: bool = False) -> None:
        """Keep a write behind the others of its state."""
        with self._transaction() as connection:
            counted = "SELECT count(*), coalesce(sum(size), 0) FROM writes WHERE refused IS NULL"
            writes, size = connection.execute(counted).fetchone()
            require_room(
                writes=writes,
                size=size,
                more=write.size,
                max_writes=self._max_writes,
                max_bytes=self._max_bytes,
            )
            marks = ", ".join("?" * 16)
            connection.execute(
                f"INSERT INTO writes (account, due_at, is_asked, size, {COLUMNS}) VALUES ({marks})",  # noqa: S608
                (self._account, due_at, is_asked, write.size, *_columns(write)),
            )

    def waiting(self, name: StateName) -> tuple[Write, ...]:
        """Give the writes of a state that wait, in order."""
        rows = self._rows(
            f"SELECT {COLUMNS} FROM writes WHERE {STATE} AND refused IS NULL ORDER BY number",  # noqa: S608
            name,
        )
        return tuple(_write(row) for row in rows)

    def claim(self, name: StateName, *, now: float, until: float) -> Entry | None:
        """Claim the first write of a state, if it is due and nobody has it, in this process or another."""
        with self._transaction() as connection:
            row = connection.execute(
                f"SELECT number, tries, due_at, claimed_until, {COLUMNS} FROM writes"  # noqa: S608
                f" WHERE {STATE} AND refused IS NULL ORDER BY number LIMIT 1",
                (self._account, *_names(name)),
            ).fetchone()
            if row is None or any(now < time <= now + LONGEST_DUE_SECONDS for time in row[2:4]):
                return None
            connection.execute("UPDATE writes SET claimed_until = ? WHERE number = ?", (until, row[0]))
        return Entry(row[0], _write(row[4:]), row[1])

    def remove(self, number: int, *, behind: str = "", with_bodies: bool = True) -> None:
        """End a write that was stored."""
        with self._transaction() as connection:
            _refuse_behind(connection, number, code=behind, with_body=with_bodies)
            connection.execute("DELETE FROM writes WHERE number = ? AND refused IS NULL", (number,))

    def retry(self, number: int, *, due_at: float, is_asked: bool) -> None:
        """Give a claimed write back until a later time."""
        self._change(
            "UPDATE writes SET due_at = ?, is_asked = ?, claimed_until = 0, tries = tries + 1 WHERE number = ?",
            (due_at, is_asked, number),
        )

    def refuse(
        self, number: int, *, code: str, request_id: str | None, with_body: bool, behind: str = ""
    ) -> None:
        """End a write that was refused, and keep what became of it."""
        oldest = "SELECT number FROM writes WHERE refused IS NOT NULL ORDER BY number DESC LIMIT -1 OFFSET ?"
        with self._transaction() as connection:
            _refuse_behind(connection, number, code=behind, with_body=with_body)
            connection.execute(
                "UPDATE writes SET refused = ?, request_id = ?, raw = iif(?, raw, NULL)"
                " WHERE number = ? AND refused IS NULL",
                (code, request_id, with_body, number),
            )
            connection.execute(f"DELETE FROM writes WHERE number IN ({oldest})", (MAX_REFUSED,))  # noqa: S608

    def conflicts(self, name: StateName) -> tuple[Conflict, ...]:
        """Give the refused writes of a state, the oldest first."""
        rows = self._rows(
            f"SELECT {COLUMNS}, refused, request_id FROM writes"  # noqa: S608
            f" WHERE {STATE} AND refused IS NOT NULL ORDER BY number",
            name,
        )
        return tuple(
            conflict_of(_write(row[:12]), code=row[12], request_id=row[13], with_body=row[6] is not None)
            for row in rows
        )

    def dismiss(self, name: StateName) -> None:
        """Forget the refused writes of a state."""
        self._change(
            f"DELETE FROM writes WHERE {STATE} AND refused IS NOT NULL",  # noqa: S608
            (self._account, *_names(name)),
        )

    def due(self, *, now: float) -> tuple[StateName, ...]:
        """Give the states whose first write can be claimed now."""
        with self._transaction() as connection:
            rows = connection.execute(
                f"SELECT scope_kind, scope_id, agent FROM writes WHERE account = :account AND {FIRST} AND {DUE}",  # noqa: S608
                {"account": self._account, "now": now, "late": now + LONGEST_DUE_SECONDS},
            ).fetchall()
        return tuple(StateName(*row) for row in rows)

    def next_due(self) -> float | None:
        """Give when the next write is due, claimed or not; none where nothing waits."""
        query = f"SELECT min(max(due_at, claimed_until)) FROM writes WHERE account = ? AND {FIRST}"  # noqa: S608
        with self._transaction() as connection:
            found: float | None = connection.execute(query, (self._account,)).fetchone()[0]
        return found

    def hurry(self, *, now: float) -> None:
        """Make every write due whose time the server did not name."""
        self._change(
            "UPDATE writes SET due_at = min(due_at, ?) WHERE account = ? AND refused IS NULL AND NOT is_asked",
            (now, self._account),
        )

    def count(self) -> int:
        """Give how many writes wait."""
        query = "SELECT count(*) FROM writes WHERE account = ? AND refused IS NULL"
        with self._transaction() as connection:
            found: int = connection.execute(query, (self._account,)).fetchone()[0]
        return found

    def in_child(self) -> None:
        """Open the file anew: the parent's connection is neither used nor closed."""
        self._lock = _locks[self._path]
        if self._connection is not None:
            _abandoned.append(self._connection)
            self._connection = None

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _rows(self, query: str, name: StateName) -> Sequence[Any]:
        with self._transaction() as connection:
            return connection.execute(query, (self._account, *_names(name))).fetchall()

    def _change(self, statement: str, values: Sequence[Any]) -> None:
        with self._transaction() as connection:
            connection.execute(statement, values)

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        """Hold the file alone, among threads and processes, and keep all of a change or nothing."""
        with self._lock:
            try:
                connection = self._connection or self._open()
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.Error:
                raise OutboxUnavailable from None
            try:
                yield connection
                connection.execute("COMMIT")
            except sqlite3.Error:
                connection.rollback()
                raise OutboxUnavailable from None
            except BaseException:
                connection.rollback()
                raise

    def _open(self) -> sqlite3.Connection:
        _protect(self._path)
        connection = sqlite3.connect(
            self._path, timeout=OPEN_SECONDS, isolation_level=None, check_same_thread=False
        )
        # A rollback journal, since a write-ahead log keeps what was overwritten until its next checkpoint.
        connection.executescript(
            f"PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; {SCHEMA}"
            f"PRAGMA busy_timeout = {BUSY_MILLISECONDS};"
        )
        self._connection = connection
        return connection


def _protect(path: Path) -> None:
    try:
        protected(path)
    except FileUnsafe as error:
        raise OutboxUnsafe(str(error)) from None
    except FileUnreachable as error:
        raise OutboxUnavailable(str(error)) from None


def _refuse_behind(connection: sqlite3.Connection, number: int, *, code: str, with_body: bool) -> None:
    """Refuse the later writes of the same state that hold at a version only, while the first one still waits."""
    state = "account, scope_kind, scope_id, agent"
    same = f"({state}) = (SELECT {state} FROM writes WHERE number = ? AND refused IS NULL)"  # noqa: S608
    if code:
        connection.execute(
            f"UPDATE writes SET refused = ?, raw = iif(?, raw, NULL) WHERE {same}"  # noqa: S608
            " AND number > ? AND refused IS NULL AND if_version IS NOT NULL",
            (code, with_body, number, number),
        )


def _names(name: StateName) -> tuple[str, str, str]:
    return name.kind, name.id, name.agent


def _columns(write: Write) -> tuple[Any, ...]:
    made = (write.kind, write.key, write.written_at, write.raw, write.if_version)
    return (*_names(write.name), *made, write.born, write.born_by, write.predicted, write.epoch)


def _write(row: Sequence[Any]) -> Write:
    kind, key, written_at, raw, if_version, born, born_by, predicted, epoch = row[3:12]
    return Write(
        name=StateName(*row[:3]),
        kind=kind,
        key=key,
        written_at=written_at,
        raw=raw or b"{}",
        if_version=if_version,
        born=born,
        born_by=born_by,
        predicted=predicted,
        epoch=epoch,
    )
