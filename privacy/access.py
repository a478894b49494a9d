"""Questions of governance that no single workspace can answer (PL-1)."""

from datetime import datetime

from workspaces.access import workspaces_with
from workspaces.types import WorkspaceRef


def workspaces_with_erasures(now: datetime) -> list[WorkspaceRef]:
    """List the workspaces in which an approved or running erasure waits for a worker."""
    return workspaces_with("lastro_with_erasures", now)


def workspaces_with_due_changes(now: datetime) -> list[WorkspaceRef]:
    """List the workspaces in which the time of a scheduled publication has come (PR-2b)."""
    return workspaces_with("lastro_with_due_changes", now)
