"""The door to the rows of the runtime graph."""

from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from assembly.models import ContextAssembly, Graph, GraphRecord, Payload
from assembly.types import GraphPlace
from workspaces import encryption
from workspaces.access import one, workspaces_with
from workspaces.types import WorkspaceRef


def place_of(workspace: WorkspaceRef, conversation: str) -> GraphPlace:
    """Give the place of a graph, there or not, by the id of its Conversation record: all sources share it (CA-1)."""
    hashed = encryption.keyed_hash(workspace, "graph", conversation)
    before = encryption.previous_hash(workspace, "graph", conversation)
    return GraphPlace(workspace, conversation, hashed, workspace.hash_key_id, before)


def live_graphs() -> QuerySet[Graph]:
    """List the graphs that neither ended nor are being erased."""
    return Graph.objects.filter(life=Graph.Life.LIVE, erasure_id=None).select_related("handle")


def live_graph(conversation: str, *, is_locked: bool = False) -> Graph | None:
    """Give the graph of a conversation, locked until the transaction ends where it is to be changed."""
    rows = live_graphs().filter(name=conversation)
    return (rows.select_for_update(of=("self",)) if is_locked else rows).first()


def erased_graphs(place: GraphPlace) -> QuerySet[Graph]:
    """List the rows of a graph that are being erased or were: `ended_at` is when reads of it ended (PR-12)."""
    erased = Q(life=Graph.Life.ERASED) | Q(erasure_id__isnull=False)
    return Graph.objects.filter(erased, identity_hash__in=place.hashes)


def records_of(graph: Graph) -> QuerySet[GraphRecord]:
    """List the records of a graph that no erasure takes out."""
    return GraphRecord.objects.filter(graph=graph, erasure_id=None)


def records_of_graphs(graphs: QuerySet[Graph]) -> QuerySet[GraphRecord]:
    """List the records of several graphs that no erasure takes out."""
    return GraphRecord.objects.filter(graph__in=graphs.values("id"), erasure_id=None)


def payload(payload_id: UUID) -> Payload:
    """Give a payload of a graph that is served. Raises NotFound."""
    rows = Payload.objects.filter(graph__in=live_graphs(), record__erasure_id=None)
    return one(rows.select_related("record", "graph"), id=payload_id)


def assemblies() -> QuerySet[ContextAssembly]:
    """List the records of assemblies that no erasure takes out."""
    return ContextAssembly.objects.filter(graph__in=live_graphs(), erasure_id=None)


def assembly(assembly_id: UUID) -> ContextAssembly:
    """Give the record of an assembly. Raises NotFound."""
    return one(assemblies().select_related("graph"), id=assembly_id)


def workspaces_with_due_graphs(now: datetime) -> list[WorkspaceRef]:
    """List the workspaces in which graphs, records or assemblies are due, or kept under an older retention (PR-20)."""
    return workspaces_with("lastro_with_due_graphs", now)


def workspaces_with_loose_blobs(now: datetime) -> list[WorkspaceRef]:
    """List the workspaces in which blobs are to be removed that no payload vouches for."""
    return workspaces_with("lastro_with_loose_blobs", now)
