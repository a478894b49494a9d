"""Sealing states again under new data keys, in bounded batches beside their writers (PL-12)."""

import logging
from datetime import datetime
from uuid import UUID

import msgspec
from django.db import transaction

from agentstate import access, encryption
from agentstate.models import State
from agentstate.rules import resends
from workspaces import coherence
from workspaces.encryption import retire_keys
from workspaces.errors import KeyDestroyed, Tampered
from workspaces.models import WrappedKey
from workspaces.types import WorkspaceRef

log = logging.getLogger("lastro.agentstate")

BATCH = 200


class Resealed(msgspec.Struct, frozen=True):
    """What a batch did: how many states it sealed again, how many somebody else held, and where the next begins."""

    states: int = 0
    busy: int = 0
    last: UUID | None = None


def reseal_batch(
    *, workspace: WorkspaceRef, before: datetime, now: datetime, after: UUID | None = None
) -> Resealed:
    """Give new data keys to the bound workspace's states whose keys were made before a moment (PL-12).

    Nothing here changes a version or a time (WM-9). What a state remembers of earlier writes loses the hashes of their
    bodies: a repeated Idempotency-Key still gets its first answer. `last` is None at the end.
    """
    live = State.objects.filter(life=State.Life.LIVE, erasure_id=None, id__gt=after or UUID(int=0))
    rows = list(live.order_by("id").values_list("id", "data_key_id")[:BATCH])
    keys = WrappedKey.objects.filter(id__in=[key for _, key in rows], created_at__lt=before)
    old = set(keys.values_list("id", flat=True))
    done = [_reseal_alone(workspace, state, key, now=now) for state, key in rows if key in old]
    return Resealed(done.count(True), done.count(False), rows[-1][0] if rows else None)


def _reseal_alone(
    workspace: WorkspaceRef, state_id: UUID, key_id: UUID | None, *, now: datetime
) -> bool | None:
    """Seal a state again; none where it has another key by now, or opens no more, which stops no other."""
    try:
        return _reseal(workspace, state_id, key_id, now=now)
    except (KeyDestroyed, Tampered):
        log.error("state.damaged", extra={"workspace": str(workspace.id), "state": str(state_id)})
        return None


@transaction.atomic
def _reseal(workspace: WorkspaceRef, state_id: UUID, key_id: UUID | None, *, now: datetime) -> bool | None:
    row = State.objects.filter(id=state_id, data_key_id=key_id, erasure_id=None).first()
    if row is None:
        return None
    name = access.hot_name(workspace, bytes(row.scope_hash), row.agent)
    # A writer that has the lock of the state is not waited for: the next pass comes again.
    if not coherence.try_lock(name):
        return False
    row = State.objects.select_for_update().filter(id=state_id, data_key_id=key_id, erasure_id=None).first()
    if row is None:
        return None
    coherence.changing_locked(name)
    plain, _ = encryption.open_plain(workspace, row)
    key = encryption.make_data_key(workspace, row.handle_id, now=now)
    retire_keys(workspace, row.data_key_id)
    encryption.seal_body(workspace, row, plain, key)
    kept = resends.without_bodies(resends.load(bytes(row.recent_writes)))
    row.recent_writes = resends.dump(kept)
    row.save(update_fields=["body", "data_key_id", "recent_writes"])
    return True
