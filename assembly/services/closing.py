"""Taking out all that a closed workspace keeps of the runtime graph, in bounded batches (PL-5b)."""

from datetime import datetime
from functools import partial

from django.db import transaction

from assembly.models import ContextAssembly, Graph, GraphRecord, LooseBlob
from assembly.services import payloads, removal
from workspaces import barriers
from workspaces.models import Erasure
from workspaces.types import Key, WorkspaceRef

GRAPHS_AT_ONCE = 20


@transaction.atomic
def take_out_batch(*, workspace: WorkspaceRef, erasure: Erasure, key: Key, now: datetime) -> bool:
    """Take out a batch of what the bound workspace's graphs hold, each thing noted, then of the graphs themselves.

    Blobs go last, those too that were still being written. It tells whether any is left. A row that somebody holds is
    left to the next batch. Raises Unavailable where the blob store does not answer.
    """
    if not Graph.objects.exists():
        payloads.sweep_blobs(now=now + payloads.WRITTEN_WITHIN)
        return is_anything_left()
    note = partial(barriers.note_all_erased, erasure, key=key)
    removal.take_assemblies(ContextAssembly.objects.all(), note=note)
    removal.take_records(GraphRecord.objects.all(), note=note, now=now)
    if not (ContextAssembly.objects.exists() or GraphRecord.objects.exists()):
        for graph in Graph.objects.select_for_update(skip_locked=True).order_by("id")[:GRAPHS_AT_ONCE]:
            removal.drop(workspace, graph)
    return is_anything_left()


def is_anything_left() -> bool:
    """Tell whether the bound workspace keeps any graph, alive or not, or any blob."""
    return Graph.objects.exists() or LooseBlob.objects.exists()
