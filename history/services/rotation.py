"""Sealing sessions again under new data keys, in bounded batches beside their writers (PL-12)."""

import logging
from datetime import datetime
from uuid import UUID

import msgspec
from django.db import transaction

from history import encryption
from history.models import Session
from history.services.names import reseal
from workspaces.errors import KeyDestroyed, Tampered
from workspaces.models import WrappedKey
from workspaces.types import WorkspaceRef

log = logging.getLogger("lastro.history")

BATCH = 100


class Resealed(msgspec.Struct, frozen=True):
    """What a batch did: how many sessions it sealed again, how many were busy, and where the next begins."""

    sessions: int = 0
    busy: int = 0
    last: UUID | None = None


def reseal_batch(
    *, workspace: WorkspaceRef, before: datetime, now: datetime, after: UUID | None = None
) -> Resealed:
    """Give new data keys to the bound workspace's sessions whose keys were made before a moment (PL-12).

    Nothing of what a session says or when it ends changes. One on which a decision runs is left to a later pass: its
    worker may ask for its token again, which comes from the key. `last` is None at the end.
    """
    kept = Session.objects.filter(data_key_id__isnull=False, erasure_id=None, id__gt=after or UUID(int=0))
    rows = list(kept.order_by("id").values_list("id", "data_key_id")[:BATCH])
    keys = WrappedKey.objects.filter(id__in=[key for _, key in rows], created_at__lt=before)
    old = set(keys.values_list("id", flat=True))
    done = [_reseal_alone(workspace, session, key, now=now) for session, key in rows if key in old]
    return Resealed(done.count(True), done.count(False), rows[-1][0] if rows else None)


def _reseal_alone(
    workspace: WorkspaceRef, session_id: UUID, key_id: UUID | None, *, now: datetime
) -> bool | None:
    """Seal a session again; none where it has another key by now, or opens no more, which stops no other."""
    try:
        return _reseal(workspace, session_id, key_id, now=now)
    except (KeyDestroyed, Tampered):
        log.error("session.damaged", extra={"workspace": str(workspace.id), "session": str(session_id)})
        return None


@transaction.atomic
def _reseal(workspace: WorkspaceRef, session_id: UUID, key_id: UUID | None, *, now: datetime) -> bool | None:
    found = Session.objects.filter(id=session_id, data_key_id=key_id, erasure_id=None)
    session = found.select_for_update(of=("self",), skip_locked=True).first()
    if session is None:
        return False if found.exists() else None
    if session.reserved_at is not None:
        return False
    reseal(workspace, session, encryption.session_key(workspace, session), now=now)
    session.save(update_fields=["data_key_id", "summary", "begin_mac"])
    return True
