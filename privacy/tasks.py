"""Background work of governance: each task claims a row that is due and calls one service."""

import logging
from uuid import UUID

from celery import shared_task
from django.utils import timezone
from kombu.exceptions import OperationalError

from privacy.access import (
    workspaces_with_due_changes,
    workspaces_with_ended_holds,
    workspaces_with_erasures,
    workspaces_with_overdue,
    workspaces_with_packages_to_build,
    workspaces_with_packages_to_sweep,
)
from privacy.selectors.approvals import due_changes
from privacy.services import alerts, erasing, holds
from privacy.services.approvals import publish_due
from privacy.services.package_builds import build_next
from privacy.services.packages import Swept, sweep_packages
from privacy.services.work import NotErased
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


@shared_task(name="privacy.tasks.settle_holds")
def settle_holds() -> None:
    """Let go of what the holds kept that were lifted or have ended (PR-16)."""
    for workspace in workspaces_with_ended_holds(timezone.now()):
        with access.bound(workspace.id):
            settled = holds.settle_holds(workspace=workspace, now=timezone.now())
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
    try:
        is_complete = erasing.run(workspace=workspace, request_id=request_id)
    except NotErased as left:
        # It is looked at again when its claim has ended, and keeps no other from its turn.
        log.error("erasure.left", extra=about | {"left": str(left)})
        return
    if is_complete:
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


@shared_task(name="privacy.tasks.build_packages")
def build_packages() -> None:
    """Build the packages that wait, or whose worker died, one after another (PR-18)."""
    for workspace in workspaces_with_packages_to_build(timezone.now()):
        with access.bound(workspace.id):
            while build_next(workspace=workspace, now=timezone.now()):
                pass


@shared_task(name="privacy.tasks.sweep_packages")
def sweep_all_packages() -> None:
    """Remove the packages that are over, in every workspace that has some (PR-20)."""
    for workspace in workspaces_with_packages_to_sweep(timezone.now()):
        with access.bound(workspace.id):
            _sweep(workspace)


def wake_builder() -> None:
    """Tell a worker that a package waits; where the broker is away, the work that beat sends finds it in a minute."""
    try:
        build_packages.apply_async(retry=False)
    except OperationalError:
        log.warning("broker.away")


def _sweep(workspace: WorkspaceRef) -> None:
    expired = chunks = 0
    while (batch := sweep_packages(workspace=workspace, now=timezone.now())) != Swept():
        expired, chunks = expired + batch.expired, chunks + batch.chunks
    if expired or chunks:
        log.info(
            "packages.swept",
            extra={"workspace": str(workspace.id), "packages": expired, "chunks": chunks},
        )
