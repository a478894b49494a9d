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
    """Find the row of a state and lock it until the transaction ends; where there is none, lock its name."""
    return _locked_row(scope, agent) or _locked_row_after_name(scope, agent)


def _locked_row_after_name(scope: Scope, agent: str) -> State | None:
    """Wait for another first write of the same state, then look again."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_lock_number(scope, agent)])
    return _locked_row(scope, agent)


def _locked_row(scope: Scope, agent: str) -> State | None:
    return State.objects.select_for_update().filter(scope_hash=scope.hash, agent=agent).first()


def _lock_number(scope: Scope, agent: str) -> int:
    name = b"".join((bound_workspace_id().bytes, scope.hash, agent.encode()))
    return int.from_bytes(hashlib.sha256(name).digest()[:8], signed=True)
