"""One connection: opened by the store on a file of its own, or given by a host (HI-7)."""

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from lastro.files import FileUnreachable, FileUnsafe, protected
from lastro.history.errors import DecisionHistoryStorageFailed, DecisionHistoryStorageUnsafe
from lastro.history.stores.sqlite.schema import prepare

WAIT_SECONDS = 5.0
SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA trusted_schema = OFF",
)

_own: "weakref.WeakSet[OwnConnection]" = weakref.WeakSet()


class GivenConnection:
    """A host's open connection; closing and protecting it stay with the host."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection: sqlite3.Connection | None = connection
        self._lock = threading.RLock()
        with self.writing() as cursor:
            prepare(cursor)

    @contextmanager
    def writing(self) -> Generator[sqlite3.Cursor, None, None]:
        """Run one short transaction: all of it, or nothing."""
        with self.reading() as cursor:
            if cursor.connection.in_transaction:
                raise DecisionHistoryStorageFailed("the connection is inside a transaction of its host")
            cursor.execute("BEGIN IMMEDIATE")
            try:
                yield cursor
                cursor.execute("COMMIT")
            except BaseException:
                if cursor.connection.in_transaction:
                    cursor.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Generator[sqlite3.Cursor, None, None]:
        """Give a cursor, and the store's own error for what SQLite could not do."""
        with self._lock:
            try:
                cursor = self._opened().cursor()
                # A host's connection may make other rows than tuples.
                cursor.row_factory = None
                yield cursor
            except sqlite3.Error as error:
                raise failed(error) from None

    @contextmanager
    def reading_once(self) -> Generator[sqlite3.Cursor, None, None]:
        """Give a cursor whose statements all see one state."""
        with self.reading() as cursor:
            if cursor.connection.in_transaction:
                yield cursor
                return
            cursor.execute("BEGIN")
            try:
                yield cursor
            finally:
                cursor.execute("ROLLBACK")

    def close(self) -> None:
        """Let go of the connection; it stays open."""
        with self._lock:
            self._connection = None

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            raise DecisionHistoryStorageFailed("the store is closed")
        return self._connection


class OwnConnection(GivenConnection):
    """A connection to a file of the store's own, opened again in each process that a fork makes."""

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self._file = _protected(file)
        self._closed = False
        super().__init__(connect(self._file))
        _own.add(self)

    def close(self) -> None:
        """Close it for good."""
        with self._lock:
            self._closed = True
            self.rest()

    def rest(self) -> None:
        """Close it until it is asked for again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def before_fork(self) -> None:
        """Close it: SQLite's locks belong to a process, and a child would believe that it holds its parent's."""
        self._lock.acquire()
        self.rest()

    def after_fork_in_parent(self) -> None:
        """Let others in again."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Begin with a lock of its own."""
        self._lock = threading.RLock()

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None and not self._closed:
            self._connection = connect(_protected(self._file))
        return super()._opened()


def _protected(file: str | os.PathLike[str]) -> Path:
    try:
        return protected(file)
    except FileUnsafe as error:
        raise DecisionHistoryStorageUnsafe(str(error)) from None
    except FileUnreachable as error:
        raise DecisionHistoryStorageFailed(str(error)) from None


def connect(file: os.PathLike[str]) -> sqlite3.Connection:
    """Open a file that is protected already."""
    try:
        connection = sqlite3.connect(
            file, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        settle(connection, until=time.monotonic() + WAIT_SECONDS)
    except sqlite3.Error as error:
        raise failed(error) from None
    return connection


def settle(connection: sqlite3.Connection, *, until: float) -> None:
    """Set what holds for a connection; the first turn to WAL does not wait for other openers by itself."""
    try:
        for setting in SETTINGS:
            connection.execute(setting).close()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > until:
            raise
        time.sleep(0.01)
        settle(connection, until=until)


def failed(error: sqlite3.Error) -> DecisionHistoryStorageFailed:
    """Give the store's own error for one of SQLite's, by its name and without its text."""
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    return DecisionHistoryStorageFailed(f"SQLite answered {name}")


class Forks:
    """Closes every store's connection before a fork, and lets parent and child open their own."""

    def __init__(self) -> None:
        self._resting: list[OwnConnection] = []

    def before(self) -> None:
        """Close them, and keep others out."""
        self._resting = list(_own)
        for connection in self._resting:
            connection.before_fork()

    def after_in_parent(self) -> None:
        """Let others in again."""
        for connection in self._resting:
            connection.after_fork_in_parent()

    def after_in_child(self) -> None:
        """Begin with locks of its own."""
        for connection in self._resting:
            connection.after_fork_in_child()


if hasattr(os, "register_at_fork"):
    _forks = Forks()
    os.register_at_fork(
        before=_forks.before,
        after_in_parent=_forks.after_in_parent,
        after_in_child=_forks.after_in_child,
    )
