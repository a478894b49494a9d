"""Periodic work of the runtime graph."""

import logging
from collections.abc import Callable

from celery import shared_task
from django.utils import timezone

from assembly.access import workspaces_with_due_graphs, workspaces_with_loose_blobs
from assembly.documents import bounds_of
from assembly.services import payloads, sweep
from assembly.services.sweep import Swept
from assembly.types import Bounds
from workspaces import access, documents
from workspaces.types import WorkspaceRef

log = logging.getLogger("lastro.assembly")


@shared_task(name="assembly.tasks.sweep_graphs")
def sweep_all() -> None:
    """Sweep every workspace until nothing is due: traces go first, then assemblies, then records (PR-20, CA-21)."""
    for workspace in workspaces_with_due_graphs(timezone.now()):
        with access.bound(workspace.id):
            _sweep(workspace, bounds_of(documents.live("retention")))


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


def _sweep(workspace: WorkspaceRef, bounds: Bounds) -> None:
    began_at = timezone.now()
    total = (
        _until_short(lambda: sweep.sweep_traces(now=timezone.now()), sweep.BATCH)
        + _until_short(lambda: sweep.sweep_assemblies(now=timezone.now()), 1)
        # The live retention first: records and graphs may end by it.
        + _until_short(lambda: sweep.settle_graphs(bounds=bounds), sweep.GRAPHS_AT_ONCE)
        + _swept_records(workspace)
        + _until_short(lambda: sweep.end_graphs(now=timezone.now()), sweep.GRAPHS_AT_ONCE)
        + _until_short(lambda: sweep.sweep_ending(workspace=workspace, now=timezone.now()), 1)
    )
    sweep.forget_old_runs(now=timezone.now())
    if total.damaged or any(total.removed.values()):
        sweep.note_run(swept=total, bounds=bounds, began_at=began_at, now=timezone.now())
        log.info("graphs.swept", extra={"workspace": str(workspace.id), **total.removed})


def _until_short(batch: Callable[[], Swept], full: int) -> Swept:
    """Do batches until one is not full."""
    total = Swept()
    while True:
        done = batch()
        total += done
        if done.looked_at < full:
            return total


def _swept_records(workspace: WorkspaceRef) -> Swept:
    """Go round the graphs until nothing more goes: one takes a bounded number of records at a time."""
    total = Swept()
    while (done := _round(workspace)).graph_records or done.payloads:
        total += done
    return total + done


def _round(workspace: WorkspaceRef) -> Swept:
    total, after = sweep.sweep_records(workspace=workspace, now=timezone.now())
    while after is not None:
        batch, after = sweep.sweep_records(workspace=workspace, after=after, now=timezone.now())
        total += batch
    return total
