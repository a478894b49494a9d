"""What a request names: its branch and the lineage above it, its messages, its checkpoint and what that names."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from django.db import connection

from assembly.errors import UnknownReference
from assembly.models import GraphRecord
from assembly.selectors.graphs import SeenGraph
from lastro.assembly.records import (
    Branch,
    ContinuationCheckpoint,
    Message,
    ModelRun,
    Participant,
    Reference,
)
from lastro.assembly.snapshot import AssemblyRequest, Fork, Lineage, lineage_for

Rows = Mapping[Reference, GraphRecord]

_NAMED_COLUMNS = ("id", "kind", "name", "branch", "participant", "placed_at", "placed_name")
_UPWARDS = """
WITH RECURSIVE up AS (
    SELECT r.name, r.branch, r.placed_at, r.placed_name, 1 AS depth
    FROM assembly_graphrecord r
    WHERE r.workspace_id = %(workspace)s AND r.graph_id = %(graph)s AND r.kind = 'branch'
        AND r.name = ANY(%(branches)s) AND r.position <= %(position)s AND r.erasure_id IS NULL
    UNION ALL
    SELECT r.name, r.branch, r.placed_at, r.placed_name, up.depth + 1
    FROM up JOIN assembly_graphrecord r
        ON r.workspace_id = %(workspace)s AND r.kind = 'branch' AND r.name = up.branch AND r.erasure_id IS NULL
    WHERE r.graph_id = %(graph)s AND r.position <= %(position)s
        AND up.placed_at IS NOT NULL AND up.depth <= %(depth)s
)
SELECT DISTINCT name, branch, placed_at, placed_name FROM up WHERE branch <> '' AND placed_at IS NOT NULL
"""
_OF_CHECKPOINT = """
SELECT r.name FROM assembly_link l JOIN assembly_graphrecord r ON r.id = l.target_id
WHERE l.record_id = %(checkpoint)s AND l.member IN ('memories', 'messages')
    AND l.workspace_id = %(workspace)s AND r.workspace_id = %(workspace)s
UNION
SELECT r.name FROM assembly_link l
    JOIN assembly_link answer ON answer.target_id = l.target_id AND answer.member = 'call'
    JOIN assembly_graphrecord r ON r.id = answer.record_id
WHERE l.record_id = %(checkpoint)s AND l.member = 'waits_for'
    AND r.kind = 'tool_artifact' AND r.position <= %(position)s
    AND l.workspace_id = %(workspace)s AND answer.workspace_id = %(workspace)s AND r.workspace_id = %(workspace)s
"""


# One look into an index for each name, which the planner sees by itself only of a table that it knows.
_BY_NAME = """
SELECT {columns} FROM unnest(%(kinds)s::text[], %(names)s::text[]) AS n(kind, name) CROSS JOIN LATERAL (
    SELECT * FROM assembly_graphrecord r
    WHERE r.workspace_id = %(workspace)s AND r.kind = n.kind AND r.name = n.name AND r.erasure_id IS NULL OFFSET 0
) r
WHERE r.graph_id = %(graph)s AND r.position <= %(position)s
""".replace("{columns}", ", ".join(f"r.{column}" for column in _NAMED_COLUMNS))


class Named(msgspec.Struct, frozen=True):
    """The lineage of a request, and the ids that it or its checkpoint asks for."""

    lineage: Lineage
    ids: frozenset[str]


def require_named(seen: SeenGraph, request: AssemblyRequest) -> Rows:
    """Give the rows that a request names. Raises UnknownReference with the place of the first that is not there.

    A run of another participant is as one that is not there: nobody sees by the name of another's run.
    """
    rows = named_rows(seen, request)
    for pointer, name in _names(request):
        if not _is_there(rows.get(name), request):
            raise UnknownReference(pointer)
    return rows


def named_rows(seen: SeenGraph, request: AssemblyRequest) -> Rows:
    """Give the rows that a request names, as far as they are there."""
    names = {name for _, name in _names(request)}
    if request.checkpoint:
        names.add(Reference(ContinuationCheckpoint.wire, request.checkpoint))
    asked = {**_place(seen), "kinds": [name.type for name in names], "names": [name.id for name in names]}
    found = GraphRecord.objects.raw(_BY_NAME, asked)
    return {Reference(row.kind, row.name): row for row in found}


def named_by(seen: SeenGraph, request: AssemblyRequest, rows: Rows, *, depth: int) -> Named:
    """Give the lineage of a request, at most `depth` branches up, and what it asks for by name (CA-10, CA-11)."""
    parents = {
        row.name: (row.branch, (row.placed_at, row.placed_name))
        for name, row in rows.items()
        if name.type == Message.wire and row.placed_at is not None
    }
    begun = {request.branch, *(branch for branch, _ in parents.values())}
    lineage = lineage_for(request, forks=_forks(seen, begun, depth), parents=parents, depth=depth)
    own = (request.checkpoint, request.answers, *request.need_exact)
    checkpoint = rows.get(Reference(ContinuationCheckpoint.wire, request.checkpoint or ""))
    beside = _names_of(seen, checkpoint) if checkpoint else ()
    return Named(lineage, frozenset(filter(None, (*own, *beside))))


def _names(request: AssemblyRequest) -> Iterator[tuple[str, Reference]]:
    yield "/branch", Reference(Branch.wire, request.branch)
    yield "/participant", Reference(Participant.wire, request.participant)
    if request.run:
        yield "/run", Reference(ModelRun.wire, request.run)
    if request.answers:
        yield "/answers", Reference(Message.wire, request.answers)
    for number, parent in enumerate(request.parents):
        yield f"/parents/{number}", Reference(Message.wire, parent)


def _is_there(row: GraphRecord | None, request: AssemblyRequest) -> bool:
    if row is None:
        return False
    return row.kind != ModelRun.wire or row.participant in ("", request.participant)


def _forks(seen: SeenGraph, branches: Iterable[str], depth: int) -> dict[str, Fork]:
    asked = {**_place(seen), "branches": sorted(branches), "depth": depth}
    with connection.cursor() as cursor:
        cursor.execute(_UPWARDS, asked)
        return {name: Fork(parent, (at, place)) for name, parent, at, place in cursor.fetchall()}


def _names_of(seen: SeenGraph, checkpoint: GraphRecord) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(_OF_CHECKPOINT, {**_place(seen), "checkpoint": checkpoint.id})
        return [name for (name,) in cursor.fetchall()]


def _place(seen: SeenGraph) -> dict[str, Any]:
    return {"workspace": seen.workspace.id, "graph": seen.row.id, "position": seen.position}
