"""Periodic work of history."""

import logging

from celery import shared_task
from django.utils import timezone

from history.access import workspaces_with_due_history
from history.documents import retention_of
from history.services import sweep
from history.services.sweep import Swept
from history.types import Retention
from workspaces import access, documents
from workspaces.types import WorkspaceRef

log = logging.getLogger("lastro.history")


@shared_task(name="history.tasks.sweep_history")
def sweep_all() -> None:
    """Sweep every workspace that has due sessions or items until a batch comes back that is not full (PR-20)."""
    for workspace in workspaces_with_due_history(timezone.now()):
        with access.bound(workspace.id):
            _sweep(workspace, retention_of(documents.live("retention")))


def _sweep(workspace: WorkspaceRef, retention: Retention) -> None:
    began_at = timezone.now()
    total = _swept_sessions(workspace, retention) + _swept_items(workspace)
    sweep.forget_old_runs(now=timezone.now())
    if total.sessions or total.items or total.tombstones or total.damaged:
        sweep.note_run(swept=total, retention=retention, began_at=began_at, now=timezone.now())
        log.info("history.swept", extra={"workspace": str(workspace.id), **_counts(total)})


def _swept_sessions(workspace: WorkspaceRef, retention: Retention) -> Swept:
    total = Swept()
    while True:
        batch = sweep.sweep_sessions(workspace=workspace, retention=retention, now=timezone.now())
        total += batch
        if batch.looked_at < sweep.BATCH:
            return total


def _swept_items(workspace: WorkspaceRef) -> Swept:
    total, after = sweep.sweep_items(workspace=workspace, now=timezone.now())
    while after is not None:
        batch, after = sweep.sweep_items(workspace=workspace, after=after, now=timezone.now())
        total += batch
    return total


def _counts(swept: Swept) -> dict[str, int]:
    names = ("sessions", "items", "tombstones", "damaged")
    return {name: getattr(swept, name) for name in names}
