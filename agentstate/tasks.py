"""Periodic work of working memory."""

import logging

from celery import shared_task
from django.utils import timezone

from agentstate.access import workspaces_with_due_states
from agentstate.services.sweep import BATCH, Swept, sweep_states
from workspaces import access
from workspaces.types import WorkspaceRef

log = logging.getLogger("lastro.agentstate")


@shared_task(name="agentstate.tasks.sweep_states")
def sweep_all() -> None:
    """Sweep every workspace that has due rows until a batch comes back that is not full (PR-20)."""
    for workspace in workspaces_with_due_states(timezone.now()):
        with access.bound(workspace.id):
            _sweep(workspace)


def _sweep(workspace: WorkspaceRef) -> None:
    total = Swept()
    while True:
        batch = sweep_states(workspace=workspace, now=timezone.now())
        total += batch
        if batch.looked_at < BATCH:
            break
    if total.looked_at:
        log.info(
            "states.swept",
            extra={
                "workspace": str(workspace.id),
                "states": total.states,
                "fields": total.fields,
                "tombstones": total.tombstones,
                "damaged": total.damaged,
            },
        )
