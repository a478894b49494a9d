"""To which workspace this thread of work is bound (PL-1)."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from uuid import UUID

_bound: ContextVar[UUID | None] = ContextVar("bound_workspace", default=None)


class WorkspaceNotBound(RuntimeError):
    """Tenant data was asked for outside `bound`, or of another workspace than the bound one."""


@contextmanager
def bound(workspace_id: UUID) -> Iterator[None]:
    """Bind this thread of work to one workspace until the block ends."""
    token = _bound.set(workspace_id)
    try:
        yield
    finally:
        _bound.reset(token)


def bound_workspace_id() -> UUID:
    """Give the id of the workspace that this thread of work is bound to, or raise."""
    workspace_id = _bound.get()
    if workspace_id is None:
        raise WorkspaceNotBound
    return workspace_id


def bound_text() -> str:
    """Give the same as the database is told it: nothing when no workspace is bound."""
    workspace_id = _bound.get()
    return str(workspace_id) if workspace_id else ""
