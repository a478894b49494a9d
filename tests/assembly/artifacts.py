"""Artifacts whose bytes are sent apart, for the tests of payloads."""

import hashlib
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import msgspec
from django.utils import timezone

from assembly import access as graphs
from assembly import encryption
from assembly.models import Graph, GraphRecord, Link, Payload
from assembly.types import Opened
from tests import factories
from workspaces import access
from workspaces.encryption import open_key
from workspaces.models import Source
from workspaces.types import Key, WorkspaceRef

NOON = "2026-11-30T12:00:00Z"
MEDIA_TYPE = "text/csv"


def make_workspace(name: str = "Aurora") -> WorkspaceRef:
    """Make a workspace in which context assembly is on."""
    workspace = factories.make_ready_workspace(name)
    factories.switch(workspace, "context", on=True)
    return workspace


def make_graph(workspace: WorkspaceRef) -> Graph:
    """Make the graph of a new conversation."""
    now = timezone.now()
    with access.bound(workspace.id):
        place = graphs.place_of(workspace, f"c-{uuid4().hex}")
        return Graph.objects.create(
            name=place.conversation,
            identity_hash=place.identity_hash,
            hash_key_id=place.hash_key_id,
            data_key_id=encryption.make_data_key(workspace, None, now=now).id,
            created_at=now,
            touched_at=now,
            due_at=now + timedelta(days=30),
        )


def key_of(workspace: WorkspaceRef, graph: Graph) -> Key:
    """Open the data key of a graph."""
    return open_key(workspace, graph.handle_id, graph.data_key_id)


def declare(
    workspace: WorkspaceRef,
    graph: Graph,
    content: bytes,
    *,
    source: str = "chat backend",
    role: str = "result",
    **columns: Any,
) -> UUID:
    """Record an artifact whose result comes apart; give the id of its payload."""
    said = {
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "media_type": columns.pop("media_type", MEDIA_TYPE),
    }
    record = {"call": "call-1", "tool": "read_file", "status": "succeeded", "result": said}
    with access.bound(workspace.id):
        row = keep(workspace, graph, "tool_artifact", record, source=source, **columns)
        payload = Payload.objects.create(
            graph=graph,
            record=row,
            role=role,
            size_bytes=said["bytes"],
            media_type=said["media_type"],
            address=encryption.address(key_of(workspace, graph), said["sha256"]),
        )
    return payload.id


def keep(
    workspace: WorkspaceRef,
    graph: Graph,
    kind: str,
    record: dict[str, Any],
    *,
    source: str = "chat backend",
    **columns: Any,
) -> GraphRecord:
    """Keep a record of the graph, with some columns."""
    Graph.objects.filter(id=graph.id).update(position=graph.position + 1)
    graph.refresh_from_db()
    name = columns.pop("name", f"{kind}-{uuid4().hex[:8]}")
    row = GraphRecord(
        graph=graph,
        source=Source.objects.get_or_create(name=source, defaults={"created_at": timezone.now()})[0],
        position=graph.position,
        kind=kind,
        name=name,
        **{"visibility": "conversation", "privacy": "internal", **columns},
    )
    whole = {
        "type": kind,
        "id": name,
        "conversation": graph.name,
        "branch": "main",
        "recorded_at": NOON,
        **record,
    }
    key = key_of(workspace, graph)
    encryption.seal_record(workspace, row, Opened(msgspec.Raw(msgspec.json.encode(whole))), key)
    row.content_mac = encryption.content_mac(key, msgspec.json.encode(whole))
    row.save()
    return row


def point(graph: Graph, record: GraphRecord, target: GraphRecord, member: str) -> None:
    """Say that one record names another."""
    Link.objects.create(graph=graph, record=record, target=target, member=member, position=record.position)
