"""Background work of governance: each task claims a row that is due and calls one service."""

import logging
from uuid import UUID

from celery import shared_task
from django.utils import timezone

from privacy.access import (
    workspaces_with_ended_holds,
    workspaces_with_erasures,
    workspaces_with_overdue,
)
from privacy.services import alerts, erasing, holds
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


@shared_task(name="privacy.tasks.settle_holds")
def settle_holds() -> None:
    """Let go of what the holds kept that were lifted or have ended (PR-16)."""
    for workspace in workspaces_with_ended_holds(timezone.now()):
        with access.bound(workspace.id):
            settled = holds.settle_holds(now=timezone.now())
        if settled:
            log.info("holds.settled", extra={"workspace": str(workspace.id), "holds": settled})


@shared_task(name="privacy.tasks.tell_overdue")
def tell_overdue() -> None:
    """Tell the privacy role of each workspace which requests are late, once a day (PR-17)."""
    for workspace in workspaces_with_overdue(timezone.now().date()):
        with access.bound(workspace.id):
            told = alerts.tell_overdue(workspace=workspace, now=timezone.now())
        if told:
            log.info("erasures.overdue", extra={"workspace": str(workspace.id), "erasures": told})


def _run(workspace: WorkspaceRef, request_id: UUID) -> None:
    about = {"workspace": str(workspace.id), "erasure": str(request_id)}
    if erasing.run(workspace=workspace, request_id=request_id):
        log.info("erasure.completed", extra=about)
