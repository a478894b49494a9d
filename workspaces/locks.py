"""Locks on names, held until the transaction ends. Who waits is served in the order of arrival."""

import hashlib

from django.db import connection

from workspaces.binding import bound_workspace_id


def lock(*name: bytes) -> None:
    """Take the lock of a name of the bound workspace alone."""
    _take("pg_advisory_xact_lock", name)


def lock_shared(*name: bytes) -> None:
    """Take the lock of a name of the bound workspace together with others who share it."""
    _take("pg_advisory_xact_lock_shared", name)


def _take(function: str, name: tuple[bytes, ...]) -> None:
    whole = b"\x00".join((bound_workspace_id().bytes, *name))
    number = int.from_bytes(hashlib.sha256(whole).digest()[:8], signed=True)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s)", [number])
