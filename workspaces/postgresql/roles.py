"""Two roles for each database: the owner, who migrates it, and the application's, for whom row-level security holds."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from psycopg import sql

LOG_IN = ("HOST", "PORT", "USER", "PASSWORD", "OPTIONS")

# The owner's functions answer across workspaces: nobody may call one but who is let in.
_SHUT = "ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC"
_LET_IN = (
    "GRANT USAGE ON SCHEMA public TO {role}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}",
    "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {role}",
    "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO {role}",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role}",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO {role}",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT EXECUTE ON FUNCTIONS TO {role}",
)
# What is refused again, to whom it was granted with all the rest: by the trigger that marks a table, the privileges.
_REFUSED = {"append_only_table": "UPDATE, DELETE, TRUNCATE", "base_is_kept": "DELETE, TRUNCATE"}
_MARKED = "SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname = %s"
# Functions of the owner for the owner alone, such as the one that removes the beginning of an audit (PR-22).
_MAINTENANCE = r"SELECT oid::regprocedure::text FROM pg_proc WHERE proname LIKE 'lastro\_maintain\_%'"
_OWNS = "SELECT EXISTS (SELECT 1 FROM pg_class WHERE relowner = current_user::regrole AND relkind = 'r')"
_IS_ABOVE = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"


@contextmanager
def owning(connection: Any) -> Iterator[str | None]:
    """Be the owner of a database until the block ends; give the application's role, or None where it is the owner."""
    owner = settings.LASTRO_DATABASE_OWNERS[connection.alias]
    if connection.application or owner is None or owner["USER"] == connection.settings_dict["USER"]:
        yield connection.application.get("USER")
        return
    connection.application = {name: connection.settings_dict[name] for name in LOG_IN}
    _log_in(connection, owner)
    try:
        yield connection.application["USER"]
    finally:
        _log_in(connection, connection.application)
        connection.application = {}


def let_in(connection: Any, role: str) -> None:
    """Let the application's role work on what the owner makes, now and later, and only append to the audit (PR-22)."""
    name = sql.Identifier(role)
    with connection.cursor() as cursor:
        cursor.execute(_SHUT)
        for statement in _LET_IN:
            cursor.execute(sql.SQL(statement).format(role=name))
        for trigger, privileges in _REFUSED.items():
            cursor.execute(_MARKED, [trigger])
            for (table,) in cursor.fetchall():
                refused = f"REVOKE {privileges} ON {{table}} FROM {{role}}"
                cursor.execute(sql.SQL(refused).format(table=sql.Identifier(table), role=name))
        cursor.execute(_MAINTENANCE)
        for (function,) in cursor.fetchall():
            refused = f"REVOKE EXECUTE ON FUNCTION {function} FROM {{role}}"
            cursor.execute(sql.SQL(refused).format(role=name))


def is_isolated(connection: Any) -> bool:
    """Tell whether row-level security holds for who is connected: not for an owner, nor for a superuser."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT ({_OWNS}) OR ({_IS_ABOVE})")
        return not cursor.fetchone()[0]


def _log_in(connection: Any, role: dict[str, Any]) -> None:
    connection.close()
    connection.settings_dict.update({name: role[name] for name in LOG_IN if name in role})
