"""Periodic work of governance."""

import logging

from celery import shared_task
from django.utils import timezone

from privacy.selectors.approvals import due_changes
from privacy.services.approvals import publish_due
from workspaces import access
from workspaces.errors import Problem

log = logging.getLogger("lastro.privacy")


@shared_task(name="privacy.tasks.publish_scheduled")
def publish_scheduled() -> None:
    """Publish the changes whose time has come, in every workspace that has some; one that fails stops no other."""
    now = timezone.now()
    for workspace in access.workspaces_with("lastro_with_due_changes", now):
        with access.bound(workspace.id):
            for change_id in due_changes(now=now):
                try:
                    change = publish_due(change_id=change_id, now=timezone.now())
                except Problem as problem:
                    # A store that is away, or another worker that was faster: the next time tells.
                    log.warning("change.left", extra={"change": str(change_id), "code": problem.code})
                else:
                    log.info("change.due", extra={"change": str(change_id), "status": change.status})
