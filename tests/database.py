"""What tests ask a database itself, past the managers: what its catalogue says, and rows under a workspace or none."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import psycopg
from django.conf import settings
from django.db import connections

ALIASES = ("default", "keys")

_TABLES = """
SELECT c.relname, c.relrowsecurity,
    EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid),
    EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'workspace_id' AND a.attnotnull),
    pg_get_userbyid(c.relowner) = current_user
FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
"""


class Table(msgspec.Struct, frozen=True):
    """A table as the catalogue describes it to the role that asks."""

    name: str
    row_security: bool
    policy: bool
    workspace: bool
    own: bool


def tables(alias: str) -> list[Table]:
    """List the tables of a database."""
    return [Table(*row) for row in rows(alias, _TABLES)]


def rows(alias: str, statement: Any, *values: Any) -> list[Any]:
    """Ask over the connection of the test, under whatever it is bound to."""
    with connections[alias].cursor() as cursor:
        cursor.execute(statement, values or None)
        return list(cursor.fetchall())


@contextmanager
def logged_in(alias: str, *, owner: bool = False, **change: str) -> Iterator[psycopg.Connection[Any]]:
    """Log in apart from the test's own connection, as the application's role or the owner of the tables."""
    place = connections[alias].settings_dict
    chosen: Any = settings.LASTRO_DATABASE_OWNERS[alias] if owner else place
    parts = {"user": chosen["USER"], "password": chosen["PASSWORD"], "dbname": place["NAME"]}
    where = {"host": place["OPTIONS"].get("host") or place["HOST"], "port": place["PORT"] or 5432}
    with psycopg.connect(**{**parts, **where, **change}, autocommit=True) as connection:
        yield connection
