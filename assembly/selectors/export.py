"""What the runtime graph holds about a person, for their package (PR-18)."""

import logging
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from django.db.models import Q, QuerySet

from assembly import access, encryption
from assembly.documents import bounds_of
from assembly.models import Graph, GraphPerson, GraphRecord, Payload
from assembly.selectors.ends import is_over
from assembly.selectors.erasures import naming, participants_of
from assembly.selectors.payloads import parts_of
from assembly.selectors.people import naming_only
from assembly.types import Bounds, ExportedGraph, ExportedPart, ExportedRecord
from workspaces.documents import Live
from workspaces.errors import KeyDestroyed, Tampered
from workspaces.types import Key, WorkspaceRef

log = logging.getLogger("lastro.assembly")

GRAPHS_AT_ONCE = 50
RECORDS_AT_ONCE = 8
"""A record has up to 8 MiB."""

Exported = ExportedGraph | ExportedRecord | ExportedPart


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How a graph is read out: `bounds` leave out what has expired; `own_ids` name whose records alone are given."""

    now: datetime
    bounds: Bounds | None = None
    own_ids: Sequence[UUID] | None = None


def export_subject(
    workspace: WorkspaceRef,
    handle_ids: Sequence[UUID],
    live: Live,
    *,
    alone: Collection[bytes],
    now: datetime,
) -> Iterator[Exported]:
    """Give the graphs that name a person, or nobody in a conversation that names them alone, with records and payloads.

    Of a graph that names others, too, it gives the records of the person's own participants, and of the conversation
    what it says of them. What has expired is absent, and so is what has lost its keys. A graph that does not verify is
    given without its records, and a record so without its content.
    """
    others = GraphPerson.objects.exclude(handle_id__in=handle_ids)
    theirs = naming(handle_ids) | Graph.objects.filter(conversation_hash__in=alone)
    rows = theirs.filter(id__in=access.live_graphs().values("id"))
    bounds = bounds_of(live)
    for graph in each_graph(rows):
        is_shared = others.filter(graph=graph).exists()
        own = handle_ids if is_shared else None
        yield from opened_graph(workspace, graph, Reading(now=now, bounds=bounds, own_ids=own))


def each_graph(rows: QuerySet[Graph]) -> Iterator[Graph]:
    """Give graphs in the order of their ids, a few in memory at a time."""
    after = UUID(int=0)
    while found := list(rows.filter(id__gt=after).select_related("handle").order_by("id")[:GRAPHS_AT_ONCE]):
        yield from found
        after = found[-1].id


def opened_graph(workspace: WorkspaceRef, graph: Graph, reading: Reading) -> Iterator[Exported]:
    """Give a graph and its records in the order of recording; nothing of one that is over, or whose keys are gone."""
    ends_at = _valid_until(graph, reading)
    if reading.bounds is not None and ends_at <= reading.now:
        return
    try:
        key = encryption.graph_key(workspace, graph)
    except KeyDestroyed:
        return
    except Tampered:
        _damaged(workspace, graph)
        yield _graph(graph, ends_at, reading, is_readable=False)
        return
    yield _graph(graph, ends_at, reading)
    for row in _rows(graph, reading):
        record, key = _record(workspace, graph, row, key, reading)
        yield record
        yield from _parts(workspace, graph, row, key)


def _rows(graph: Graph, reading: Reading) -> Iterator[GraphRecord]:
    rows = access.records_of(graph).filter(_chosen(graph, reading)).select_related("source")
    after = 0
    while found := list(rows.filter(position__gt=after).order_by("position")[:RECORDS_AT_ONCE]):
        yield from (row for row in found if not _is_over(row, reading))
        after = found[-1].position


def _chosen(graph: Graph, reading: Reading) -> Q:
    if reading.own_ids is None:
        return Q()
    names = participants_of(graph, reading.own_ids)
    said = Q(participant__in=names) & ~Q(kind="participant")
    return said | Q(kind="participant", name__in=names) | Q(kind="conversation")


def _is_over(row: GraphRecord, reading: Reading) -> bool:
    return reading.bounds is not None and is_over(row, reading.bounds, now=reading.now)


def _valid_until(graph: Graph, reading: Reading) -> datetime:
    if reading.bounds is None:
        return graph.due_at
    return min(graph.due_at, graph.touched_at + timedelta(seconds=reading.bounds.graph_seconds))


def _graph(graph: Graph, ends_at: datetime, reading: Reading, *, is_readable: bool = True) -> ExportedGraph:
    return ExportedGraph(
        graph=graph.id,
        conversation=graph.name,
        created_at=graph.created_at,
        touched_at=graph.touched_at,
        valid_until=ends_at,
        is_whole=reading.own_ids is None,
        is_readable=is_readable,
    )


def _record(
    workspace: WorkspaceRef, graph: Graph, row: GraphRecord, key: Key, reading: Reading
) -> tuple[ExportedRecord, Key]:
    content, key = _opened(workspace, graph, row, key)
    if content is not None and row.kind == "conversation" and reading.own_ids is not None:
        content = naming_only(workspace, content, reading.own_ids)
    record = ExportedRecord(
        graph=graph.id,
        position=row.position,
        type=row.kind,
        id=row.name,
        source=row.source.name,
        recorded_at=row.recorded_at,
        expires_at=row.expires_at,
        is_readable=content is not None,
        content=content,
    )
    return record, key


def _opened(
    workspace: WorkspaceRef, graph: Graph, row: GraphRecord, key: Key
) -> tuple[msgspec.Raw | None, Key]:
    """Open a record; where all was sealed again since under another key, as it is now, and go on with that key."""
    try:
        return encryption.open_record(workspace, row, key).record, key
    except Tampered:
        newer = Graph.objects.filter(id=graph.id).exclude(data_key_id=key.id).first()
        again = access.records_of(graph).filter(id=row.id).first()
    try:
        if newer is not None and again is not None:
            key = encryption.graph_key(workspace, newer)
            return encryption.open_record(workspace, again, key).record, key
    except (KeyDestroyed, Tampered):
        pass
    _damaged(workspace, graph)
    return None, key


def _parts(workspace: WorkspaceRef, graph: Graph, row: GraphRecord, key: Key) -> Iterator[ExportedPart]:
    stored = Payload.objects.filter(record_id=row.id, state=Payload.State.STORED)
    for payload in stored.order_by("role"):
        try:
            yield from _parts_of(workspace, graph, row, payload, key)
        except Tampered:
            _damaged(workspace, graph)
            yield _part(graph, row, payload, 0, b"", is_last=True, is_readable=False)


def _parts_of(
    workspace: WorkspaceRef, graph: Graph, row: GraphRecord, payload: Payload, key: Key
) -> Iterator[ExportedPart]:
    number, held = 0, b""
    for part in parts_of(workspace, payload, key):
        if held:
            yield _part(graph, row, payload, number, held, is_last=False)
            number += 1
        held = part
    yield _part(graph, row, payload, number, held, is_last=True)


def _part(
    graph: Graph,
    row: GraphRecord,
    payload: Payload,
    number: int,
    content: bytes,
    *,
    is_last: bool,
    is_readable: bool = True,
) -> ExportedPart:
    is_whole = number == 0 and is_last
    text = _text(content) if is_whole and is_readable else None
    return ExportedPart(
        graph=graph.id,
        type=row.kind,
        id=row.name,
        role=payload.role,
        media_type=payload.media_type,
        size_bytes=payload.size_bytes,
        part=number,
        is_last=is_last,
        is_readable=is_readable,
        text=text,
        base64=content if text is None and is_readable else None,
    )


def _text(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _damaged(workspace: WorkspaceRef, graph: Graph) -> None:
    log.error("graph.damaged", extra={"workspace": str(workspace.id), "graph": str(graph.id)})
