"""A connection tells the database the bound workspace, for the transaction alone, when a statement needs it (PL-1).

Row-level security compares `lastro.workspace` with the rows. It is set by `set_config(..., true)`, which ends with the
transaction, in the same message as the first statement that runs under another workspace than the one before: that
costs no round trip, and what is sent outside a transaction is one of its own.
"""

from collections.abc import Callable
from typing import Any

import psycopg
from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus

from workspaces.binding import bound_text
from workspaces.postgresql.patience import PatientConnection, connect

_UNKNOWN = "?"


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's, with the binding."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._told = ""
        # As whom the application logs in, while the owner does (workspaces.postgresql.roles).
        self.application: dict[str, Any] = {}
        self.execute_wrappers.append(self._run_bound)

    def connect(self) -> None:
        self._told = ""
        super().connect()

    def _commit(self) -> None:
        self._told = ""
        super()._commit()  # type: ignore[misc]

    def _rollback(self) -> None:
        self._told = ""
        super()._rollback()  # type: ignore[misc]

    def _set_autocommit(self, autocommit: bool) -> None:  # noqa: FBT001  (Django's signature)
        self._told = ""
        super()._set_autocommit(autocommit)  # type: ignore[misc]

    def _savepoint_rollback(self, sid: str) -> None:
        super()._savepoint_rollback(sid)  # type: ignore[misc]
        # The database is back at what it was told before the savepoint.
        self._told = _UNKNOWN

    def was_told_elsewhere(self) -> None:
        """Forget what the transaction was told: a database function has bound it itself."""
        self._told = _UNKNOWN if self.in_atomic_block else ""

    def get_new_connection(self, conn_params: dict[str, Any]) -> PatientConnection:
        """Connect so that statements can be given a time within which they must be answered (WM-19)."""
        self.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        return connect(conn_params)

    def _run_bound(
        self,
        execute: Callable[..., Any],
        sql: Any,
        params: Any,
        many: bool,  # noqa: FBT001  (Django's order)
        context: dict[str, Any],
    ) -> Any:
        """Run a statement under the workspace that is bound now."""
        wanted = bound_text()
        if wanted == self._told or self._is_broken():
            return execute(sql, params, many, context)
        told, self._told = _telling(wanted), _UNKNOWN
        cursor = context["cursor"].cursor
        if many or isinstance(cursor, psycopg.ServerCursor) or not _is_composed_here(cursor, sql):
            result = self._run_after(told, execute, sql, params, many, context)
        else:
            result = execute(f"{told}; {sql}", params, many, context)
            cursor.nextset()
        self._told = "" if self._is_alone() else wanted
        return result

    def _run_after(self, told: str, execute: Callable[..., Any], *arguments: Any) -> Any:
        """Tell the database in a message before the statement, both in one transaction."""
        with self.wrap_database_errors:
            if not self._is_alone():
                self.connection.execute(told)
                return execute(*arguments)
            with self.connection.transaction():
                self.connection.execute(told)
                return execute(*arguments)

    def _is_alone(self) -> bool:
        """Tell whether each statement is a transaction of its own."""
        return bool(self.connection.autocommit)

    def _is_broken(self) -> bool:
        """Tell whether the transaction takes nothing any more but its end."""
        status: TransactionStatus = self.connection.info.transaction_status
        return status == TransactionStatus.INERROR


def _telling(workspace: str) -> str:
    return f"SELECT set_config('lastro.workspace', '{workspace}', true)"


def _is_composed_here(cursor: Any, sql: Any) -> bool:
    """Tell whether the statement goes out as text, with its values in it: only then two fit into one message."""
    return isinstance(sql, str) and isinstance(cursor, psycopg.ClientCursor)
