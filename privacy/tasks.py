"""Background work of governance: each task claims a row that is due and calls one service."""

import logging
from uuid import UUID

from celery import shared_task
from django.utils import timezone

from privacy.access import workspaces_with_due_changes, workspaces_with_erasures
from privacy.selectors.approvals import due_changes
from privacy.services import erasing
from privacy.services.approvals import publish_due
from workspaces import access
from workspaces.errors import Problem
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


@shared_task(name="privacy.tasks.publish_scheduled")
def publish_scheduled() -> None:
    """Publish the changes whose time has come, in every workspace that has some; one that fails stops no other."""
    now = timezone.now()
    for workspace in workspaces_with_due_changes(now):
        with access.bound(workspace.id):
            for change_id in due_changes(now=now):
                try:
                    change = publish_due(change_id=change_id, now=timezone.now())
                except Problem as problem:
                    # A store that is away, or another worker that was faster: the next time tells.
                    log.warning("change.left", extra={"change": str(change_id), "code": problem.code})
                else:
                    log.info("change.due", extra={"change": str(change_id), "status": change.status})
