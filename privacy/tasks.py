"""Background work of governance: each task claims a row that is due and calls one service."""

import logging
from uuid import UUID

from celery import shared_task
from django.utils import timezone

from privacy.access import workspaces_with_erasures
from privacy.services import erasing
from workspaces import access
from workspaces.types import WorkspaceRef

log = logging.getLogger("lastro.privacy")


@shared_task(name="privacy.tasks.run_erasures")
def run_erasures() -> None:
    """Run the erasures that are approved and that no other worker has (PR-9, PR-13)."""
    for workspace in workspaces_with_erasures(timezone.now()):
        with access.bound(workspace.id):
            requests = erasing.due(timezone.now())
        for request_id in requests:
            _run(workspace, request_id)


def _run(workspace: WorkspaceRef, request_id: UUID) -> None:
    about = {"workspace": str(workspace.id), "erasure": str(request_id)}
    if erasing.run(workspace=workspace, request_id=request_id):
        log.info("erasure.completed", extra=about)
