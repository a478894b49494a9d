"""The stored records that a batch names, and what they say (CA-3)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar, cast
from uuid import UUID

from django.db.models import Q

from assembly import encryption
from assembly.models import Graph, GraphRecord, Link, Payload
from assembly.rules.payloads import SHOWN_BYTES
from assembly.selectors.payloads import parts_of
from assembly.types import Mark, Opened
from lastro.assembly.records import Payload as SentPayload
from lastro.assembly.records import (
    Record,
    Reference,
    RunFinished,
    Supersession,
    ToolArtifact,
    ToolCall,
    ToolMemory,
    parse_record,
)
from workspaces.rules import json
from workspaces.types import Key, WorkspaceRef

JSON = json.Rules(max_depth=200, any_integer=True)
"""How deep records nest and how large their integers are: what a tool answers is not ours to bound more."""

Rows = Mapping[Reference, GraphRecord]
Asking = TypeVar("Asking", ToolCall, ToolArtifact)


def known_rows(references: Iterable[Reference]) -> dict[Reference, GraphRecord]:
    """Find the rows of records by their names, in one query and without what they say."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    for reference in references:
        names[reference.type].add(reference.id)
    named = Q()
    for kind, ids in sorted(names.items()):
        named |= Q(kind=kind, name__in=sorted(ids))
    rows = GraphRecord.objects.filter(named, erasure_id=None).defer("body")
    return {Reference(row.kind, row.name): row for row in rows}


def answers_to(calls: Collection[GraphRecord]) -> list[tuple[GraphRecord, str]]:
    """List what answers some calls, each with the call: their artifacts, and the runs that finished for them."""
    if not calls:
        return []
    artifacts = Q(member="call", record__kind=ToolArtifact.wire)
    finished = Q(member="parent_call", record__kind=RunFinished.wire)
    links = Link.objects.filter(artifacts | finished, target__in=calls, record__erasure_id=None)
    names = {call.pk: call.name for call in calls}
    found = links.select_related("record").defer("record__body")
    return [(link.record, names[link.target_id]) for link in found]


def older_memories(graphs: Collection[Graph]) -> dict[str, set[str]]:
    """Give which memories each memory of some graphs replaces, by its own word or by a later record's (CA-13)."""
    own = Q(member="supersedes", record__kind=ToolMemory.wire)
    later = Q(member__in=("memory", "supersedes"), record__kind=Supersession.wire)
    links = Link.objects.filter(own | later, graph__in=graphs, record__erasure_id=None)
    newer: dict[int, str] = {}
    olds: defaultdict[int, set[str]] = defaultdict(set)
    for record, kind, name, member, target in links.values_list(
        "record_id", "record__kind", "record__name", "member", "target__name"
    ):
        if kind == ToolMemory.wire:
            newer[record] = name
        if member == "memory":
            newer[record] = target
        else:
            olds[record].add(target)
    found: defaultdict[str, set[str]] = defaultdict(set)
    for record, replaced in olds.items():
        found[newer[record]] |= replaced
    return found


def mark_of(row: GraphRecord, call: str = "") -> Mark:
    """Give what later records have said of a stored one."""
    return Mark(
        reference=Reference(row.kind, row.name),
        recorded_at=row.recorded_at,
        call=call,
        status=row.state,
        settled_at=row.settled_at,
        taken_up_at=row.taken_up_at,
        promoted_at=row.promoted_at,
        shared_at=row.shared_at,
    )


def opened_calls(
    workspace: WorkspaceRef, calls: Collection[GraphRecord], keys: Mapping[UUID, Key]
) -> dict[str, ToolCall]:
    """Open calls, by their ids, with the arguments that are kept apart; `keys` are those of their graphs."""
    if not calls:
        return {}
    rows = list(GraphRecord.objects.filter(id__in=[call.pk for call in calls]))
    apart = arguments_apart(workspace, rows, keys)
    return {
        row.name: asked_with(
            cast(ToolCall, record_of(encryption.open_record(workspace, row, keys[row.graph_id]))),
            apart.get(row.pk),
        )
        for row in rows
    }


def asked_with(record: Asking, arguments: bytes | None) -> Asking:
    """Give a call or an artifact with the arguments that are kept apart from it, to be measured as one text (CA-16)."""
    if arguments is None:
        return record
    return replace(record, arguments=SentPayload(value=arguments.decode(errors="replace")))


def arguments_apart(
    workspace: WorkspaceRef, rows: Collection[GraphRecord], keys: Mapping[UUID, Key]
) -> dict[int, bytes]:
    """Give the arguments that are kept apart from some calls and artifacts, where they are there, by their rows."""
    kept = Payload.objects.filter(
        record__in=rows,
        role=Payload.Role.ARGUMENTS,
        state=Payload.State.STORED,
        size_bytes__lte=SHOWN_BYTES,
    )
    return {row.record_id: b"".join(parts_of(workspace, row, keys[row.graph_id])) for row in kept}


def stored_results(
    workspace: WorkspaceRef, artifacts: Collection[GraphRecord], keys: Mapping[UUID, Key]
) -> dict[str, bytes]:
    """Give the results of artifacts that are there and not too long ever to be shown, by the ids of the artifacts."""
    if not artifacts:
        return {}
    kept = Payload.objects.filter(record__in=artifacts, role=Payload.Role.RESULT, size_bytes__lte=SHOWN_BYTES)
    names = {artifact.pk: artifact.name for artifact in artifacts}
    return {
        names[row.record_id]: b"".join(parts_of(workspace, row, keys[row.graph_id]))
        for row in kept.filter(state=Payload.State.STORED)
    }


def payloads_of(rows: Collection[GraphRecord]) -> dict[tuple[int, str], Payload]:
    """Give the payloads of records by their row and role, without their bytes."""
    if not rows:
        return {}
    found = Payload.objects.filter(record__in=rows).defer("body", "blob_key")
    return {(payload.record_id, payload.role): payload for payload in found}


def record_of(opened: Opened) -> Record:
    """Read the record that a ciphertext held."""
    return parse_record(json.parse(bytes(opened.record), JSON))
