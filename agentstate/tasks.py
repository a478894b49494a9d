"""Periodic work of working memory."""

import logging

from celery import shared_task
from django.utils import timezone

from agentstate.access import workspaces_with_due_states, workspaces_with_old_traces
from agentstate.services import runs, sweep
from agentstate.services.sweep import Swept
from workspaces import access
from workspaces.types import WorkspaceRef

log = logging.getLogger("lastro.agentstate")


@shared_task(name="agentstate.tasks.sweep_states")
def sweep_all() -> None:
    """Sweep every workspace that has due rows until a batch comes back that is not full (PR-20)."""
    now = timezone.now()
    found = {ref.id: ref for ref in (*workspaces_with_due_states(now), *workspaces_with_old_traces(now))}
    for workspace in found.values():
        with access.bound(workspace.id):
            _sweep(workspace)


def _sweep(workspace: WorkspaceRef) -> None:
    began_at = timezone.now()
    total = _swept_states(workspace)
    names = _swept_names()
    runs.forget_old_runs(now=timezone.now())
    if total.looked_at or names:
        runs.note_run(swept=total, names=names, began_at=began_at, now=timezone.now())
        log.info(
            "states.swept",
            extra={
                "workspace": str(workspace.id),
                "states": total.states,
                "fields": total.fields,
                "tombstones": total.tombstones,
                "names": names,
                "damaged": total.damaged,
            },
        )


def _swept_states(workspace: WorkspaceRef) -> Swept:
    total = Swept()
    while True:
        batch = sweep.sweep_states(workspace=workspace, now=timezone.now())
        total += batch
        if batch.looked_at < sweep.BATCH:
            return total


def _swept_names() -> int:
    total = 0
    while swept := sweep.sweep_names(now=timezone.now()):
        total += swept
    return total
