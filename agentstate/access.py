"""The door to the rows of working memory."""

import hashlib

from django.db import connection

from agentstate.models import State
from workspaces.models.tenancy import bound_workspace_id
from workspaces.scopes import Scope


def find_state(scope: Scope, agent: str) -> State | None:
    """Find the row of a state by one index lookup, which no writer's lock blocks (WM-19)."""
    return State.objects.filter(scope_hash=scope.hash, agent=agent).first()


def lock_state(scope: Scope, agent: str) -> State | None:
    """Wait for the other writers of a state in the order of arrival, then find its row, locked too.

    A row's own lock lets newcomers pass those who wait. The lock of its name does not, and holds before there is a row.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_lock_number(scope, agent)])
    return State.objects.select_for_update().filter(scope_hash=scope.hash, agent=agent).first()


def _lock_number(scope: Scope, agent: str) -> int:
    name = b"".join((bound_workspace_id().bytes, scope.hash, agent.encode()))
    return int.from_bytes(hashlib.sha256(name).digest()[:8], signed=True)
