"""Locks on names, held until the transaction ends. Who waits is served in the order of arrival."""

import hashlib
from typing import Any

from django.db import connection

from workspaces.models.tenancy import bound_workspace_id


def lock(*name: bytes) -> None:
    """Take the lock of a name of the bound workspace alone."""
    _take("pg_advisory_xact_lock", name)


def lock_shared(*name: bytes) -> None:
    """Take the lock of a name of the bound workspace together with others who share it."""
    _take("pg_advisory_xact_lock_shared", name)


def try_lock(*name: bytes) -> bool:
    """Take the lock of a name alone if nobody has it; tell whether it was taken."""
    return bool(_take("pg_try_advisory_xact_lock", name))


def number(*name: bytes) -> int:
    """Give the number by which the database knows the lock of a name of the bound workspace."""
    whole = b"\x00".join((bound_workspace_id().bytes, *name))
    return int.from_bytes(hashlib.sha256(whole).digest()[:8], signed=True)


def _take(function: str, name: tuple[bytes, ...]) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s)", [number(*name)])
        return cursor.fetchone()[0]
