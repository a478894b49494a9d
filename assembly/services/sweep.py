"""What has expired leaves the runtime graph, in bounded batches, safe with many workers (CA-21, PR-20)."""

import logging
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

import msgspec
from django.db import transaction
from django.db.models import F

from assembly import encryption
from assembly.models import ContextAssembly, Graph, GraphRecord, GraphSweep
from assembly.selectors import sweeps as selectors
from assembly.selectors.needs import FINISHED
from assembly.selectors.records import record_of
from assembly.services import removal
from assembly.services.expiry import settle
from assembly.types import Bounds
from lastro.assembly.records import RunFinished
from lastro.assembly.rules.pruning import may_prune
from lastro.assembly.snapshot import Candidate, Selectable
from workspaces.errors import KeyDestroyed, Tampered
from workspaces.types import Key, WorkspaceRef

log = logging.getLogger("lastro.assembly")

BATCH = 100
GRAPHS_AT_ONCE = 20
PASSES = 5
"""A memory that goes frees its artifacts, and they go in the pass after."""
KEPT_FOR = timedelta(days=30)


class Swept(msgspec.Struct, frozen=True):
    """How many rows a batch looked at, and what it removed."""

    looked_at: int = 0
    traces: int = 0
    assemblies: int = 0
    graph_records: int = 0
    payloads: int = 0
    graphs: int = 0
    tombstones: int = 0
    damaged: int = 0

    def __add__(self, other: "Swept") -> "Swept":
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return Swept(*(a + b for a, b in pairs))

    @property
    def removed(self) -> dict[str, int]:
        """Give what it removed, by kind."""
        return {
            "traces": self.traces,
            "assemblies": self.assemblies,
            "graph_records": self.graph_records,
            "payloads": self.payloads,
            "graphs": self.graphs,
            "tombstones": self.tombstones,
        }


@transaction.atomic
def sweep_traces(*, now: datetime) -> Swept:
    """Empty a batch of traces that are due; their assemblies stay (CA-21)."""
    rows = selectors.due_traces(now=now).select_for_update(of=("self",), skip_locked=True)
    found = list(rows.order_by("id").values_list("id", flat=True)[:BATCH])
    ContextAssembly.objects.filter(id__in=found).update(trace=None, trace_expires_at=None)
    return Swept(looked_at=len(found), traces=len(found))


@transaction.atomic
def sweep_assemblies(*, now: datetime) -> Swept:
    """Remove a batch of assemblies that are due."""
    gone = removal.take_assemblies(selectors.due_assemblies(now=now))
    return Swept(looked_at=gone, assemblies=gone)


@transaction.atomic
def sweep_records(
    *, workspace: WorkspaceRef, after: UUID | None = None, now: datetime
) -> tuple[Swept, UUID | None]:
    """Remove the due artifacts and memories of a batch of graphs that nobody writes to now.

    Never what something unresolved, a file that a run has made or a memory that is kept needs (CA-21). A graph that
    does not verify is named in the log. The next batch begins after the graph that is given beside the counts; none at
    the end.
    """
    rows = selectors.graphs_with_due_records(now=now).filter(id__gt=after or UUID(int=0)).order_by("id")
    found = list(rows.select_for_update(of=("self",), skip_locked=True)[:GRAPHS_AT_ONCE])
    swept = Swept(looked_at=len(found))
    for graph in found:
        swept += _sweep_alone(workspace, graph, now=now)
    return swept, found[-1].id if found else None


@transaction.atomic
def settle_graphs(*, bounds: Bounds) -> Swept:
    """Let a batch of graphs follow the live retention, those that a hold keeps too: what has ended is not served."""
    rows = selectors.graphs_to_settle(bounds).select_for_update(of=("self",), skip_locked=True)
    found = list(rows.order_by("id")[:GRAPHS_AT_ONCE])
    for graph in found:
        settle(graph, bounds)
    return Swept(looked_at=len(found))


@transaction.atomic
def end_graphs(*, now: datetime) -> Swept:
    """End a batch of graphs that are due, and remove the tombstones that are.

    A graph that ends reads as never there from now on; what it holds goes in batches (`sweep_ending`).
    """
    rows = selectors.due_graphs(now=now).select_for_update(of=("self",), skip_locked=True)
    found = list(rows.order_by("id")[:GRAPHS_AT_ONCE])
    over = [graph.id for graph in found if graph.life == Graph.Life.ERASED]
    ending = [graph.id for graph in found if graph.life == Graph.Life.LIVE]
    Graph.objects.filter(id__in=over).delete()
    GraphRecord.objects.filter(graph__in=ending).update(erasure_id=F("graph_id"))
    Graph.objects.filter(id__in=ending).update(erasure_id=F("id"))
    return Swept(looked_at=len(found), tombstones=len(over))


@transaction.atomic
def sweep_ending(*, workspace: WorkspaceRef, now: datetime) -> Swept:
    """Take a batch out of a graph whose time was over; the last one takes its row and its key."""
    graph = selectors.ending_graphs().select_for_update(of=("self",), skip_locked=True).first()
    if graph is None:
        return Swept()
    assemblies = removal.take_assemblies(ContextAssembly.objects.filter(graph=graph))
    records, gone = removal.take_records(GraphRecord.objects.filter(graph=graph), now=now)
    swept = Swept(looked_at=1, assemblies=assemblies, graph_records=records, payloads=gone)
    if assemblies or records or gone:
        return swept
    removal.drop(workspace, graph)
    return Swept(looked_at=1, graphs=1)


@transaction.atomic
def note_run(*, swept: Swept, bounds: Bounds, began_at: datetime, now: datetime) -> GraphSweep:
    """Keep for 30 days what a run of the sweep removed by kind, and what it left behind."""
    return GraphSweep.objects.create(
        began_at=began_at,
        ended_at=now,
        removed=swept.removed,
        damaged=swept.damaged,
        backlog=selectors.backlog(bounds, now=now),
    )


@transaction.atomic
def forget_old_runs(*, now: datetime) -> int:
    """Forget a batch of the runs that ended more than 30 days ago; give how many."""
    old = GraphSweep.objects.filter(ended_at__lte=now - KEPT_FOR).select_for_update(skip_locked=True)
    found = list(old.order_by("ended_at").values_list("id", flat=True)[:BATCH])
    GraphSweep.objects.filter(id__in=found).delete()
    return len(found)


def _sweep_alone(workspace: WorkspaceRef, graph: Graph, *, now: datetime) -> Swept:
    """Sweep one graph; one that does not verify, or has lost its key, stops no other and ends by its own time."""
    try:
        with transaction.atomic():
            return _sweep(workspace, graph, encryption.graph_key(workspace, graph), now=now)
    except (Tampered, KeyDestroyed):
        log.error("graph.damaged", extra={"workspace": str(workspace.id), "graph": str(graph.id)})
        GraphRecord.objects.filter(graph=graph, expires_at__lte=now).update(expires_at=graph.due_at)
        return Swept(damaged=1)


def _sweep(workspace: WorkspaceRef, graph: Graph, key: Key, *, now: datetime) -> Swept:
    swept, kept = Swept(), set[int]()
    for _ in range(PASSES):
        due = selectors.due_records(now=now).filter(graph=graph).exclude(id__in=kept)
        rows = list(due.order_by("id")[:BATCH])
        if not rows:
            break
        free = _prunable(workspace, graph, rows, key, now=now)
        kept |= {row.id for row in rows} - free
        records, gone = removal.take_records(GraphRecord.objects.filter(id__in=free), now=now)
        swept += Swept(graph_records=records, payloads=gone)
        if free and not (records or gone):
            break
    return swept


def _prunable(
    workspace: WorkspaceRef, graph: Graph, rows: Sequence[GraphRecord], key: Key, *, now: datetime
) -> set[int]:
    """Give those of some due records that may go by their class, and whose run has made no file."""
    lasting = _runs_with_files(workspace, graph, {row.run for row in rows if row.run}, key)
    return {
        row.id
        for row in rows
        if may_prune(_candidate(workspace, row, key), as_of=now, is_needed=row.run in lasting)
    }


def _candidate(workspace: WorkspaceRef, row: GraphRecord, key: Key) -> Candidate:
    record = cast(Selectable, record_of(encryption.open_record(workspace, row, key)))
    return Candidate(
        record=record,
        placed=(record.recorded_at, ""),
        expires_at=row.expires_at,
        is_resolved=row.settled_at is not None,
    )


def _runs_with_files(workspace: WorkspaceRef, graph: Graph, runs: Collection[str], key: Key) -> set[str]:
    """Tell which of these runs refer to files that they have made (CA-21)."""
    rows = GraphRecord.objects.filter(graph=graph, kind=FINISHED, run__in=runs, erasure_id=None)
    opened = ((row.run, record_of(encryption.open_record(workspace, row, key))) for row in rows)
    return {run for run, record in opened if cast(RunFinished, record).files}
