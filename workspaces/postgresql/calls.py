"""One round trip: a database function that binds its own transaction, called by a prepared statement (PL-1, WM-19)."""

import select
from collections.abc import Sequence
from typing import Any

import psycopg
from django.db import OperationalError, connection


class NotSent(OperationalError):
    """No connection could be made: nothing was asked."""


def ask(statement: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Run a statement as a transaction of its own, or inside the one that is open.

    Raises NotSent where no connection can be made, django.db.OperationalError where the database does not answer, and
    its relatives.
    """
    raw = _ready()
    with connection.wrap_database_errors:
        cursor = psycopg.Cursor(raw)
        try:
            cursor.execute(statement, parameters, prepare=True, binary=True)
            rows = cursor.fetchall()
        finally:
            connection.was_told_elsewhere()  # type: ignore[attr-defined]
            if cursor.connection.closed and not connection.in_atomic_block:
                connection.close()
    return rows


def _ready() -> Any:
    """Give the connection, made anew where the server has closed it since the last request."""
    try:
        connection.ensure_connection()
        if not connection.in_atomic_block and _was_closed(connection.connection):
            connection.close()
            connection.ensure_connection()
    except OperationalError as error:
        raise NotSent from error
    return connection.connection


def _was_closed(raw: Any) -> bool:
    # Between two statements the server has nothing to say but that it ends.
    return bool(raw.closed or select.select([raw.fileno()], [], [], 0)[0])
