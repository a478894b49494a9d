"""The door to the rows of working memory."""

from agentstate.models import State
from workspaces import locks
from workspaces.scopes import Scope


def find_state(scope: Scope, agent: str) -> State | None:
    """Find the row of a state by one index lookup, which no writer's lock blocks (WM-19)."""
    return State.objects.filter(scope_hash=scope.hash, agent=agent).first()


def lock_state(scope: Scope, agent: str) -> State | None:
    """Wait for the other writers of a state in the order of arrival, then find its row, locked too.

    A row's own lock lets newcomers pass those who wait. The lock of its name does not, and holds before there is a row.
    """
    locks.lock(b"state", scope.hash, agent.encode())
    return State.objects.select_for_update().filter(scope_hash=scope.hash, agent=agent).first()
