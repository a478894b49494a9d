"""Periodic work of the runtime graph."""

import logging

from celery import shared_task
from django.utils import timezone

from assembly.access import workspaces_with_loose_blobs
from assembly.services import payloads
from workspaces import access

log = logging.getLogger("lastro.assembly")


@shared_task(name="assembly.tasks.sweep_blobs")
def sweep_blobs() -> None:
    """Remove the blobs that no payload has, of every workspace, until a batch comes back that is not full (PR-20)."""
    for workspace in workspaces_with_loose_blobs(timezone.now()):
        with access.bound(workspace.id):
            removed = batch = payloads.sweep_blobs(now=timezone.now())
            while batch == payloads.BATCH:
                batch = payloads.sweep_blobs(now=timezone.now())
                removed += batch
            log.info("blobs.swept", extra={"workspace": str(workspace.id), "blobs": removed})
