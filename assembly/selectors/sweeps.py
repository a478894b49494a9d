"""What is due to be swept of the runtime graph, and what the sweep did (PR-20, CA-21)."""

from datetime import datetime

from django.db.models import Exists, F, OuterRef, QuerySet

from assembly.models import ContextAssembly, Graph, GraphRecord, GraphSweep
from assembly.selectors.holds import free
from assembly.selectors.needs import unneeded, unresolved
from assembly.types import Bounds

COUNTED_UP_TO = 10_000


def due_traces(*, now: datetime) -> QuerySet[ContextAssembly]:
    """List the assemblies whose trace has reached its end, which is the first to go (CA-21)."""
    return ContextAssembly.objects.filter(trace_expires_at__lte=now, graph__in=_live(now))


def due_assemblies(*, now: datetime) -> QuerySet[ContextAssembly]:
    """List the assemblies that have reached their end."""
    return ContextAssembly.objects.filter(expires_at__lte=now, graph__in=_live(now))


def due_records(*, now: datetime) -> QuerySet[GraphRecord]:
    """List the artifacts and memories that have reached their end and that nothing needs, as far as a query tells."""
    return unneeded(GraphRecord.objects.filter(expires_at__lte=now, erasure_id=None))


def graphs_with_due_records(*, now: datetime) -> QuerySet[Graph]:
    """List the graphs in which records are due."""
    return _live(now).filter(Exists(due_records(now=now).filter(graph=OuterRef("id"))))


def graphs_to_settle(bounds: Bounds) -> QuerySet[Graph]:
    """List the rows that were last touched under an older retention than the live one."""
    return Graph.objects.filter(retention_document__lt=bounds.document, erasure_id=None)


def due_graphs(*, now: datetime) -> QuerySet[Graph]:
    """List the rows that have reached their end, and that no hold keeps.

    A graph in which something is unresolved has none, however old it is (CA-12).
    """
    is_open = Exists(unresolved(graph=OuterRef("id")))
    return free(Graph.objects.filter(~is_open, due_at__lte=now, erasure_id=None), now=now)


def ending_graphs() -> QuerySet[Graph]:
    """List the graphs whose time was over, of which something may be left: they bear their own id as an erasure's."""
    return Graph.objects.filter(erasure_id=F("id"))


def backlog(bounds: Bounds, *, now: datetime) -> int:
    """Count what is due, up to 10,000 of each kind."""
    due = (
        due_traces(now=now),
        due_assemblies(now=now),
        due_records(now=now).filter(graph__in=_live(now)),
        graphs_to_settle(bounds),
        due_graphs(now=now),
        ending_graphs(),
    )
    return sum(rows[:COUNTED_UP_TO].count() for rows in due)


def graph_sweeps() -> QuerySet[GraphSweep]:
    """List the runs of the last 30 days that found something, newest first."""
    return GraphSweep.objects.order_by("-ended_at", "-id")


def _live(now: datetime) -> QuerySet[Graph]:
    """List the graphs whose records come and go: neither ended nor held."""
    return free(Graph.objects.filter(life=Graph.Life.LIVE, erasure_id=None), now=now)
