"""A dump of the content database, restored beside it, as a backup from before would be."""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import msgspec
from django.conf import settings
from django.db import connections
from psycopg import sql

from agentstate.types import StateRow
from console.embedded.binaries import installed
from tests.database import logged_in
from tests.server import database_urls_of_tests
from workspaces import signing


class Restored(msgspec.Struct, frozen=True):
    """The content database as it was when it was dumped; the keys' database is the live one."""

    name: str

    @property
    def environment(self) -> Mapping[str, str]:
        """Give the variables of a server or a command on it."""
        content = {"DATABASE_URL": _url(self.name), "DATABASE_OWNER_URL": _url(self.name, owner=True)}
        return {**os.environ, **database_urls_of_tests(), **content}

    def rows(self, statement: Any, *values: Any) -> list[Any]:
        """Ask it as the owner of its tables."""
        with logged_in("default", owner=True, dbname=self.name) as owner:
            return owner.execute(statement, values or None).fetchall()

    def state(self, state_id: UUID) -> StateRow:
        """Read the row of a state, without its fields' times."""
        columns = "id, scope_kind, hash_key_id, version, epoch, body, data_key_id, handle_id, created_at"
        columns += ", updated_at, due_at"
        ((row),) = self.rows(f"SELECT {columns} FROM agentstate_state WHERE id = %s", state_id)  # noqa: S608
        return StateRow(**dict(zip(columns.split(", "), row, strict=True)))


@contextmanager
def restored_dump() -> Iterator[Restored]:
    """Dump the content database and restore it beside itself; drop it at the end.

    Its deployment has signed something before: a dump from before that does not know the key of what it is told.
    """
    signing.public_keys_with_current()
    name = f"restored_{uuid4().hex[:12]}"
    programs = installed().postgres / "bin"
    source = _url(str(connections["default"].settings_dict["NAME"]), owner=True)
    save = [str(programs / "pg_dump"), "-Fc", "-d", source]
    dump = subprocess.run(save, check=True, capture_output=True).stdout
    with logged_in("default", owner=True) as owner:
        owner.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
    try:
        restore = [str(programs / "pg_restore"), "--exit-on-error", "-d", _url(name, owner=True)]
        subprocess.run(restore, input=dump, check=True, capture_output=True)
        yield Restored(name)
    finally:
        with logged_in("default", owner=True) as owner:
            _until_alone(owner, name)
            owner.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _until_alone(owner: Any, name: str) -> None:
    """Wait until the connections of processes that were killed have ended: the owner may not end another's."""
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
    deadline = time.monotonic() + 10
    while owner.execute(others, [name]).fetchone()[0] and time.monotonic() < deadline:
        time.sleep(0.05)


def _url(name: str, *, owner: bool = False) -> str:
    place = connections["default"].settings_dict
    role: Any = settings.LASTRO_DATABASE_OWNERS["default"] if owner else place
    host = place["OPTIONS"].get("host") or place["HOST"]
    port = f":{place['PORT']}" if place["PORT"] else ""
    at, query = ("", f"?host={quote(host, safe='')}") if host.startswith("/") else (host + port, "")
    return f"postgresql://{quote(role['USER'])}:{quote(role['PASSWORD'])}@{at}/{name}{query}"
