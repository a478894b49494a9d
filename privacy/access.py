"""Which workspaces have work of governance for a worker."""

from datetime import date, datetime

from workspaces.access import workspaces_with
from workspaces.types import WorkspaceRef


def workspaces_with_erasures(now: datetime) -> list[WorkspaceRef]:
    """List the workspaces in which an approved or running erasure waits for a worker."""
    return workspaces_with("lastro_with_erasures", now)


def workspaces_with_overdue(today: date) -> list[WorkspaceRef]:
    """List the workspaces in which a request is late, and nobody was told so today."""
    return workspaces_with("lastro_with_overdue_erasures", today)


def workspaces_with_ended_holds(now: datetime) -> list[WorkspaceRef]:
    """List the workspaces that have holds to settle."""
    return workspaces_with("lastro_with_ended_holds", now)
