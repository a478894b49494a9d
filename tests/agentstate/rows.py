"""The rows of working memory as they stand in the database, for what no answer tells."""

from typing import Any
from uuid import UUID

from agentstate.encryption import open_body
from agentstate.models import State
from workspaces import access
from workspaces.models import WrappedKey
from workspaces.scopes import scope_of
from workspaces.services.encryption import destroy_retired_keys
from workspaces.types import WorkspaceRef


def row_of(workspace: WorkspaceRef, scope: dict[str, str], agent: str = "order-taker") -> State:
    """Give the row of a state, alive or a tombstone."""
    with access.bound(workspace.id):
        return State.objects.get(scope_hash=scope_of(workspace, **scope).hash, agent=agent)


def row_count(workspace: WorkspaceRef) -> int:
    """Count the rows of a workspace, tombstones too."""
    with access.bound(workspace.id):
        return State.objects.count()


def stored_body(workspace: WorkspaceRef, scope: dict[str, str], agent: str = "order-taker") -> dict[str, Any]:
    """Open what a row holds, past every rule about what is served."""
    row = row_of(workspace, scope, agent)
    with access.bound(workspace.id):
        body, _ = open_body(workspace, row)
    return body


def wrapping_key(workspace: WorkspaceRef, key_id: UUID | None) -> UUID | None:
    """Give the id of the key that wraps a key; none when there is no such key any more.

    In a test whose transaction never ends, keys go when the worker's task is asked for them, and not on commit.
    """
    with access.bound(workspace.id):
        destroy_retired_keys(workspace=workspace)
        found = WrappedKey.objects.filter(id=key_id).first() if key_id else None
    return found.wrapped_by if found else None
