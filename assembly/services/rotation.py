"""Sealing graphs again under new data keys, in bounded batches beside their writers (PL-12)."""

import logging
from datetime import datetime
from uuid import UUID

import msgspec
from django.db import transaction

from assembly import encryption
from assembly.models import Graph
from assembly.services.keys import reseal
from workspaces.errors import KeyDestroyed, Tampered
from workspaces.models import WrappedKey
from workspaces.types import WorkspaceRef

log = logging.getLogger("lastro.assembly")

BATCH = 100


class Resealed(msgspec.Struct, frozen=True):
    """What a batch did: how many graphs it sealed again, how many were busy, and where the next begins."""

    graphs: int = 0
    busy: int = 0
    last: UUID | None = None


def reseal_batch(
    *, workspace: WorkspaceRef, before: datetime, now: datetime, after: UUID | None = None
) -> Resealed:
    """Give new data keys to the bound workspace's graphs whose keys were made before a moment (PL-12).

    Nothing of what a graph says or when it ends changes. One that somebody writes to is left to a later pass. `last` is
    None at the end.
    """
    kept = Graph.objects.filter(data_key_id__isnull=False, erasure_id=None, id__gt=after or UUID(int=0))
    rows = list(kept.order_by("id").values_list("id", "data_key_id")[:BATCH])
    keys = WrappedKey.objects.filter(id__in=[key for _, key in rows], created_at__lt=before)
    old = set(keys.values_list("id", flat=True))
    done = [_reseal_alone(workspace, graph, key, now=now) for graph, key in rows if key in old]
    return Resealed(done.count(True), done.count(False), rows[-1][0] if rows else None)


def _reseal_alone(
    workspace: WorkspaceRef, graph_id: UUID, key_id: UUID | None, *, now: datetime
) -> bool | None:
    """Seal a graph again; none where it has another key by now, or opens no more, which stops no other."""
    try:
        return _reseal(workspace, graph_id, key_id, now=now)
    except (KeyDestroyed, Tampered):
        log.error("graph.damaged", extra={"workspace": str(workspace.id), "graph": str(graph_id)})
        return None


@transaction.atomic
def _reseal(workspace: WorkspaceRef, graph_id: UUID, key_id: UUID | None, *, now: datetime) -> bool | None:
    found = Graph.objects.filter(id=graph_id, data_key_id=key_id, erasure_id=None)
    graph = found.select_for_update(of=("self",), skip_locked=True).first()
    if graph is None:
        return False if found.exists() else None
    reseal(workspace, graph, encryption.graph_key(workspace, graph), now=now)
    graph.save(update_fields=["data_key_id"])
    return True
