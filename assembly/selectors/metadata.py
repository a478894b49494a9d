"""What people see of graphs: counts, bytes and dates, never content and never ids (CA-17)."""

from datetime import datetime
from uuid import UUID

import msgspec
from django.db.models import Max, Min, QuerySet, Sum

from assembly.access import live_graphs, records_of_graphs
from assembly.models import Graph, GraphPerson


class GraphTotals(msgspec.Struct, frozen=True):
    """How much the runtime graph says of one person, or a workspace keeps of it."""

    graphs: int
    records: int
    bytes: int
    profiles: int
    earliest: datetime | None
    last_change: datetime | None


def graphs_of(profile_id: UUID) -> GraphTotals:
    """Count the graphs that name a person, and what they hold."""
    people = GraphPerson.objects.filter(handle__profile_id=profile_id)
    return totals_of(live_graphs().filter(id__in=people.values("graph_id")))


def totals() -> GraphTotals:
    """Count what the bound workspace keeps."""
    return totals_of(live_graphs())


def totals_of(graphs: QuerySet[Graph]) -> GraphTotals:
    """Count some graphs, and what they hold that no erasure takes out."""
    records = records_of_graphs(graphs)
    people = GraphPerson.objects.filter(graph__in=graphs.values("id"))
    return GraphTotals(
        graphs=graphs.count(),
        records=records.count(),
        bytes=records.aggregate(bytes=Sum("naive_bytes", default=0))["bytes"],
        profiles=people.values("handle__profile_id").distinct().count(),
        **graphs.aggregate(earliest=Min("created_at"), last_change=Max("touched_at")),
    )
