"""The rows of the runtime graph as they stand in the database, for what no answer tells."""

from typing import Any

from assembly import encryption
from assembly.models import Graph, GraphRecord, Link, Payload
from assembly.selectors.records import record_of
from assembly.types import Opened
from lastro.assembly.records.writing import to_json
from tests.assembly.graphs import Story
from workspaces import access
from workspaces.types import WorkspaceRef


def graph_of(workspace: WorkspaceRef, story: Story) -> Graph:
    """Give the row of a conversation's graph."""
    with access.bound(workspace.id):
        return Graph.objects.select_related("handle").get(name=story.chat)


def every_row(workspace: WorkspaceRef, story: Story) -> list[GraphRecord]:
    """Give the rows of a graph in their order."""
    with access.bound(workspace.id):
        return list(GraphRecord.objects.filter(graph__name=story.chat).order_by("position"))


def rows_of(workspace: WorkspaceRef, story: Story) -> dict[str, GraphRecord]:
    """Give the rows of a graph by the short names that the story has for them."""
    return {row.name.removesuffix(f".{story.chat}"): row for row in every_row(workspace, story)}


def opened(workspace: WorkspaceRef, row: GraphRecord) -> Opened:
    """Open a row, past every rule about what is served."""
    with access.bound(workspace.id):
        key = encryption.graph_key(workspace, Graph.objects.get(id=row.graph_id))
        return encryption.open_record(workspace, row, key)


def stored(workspace: WorkspaceRef, row: GraphRecord) -> dict[str, Any]:
    """Give the record that a row holds."""
    return to_json(record_of(opened(workspace, row)))


def results_of(workspace: WorkspaceRef, story: Story) -> dict[str, bytes]:
    """Give the results that stand in rows, by the short names of their artifacts."""
    with access.bound(workspace.id):
        graph = Graph.objects.get(name=story.chat)
        key = encryption.graph_key(workspace, graph)
        rows = Payload.objects.filter(graph=graph, role="result", state="stored").select_related("record")
        return {
            row.record.name.removesuffix(f".{story.chat}"): encryption.open_payload(workspace, row, key)
            for row in rows
        }


def links_of(workspace: WorkspaceRef, story: Story) -> set[tuple[str, str, str]]:
    """Give who names whom as what, by their short names."""
    with access.bound(workspace.id):
        links = Link.objects.filter(graph__name=story.chat)
        found = links.values_list("record__name", "member", "target__name")
        end = f".{story.chat}"
        return {(one.removesuffix(end), member, other.removesuffix(end)) for one, member, other in found}
