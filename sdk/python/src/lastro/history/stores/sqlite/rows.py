"""Sessions and items as rows of SQLite, and back."""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from lastro.history.records import Head, Item, Reservation
from lastro.history.stores.appends import Row, without_removed
from lastro.history.stores.encoding import pins_read, pins_written, summary_read, summary_written
from lastro.history.stores.heads import size_of

LEADING, BRANCHES = 1, 2
"""The marks in the column `leading`: an instruction, and an item that does not follow the leaf of its time."""

PAGE = 32
"""Items that are read at once on the way back from a leaf."""

ROW = "i.position, i.name, i.parent, i.kind, i.key, i.provisional, i.recorded_at, i.expires_at, i.leading"
BACKWARDS = f"""
    WITH RECURSIVE path (step, id, parent) AS (
        SELECT 1, id, parent FROM lastro_item WHERE session = ? AND name = ?
        UNION ALL
        SELECT step + 1, i.id, i.parent FROM path JOIN lastro_item i ON i.session = ? AND i.name = path.parent
        WHERE step < ? AND path.parent <> '')
    SELECT {ROW}, i.body FROM path JOIN lastro_item i ON i.id = path.id ORDER BY step"""  # noqa: S608
PATH = """
    WITH RECURSIVE path (id, parent) AS (
        SELECT name, parent FROM lastro_item WHERE session = ? AND name = ?
        UNION ALL
        SELECT i.name, i.parent FROM path JOIN lastro_item i ON i.session = ? AND i.name = path.parent
        WHERE path.parent <> '')
    SELECT id FROM path"""
SELECT = f"SELECT {ROW}, i.body FROM lastro_item i WHERE i.session = ? "  # noqa: S608
SESSION = (
    "SELECT id, saved, last, pins, leaf, count, bytes, summary, conversation, subject, created_at, touched_at, "
    "token, since, worker FROM lastro_session WHERE digest = ?"
)

Reading = Callable[[], AbstractContextManager[sqlite3.Cursor]]


@dataclass(frozen=True, slots=True)
class Session:
    """A session's own row; `head` None while its first decision runs."""

    id: int
    last: int
    head: Head | None
    reservation: Reservation | None


def find_session(cursor: sqlite3.Cursor, digest: str) -> Session | None:
    """Read a session without its items."""
    row = cursor.execute(SESSION, (digest,)).fetchone()
    return None if row is None else session_of(*row)


def session_of(id: int, saved: int, last: int, *rest: Any) -> Session:
    """Give a session from its columns."""
    pins, leaf, count, size, summary, conversation, subject, created_at, touched_at, token, since, worker = (
        rest
    )
    head = Head(
        pins_read(pins),
        leaf,
        count,
        size,
        summary_read(summary),
        conversation,
        subject,
        created_at,
        touched_at,
    )
    reservation = None if token is None else Reservation(token, since, worker)
    return Session(id, last, head if saved else None, reservation)


def make_session(cursor: sqlite3.Cursor, digest: str) -> Session:
    """Make a session that nothing is saved of yet."""
    cursor.execute("INSERT INTO lastro_session (digest) VALUES (?)", (digest,))
    return Session(int(cursor.lastrowid or 0), 0, None, None)


def write_head(cursor: sqlite3.Cursor, session: int, head: Head, *, last: int) -> None:
    """Write what a session's head is now."""
    cursor.execute(
        "UPDATE lastro_session SET saved = 1, last = ?, size = ?, pins = ?, leaf = ?, count = ?, bytes = ?,"
        " summary = ?, conversation = ?, subject = ?, created_at = ?, touched_at = ? WHERE id = ?",
        (
            last,
            size_of(head),
            pins_written(head.pins),
            head.leaf,
            head.count,
            head.bytes,
            summary_written(head.summary),
            head.conversation,
            head.subject,
            head.created_at,
            head.touched_at,
            session,
        ),
    )


def write_rows(cursor: sqlite3.Cursor, session: int, rows: Iterable[Row]) -> None:
    """Add items."""
    cursor.executemany(
        "INSERT INTO lastro_item (session, position, name, parent, kind, key, provisional, recorded_at, expires_at,"
        " leading, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                session,
                row.position,
                row.id,
                row.parent,
                row.kind,
                row.key,
                row.provisional,
                row.recorded_at,
                row.expires_at,
                row.leading * LEADING | row.branches * BRANCHES,
                row.body,
            )
            for row in rows
        ),
    )


def row_of(*columns: Any) -> Row:
    """Give an item from its columns."""
    position, id, parent, kind, key, provisional, recorded_at, expires_at, leading, body = columns
    return Row(
        position,
        id,
        parent,
        kind,
        key,
        bool(provisional),
        recorded_at,
        expires_at,
        bool(leading & LEADING),
        bytes(body),
        bool(leading & BRANCHES),
    )


def all_rows(
    cursor: sqlite3.Cursor, session: int, *, where: str = "", given: Sequence[object] = ()
) -> list[Row]:
    """Read items in the order of storing."""
    found = cursor.execute(f"{SELECT}{where} ORDER BY i.position", (session, *given))
    return [row_of(*columns) for columns in found]


def removal_rows(cursor: sqlite3.Cursor, session: int) -> list[Row]:
    """Read the removals that are not swept yet."""
    return all_rows(cursor, session, where="AND i.kind = 'removal'")


def page_back(cursor: sqlite3.Cursor, session: int, leaf: str, *, size: int = PAGE) -> list[Row]:
    """Read some items on the way from a leaf to the root."""
    found = cursor.execute(BACKWARDS, (session, leaf, session, size))
    return [row_of(*columns) for columns in found]


@dataclass(frozen=True, slots=True)
class SessionRows:
    """What an append asks of a session, inside the transaction that saves it."""

    cursor: sqlite3.Cursor
    session: int

    def row(self, id: str) -> Row | None:
        """Give an item by its id, without its message."""
        columns = self.cursor.execute(
            f"SELECT {ROW}, zeroblob(0) FROM lastro_item i WHERE i.session = ? AND i.name = ?",  # noqa: S608
            (self.session, id),
        ).fetchone()
        return None if columns is None else row_of(*columns)

    def keyed(self, key: str) -> Sequence[Row]:
        """Give the items of a dedupe key in their order."""
        return all_rows(self.cursor, self.session, where="AND i.key <> '' AND i.key = ?", given=(key,))


@dataclass(frozen=True, slots=True)
class SqliteView:
    """A session as it was when the operation began; its items are read when asked for, in pages."""

    head: Head
    session: int
    reading: Reading

    def backwards(self, leaf: str) -> Iterator[Item]:
        """Give the items from a leaf to the root, newest first."""
        while leaf:
            with self.reading() as cursor:
                rows = page_back(cursor, self.session, leaf)
            yield from (row.item() for row in rows)
            leaf = rows[-1].parent if rows else ""

    def instructions(self) -> Sequence[Item]:
        """Give the instructions, of all branches."""
        with self.reading() as cursor:
            marked = all_rows(cursor, self.session, where="AND i.leading > 0")
        return [row.item() for row in marked if row.leading]

    def on_path(self, ids: Collection[str], leaf: str) -> Set[str]:
        """Give those of these items that are between a leaf and the root."""
        with self.reading() as cursor:
            session = SessionRows(cursor, self.session)
            marked = all_rows(cursor, self.session, where="AND i.leading > 0")
            if any(row.branches for row in marked):
                found = cursor.execute(PATH, (self.session, leaf, self.session))
                return set(ids).intersection(name for (name,) in found)
            last = session.row(leaf)
            found_at = {row.id: row.position for row in marked}
        return {id for id in ids if last is not None and found_at.get(id, 0) <= last.position}

    def known(self, key: str) -> Sequence[Item]:
        """Give the items of a dedupe key."""
        with self.reading() as cursor:
            return [row.item() for row in SessionRows(cursor, self.session).keyed(key)]

    def opaque(self) -> Iterator[Item]:
        """Give the opaque items that no removal took, newest first."""
        return (row.item() for row in without_removed(self._beside()))

    def _beside(self) -> Iterator[Row]:
        before = 2**62
        while before:
            with self.reading() as cursor:
                rows = [
                    row_of(*columns)
                    for columns in cursor.execute(
                        f"{SELECT} AND i.kind IN ('opaque', 'removal') AND i.position < ?"
                        " ORDER BY i.position DESC LIMIT ?",
                        (self.session, before, PAGE),
                    )
                ]
            yield from rows
            before = rows[-1].position if len(rows) == PAGE else 0
