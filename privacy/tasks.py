"""Periodic work of governance."""

import logging

from celery import shared_task
from django.utils import timezone
from kombu.exceptions import OperationalError

from privacy.access import workspaces_with_packages_to_build, workspaces_with_packages_to_sweep
from privacy.services.package_builds import build_next
from privacy.services.packages import Swept, sweep_packages
from workspaces import access
from workspaces.types import WorkspaceRef

log = logging.getLogger("lastro.privacy")


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
