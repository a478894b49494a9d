"""What takes the approval of a second person, and which requests wait for one (PR-2b, CO-6)."""

from datetime import datetime
from uuid import UUID

from workspaces.models import ChangeRequest
from workspaces.selectors.approvals import four_eyes, needs_approval

__all__ = ["due_changes", "four_eyes", "needs_approval"]


def due_changes(*, now: datetime) -> list[UUID]:
    """List the scheduled changes whose time has come, the earliest first."""
    rows = ChangeRequest.objects.filter(status=ChangeRequest.Status.SCHEDULED, publish_at__lte=now)
    return list(rows.order_by("publish_at").values_list("id", flat=True))
