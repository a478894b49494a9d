"""Taking records, payloads and assemblies out of the database, and the end of a graph's row (PR-10, PR-12, PR-20)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from assembly import access
from assembly.models import ContextAssembly, Graph, GraphPerson, GraphRecord, Link, Payload, PolicyDecision
from assembly.services import payloads
from workspaces.encryption import retire_keys
from workspaces.types import WorkspaceRef

BATCH = 500
PAYLOADS_AT_ONCE = 100
"""One in its row has up to 64 KiB."""
RECORDS, PAYLOADS, ASSEMBLIES = "graph_records", "payloads", "assemblies"

Note = Callable[[str, Mapping[UUID, Iterable[bytes]]], object]
"""Notes what goes, by kind: each by an id, with what it was made of."""


def note_nothing(kind: str, gone: Mapping[UUID, Iterable[bytes]]) -> None:
    """Keep no note: what went had only reached its time."""


def take_assemblies(rows: QuerySet[ContextAssembly], *, note: Note = note_nothing) -> int:
    """Take out a batch of assemblies with their decisions; give how many."""
    found = list(rows.select_for_update(of=("self",), skip_locked=True).order_by("id")[:BATCH])
    note(ASSEMBLIES, {row.id: (row.id.bytes, bytes.fromhex(row.digest)) for row in found})
    ids = [row.id for row in found]
    PolicyDecision.objects.filter(assembly_id__in=ids).delete()
    ContextAssembly.objects.filter(id__in=ids).delete()
    return len(ids)


def take_records(rows: QuerySet[GraphRecord], *, note: Note = note_nothing, now: datetime) -> tuple[int, int]:
    """Take out a batch of records with their payloads and with what was said of them; give how many of each.

    Payloads go first, a bounded number at a time, and a record once it has none: so no blob is left that nothing names.
    The graphs are locked; one that somebody else holds is left to the next batch.
    """
    found = _in_locked_graphs(list(rows.order_by("graph_id", "id")[:BATCH]))
    removed = _take_payloads([row.id for row in found], note, now=now)
    left = set(Payload.objects.filter(record__in=found).values_list("record_id", flat=True))
    gone = {row.id: row for row in found if row.id not in left}
    note(RECORDS, {UUID(int=row.id): (row.graph_id.bytes, bytes(row.body)) for row in gone.values()})
    drop_records(list(gone))
    return len(gone), removed


def drop_records(ids: Sequence[int]) -> None:
    """Delete records without payloads, and what they say of others and others of them."""
    Link.objects.filter(record_id__in=ids).delete()
    Link.objects.filter(target_id__in=ids).delete()
    GraphRecord.objects.filter(id__in=ids).delete()


def entomb(workspace: WorkspaceRef, graph: Graph, *, at: datetime, until: datetime) -> None:
    """Turn the row of a graph without records into the tombstone of an erasure: no name, no key (PR-12)."""
    retire_keys(workspace, graph.data_key_id)
    GraphPerson.objects.filter(graph=graph).delete()
    name_anew(workspace, graph)
    graph.life, graph.ended_at, graph.due_at, graph.erasure_id = Graph.Life.ERASED, at, until, None
    graph.name, graph.position = "", 0
    graph.handle = graph.data_key_id = graph.conversation_hash = graph.conversation_key_id = None
    graph.save()


def drop(workspace: WorkspaceRef, graph: Graph) -> None:
    """Delete the row of a graph without records, with its key."""
    retire_keys(workspace, graph.data_key_id)
    GraphPerson.objects.filter(graph=graph).delete()
    graph.delete()


def name_anew(workspace: WorkspaceRef, graph: Graph) -> None:
    """Hash the name of a graph under the hash key of now, its row unsaved, while the name is known (PL-12)."""
    if graph.name:
        place = access.place_of(workspace, graph.name)
        graph.identity_hash, graph.hash_key_id = place.identity_hash, place.hash_key_id


def _in_locked_graphs(rows: Sequence[GraphRecord]) -> list[GraphRecord]:
    graphs = Graph.objects.filter(id__in={row.graph_id for row in rows}).order_by("name", "id")
    locked = set(graphs.select_for_update(skip_locked=True).values_list("id", flat=True))
    return [row for row in rows if row.graph_id in locked]


def _take_payloads(record_ids: Sequence[int], note: Note, *, now: datetime) -> int:
    rows = Payload.objects.filter(record_id__in=record_ids).order_by("id")
    found = list(rows[:PAYLOADS_AT_ONCE])
    note(PAYLOADS, {row.id: (row.id.bytes, bytes(row.address), bytes(row.body or b"")) for row in found})
    return payloads.remove(Payload.objects.filter(id__in=[row.id for row in found]), now=now)
