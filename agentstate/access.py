"""The door to the rows of working memory."""

from datetime import datetime

from agentstate.models import State
from workspaces import locks
from workspaces.access import workspaces_with
from workspaces.scopes import Scope
from workspaces.types import WorkspaceRef


def find_state(scope: Scope, agent: str) -> State | None:
    """Find the row of a state by one index lookup, which no writer's lock blocks (WM-19)."""
    return State.objects.filter(scope_hash=scope.hash, agent=agent).first()


def lock_state(scope: Scope, agent: str) -> State | None:
    """Wait for the other writers of a state in the order of arrival, then find its row, locked too.

    A row's own lock lets newcomers pass those who wait. The lock of its name does not, and holds before there is a row.
    """
    locks.lock(b"state", scope.hash, agent.encode())
    return State.objects.select_for_update().filter(scope_hash=scope.hash, agent=agent).first()


def workspaces_with_due_states(now: datetime) -> list[WorkspaceRef]:
    """List the workspaces in which rows are due or were written under older object types (PR-20)."""
    return workspaces_with("lastro_with_due_states", now)
