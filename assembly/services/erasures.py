"""Erasing graphs: marked at the approval, then taken out in batches; what stays is sealed anew (PR-10 to PR-15)."""

from collections.abc import Collection
from datetime import timedelta
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet

from assembly import encryption
from assembly.documents import bounds_of
from assembly.models import ContextAssembly, Graph, GraphPerson, GraphRecord
from assembly.selectors import erasures as selectors
from assembly.services import keys, removal
from assembly.services.people import forget_people
from workspaces import barriers, documents
from workspaces.models import Erasure
from workspaces.types import Key, WorkspaceRef

BATCH = removal.BATCH
RECORDS = removal.RECORDS
GRAPHS_AT_ONCE = 20


@transaction.atomic
def mark(
    workspace: WorkspaceRef, erasure: Erasure, *, alone: Collection[bytes], is_again: bool = False
) -> int:
    """Mark what an erasure covers, so that nothing else comes to it; give how many records (PR-11).

    Whole graphs, and in those that name others too the person's participants' records with what derives from them. From
    then on they read as never there, and their names are free. Marking again comes to what was being written at the
    first time, and leaves alone what began after it.
    """
    whole = selectors.whole(erasure, alone=alone)
    if is_again:
        theirs = selectors.naming(erasure.handle_ids)
        whole = whole.filter(Q(id__in=theirs.values("id")) | Q(created_at__lte=erasure.began_at))
    going = set(_unmarked(whole).values_list("id", flat=True)) | set(_ending(erasure))
    rows = _unmarked(whole | selectors.shared(erasure, alone=alone)) | Graph.objects.filter(id__in=going)
    # In the order in which batches of records lock them.
    locked = rows.order_by("name", "id").select_for_update(of=("self",))
    return sum(_mark(workspace, graph, erasure, is_whole=graph.id in going) for graph in locked)


@transaction.atomic
def erase_batch(*, workspace: WorkspaceRef, erasure: Erasure, key: Key) -> int:
    """Take out a batch of what is marked, each thing noted; give how much is left (PR-13).

    A graph without records becomes a tombstone. One that names others too is sealed under another key as soon as
    nothing marked is left in it, and names the person no more.
    """
    note = partial(barriers.note_all_erased, erasure, key=key)
    marked = GraphRecord.objects.filter(erasure_id=erasure.id)
    told = ContextAssembly.objects.filter(Q(erasure_id=erasure.id) | Q(graph__erasure_id=erasure.id))
    removal.take_assemblies(told, note=note)
    removal.take_records(marked, note=note, now=erasure.began_at)
    for graph in _emptied(erasure):
        _end(workspace, graph, erasure)
    return marked.count() + told.count() + selectors.waiting(erasure).count()


def _unmarked(graphs: QuerySet[Graph]) -> QuerySet[Graph]:
    return graphs.filter(erasure_id=None)


def _ending(erasure: Erasure) -> list[UUID]:
    """List what names the person and is going since its time was over: it goes with them now."""
    ending = selectors.naming(erasure.handle_ids).filter(erasure_id=F("id"))
    return list(ending.values_list("id", flat=True))


def _mark(workspace: WorkspaceRef, graph: Graph, erasure: Erasure, *, is_whole: bool) -> int:
    return (_mark_whole if is_whole else _mark_theirs)(workspace, graph, erasure)


def _mark_whole(workspace: WorkspaceRef, graph: Graph, erasure: Erasure) -> int:
    removal.name_anew(workspace, graph)
    graph.erasure_id, graph.ended_at = erasure.id, erasure.began_at
    graph.save(update_fields=["identity_hash", "hash_key_id", "erasure_id", "ended_at"])
    return GraphRecord.objects.filter(graph=graph).update(erasure_id=erasure.id)


def _mark_theirs(workspace: WorkspaceRef, graph: Graph, erasure: Erasure) -> int:
    participants = selectors.participants_of(graph, erasure.handle_ids)
    theirs = selectors.theirs(graph, participants)
    marked = GraphRecord.objects.filter(id__in=theirs).update(erasure_id=erasure.id)
    # Also those that were marked before: an assembly of then may be kept since.
    names = GraphRecord.objects.filter(graph=graph, erasure_id=erasure.id).values_list("name", flat=True)
    told = selectors.telling(graph, participants, set(names))
    ContextAssembly.objects.filter(id__in=told).update(erasure_id=erasure.id)
    if graph.handle_id in erasure.handle_ids:
        _part_from_key(workspace, graph, erasure)
    return marked


def _part_from_key(workspace: WorkspaceRef, graph: Graph, erasure: Erasure) -> None:
    """Seal a graph under another key at once: what stays of it may not end with the key of the one whom it names."""
    key = encryption.graph_key(workspace, graph)
    graph.handle = None
    keys.reseal(workspace, graph, key, now=erasure.began_at)
    graph.save(update_fields=["handle", "data_key_id"])


def _emptied(erasure: Erasure) -> list[Graph]:
    """Lock some of the graphs in which nothing marked is left, but no row that somebody else holds."""
    busy = GraphRecord.objects.filter(erasure_id=erasure.id).values("graph_id")
    told = ContextAssembly.objects.filter(erasure_id=erasure.id).values("graph_id")
    rows = selectors.waiting(erasure).exclude(id__in=busy).exclude(id__in=told).order_by("id")
    return list(rows.select_for_update(of=("self",), skip_locked=True)[:GRAPHS_AT_ONCE])


def _end(workspace: WorkspaceRef, graph: Graph, erasure: Erasure) -> None:
    if graph.erasure_id is None:
        _seal_rest(workspace, graph, erasure)
    elif not ContextAssembly.objects.filter(graph=graph).exists():
        kept_for = bounds_of(documents.live("retention")).tombstone_seconds
        until = erasure.began_at + timedelta(seconds=kept_for)
        removal.entomb(workspace, graph, at=erasure.began_at, until=until)


def _seal_rest(workspace: WorkspaceRef, graph: Graph, erasure: Erasure) -> None:
    """Seal what stays of a graph under another key, in which the conversation names the person no more (PR-10)."""
    key = encryption.graph_key(workspace, graph)
    forget_people(workspace, graph, erasure.handle_ids, key)
    GraphPerson.objects.filter(graph=graph, handle_id__in=erasure.handle_ids).delete()
    named = list(GraphPerson.objects.filter(graph=graph).values_list("handle_id", flat=True).distinct()[:2])
    graph.handle_id = named[0] if len(named) == 1 else None
    keys.reseal(workspace, graph, key, now=erasure.began_at)
    graph.save(update_fields=["handle", "data_key_id"])
