"""Reading out graphs whole: those of a workspace that goes elsewhere, and those under a legal hold (PL-5b, PR-16)."""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any

import msgspec

from assembly import access
from assembly.documents import bounds_of
from assembly.models import Graph, GraphPerson, GraphRecord
from assembly.selectors.export import Exported, Reading, each_graph, opened_graph
from assembly.selectors.holds import held_graphs
from assembly.types import ExportedGraph
from workspaces import documents
from workspaces.models import Hold
from workspaces.types import WorkspaceRef


def opened_graphs(workspace: WorkspaceRef, *, now: datetime) -> Iterator[dict[str, Any]]:
    """Give every live graph of the bound workspace with its records and payloads, oldest id first, a few at a time.

    What has expired, and what is being erased, is absent.
    """
    reading = Reading(now=now, bounds=bounds_of(documents.live("retention")))
    for graph in each_graph(access.live_graphs()):
        for record in opened_graph(workspace, graph, reading):
            # The content stays as it was received: it is written and not read.
            told = {"record": record.__struct_config__.tag, **msgspec.structs.asdict(record)}
            yield told | (_named(graph) if isinstance(record, ExportedGraph) else {})


def held_records(
    workspace: WorkspaceRef, hold: Hold, scopes: Collection[bytes], *, now: datetime
) -> Iterator[Exported]:
    """Decrypt the graphs that a hold is on, as they stand: nothing leaves them while it stands."""
    for graph in each_graph(held_graphs(hold, scopes).filter(erasure_id=None)):
        yield from opened_graph(workspace, graph, Reading(now=now))


def count_held(hold: Hold, scopes: Collection[bytes]) -> int:
    """Count the records that a hold is on."""
    held = held_graphs(hold, scopes).filter(erasure_id=None)
    return GraphRecord.objects.filter(graph__in=held.values("id"), erasure_id=None).count()


def _named(graph: Graph) -> dict[str, Any]:
    people = GraphPerson.objects.filter(graph=graph).select_related("handle").order_by("id")
    return {
        "conversation_hash": bytes(graph.conversation_hash or b"").hex(),
        "people": [
            {
                "profile_id": person.handle.profile_id,
                "handle_id": person.handle_id,
                "participant": person.participant,
            }
            for person in people
        ],
    }
