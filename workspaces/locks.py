"""Locks on names, held until the transaction ends. Who waits is served in the order of arrival.

The database knows a lock by a number, which database functions of ours take too.
"""

import hashlib
from typing import Any

from django.db import connection

from workspaces.binding import bound_workspace_id


def number(*name: bytes) -> int:
    """Give the number of a name of the bound workspace."""
    return global_number(b"\x00".join((bound_workspace_id().bytes, *name)))


def global_number(name: bytes) -> int:
    """Give the number of a name that no other workspace has."""
    return int.from_bytes(hashlib.sha256(name).digest()[:8], signed=True)


def lock(number: int) -> None:
    """Take a lock alone."""
    _take("pg_advisory_xact_lock", number)


def lock_shared(number: int) -> None:
    """Take a lock together with others who share it."""
    _take("pg_advisory_xact_lock_shared", number)


def try_lock(number: int) -> bool:
    """Take a lock alone if nobody has it; tell whether it was taken."""
    return bool(_take("pg_try_advisory_xact_lock", number))


def _take(function: str, number: int) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s)", [number])
        return cursor.fetchone()[0]
