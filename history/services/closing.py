"""Taking out all that a closed workspace keeps of history, in bounded batches (PL-5b)."""

from django.db import transaction

from history.models import KeptItem, Session
from history.services.erasures import note_gone
from history.services.lives import drop
from workspaces import barriers
from workspaces.models import Erasure
from workspaces.types import Key, WorkspaceRef

BATCH = 20
KEPT_AT_ONCE = 100


@transaction.atomic
def take_out_batch(*, workspace: WorkspaceRef, erasure: Erasure, key: Key) -> bool:
    """Take out a batch of the bound workspace's sessions and tombstones; tell whether any is left.

    Those that hold something are noted with their messages. A row that somebody holds is left to the next batch.
    """
    for session in Session.objects.select_for_update(skip_locked=True).order_by("id")[:BATCH]:
        if session.life != Session.Life.ERASED:
            note_gone(erasure, session, key)
        drop(workspace, session)
    return is_anything_left()


@transaction.atomic
def take_out_kept_items(*, erasure: Erasure, key: Key) -> bool:
    """Take out a batch of the messages that ended holds have kept; tell whether any is left."""
    rows = list(KeptItem.objects.select_for_update().order_by("id")[:KEPT_AT_ONCE])
    for row in rows:
        parts = (row.session_id.bytes, row.position.to_bytes(8, "big"), bytes(row.body))
        barriers.note_erased(erasure, "kept_messages", row.item_id, *parts, key=key)
    KeptItem.objects.filter(id__in=[row.id for row in rows]).delete()
    return KeptItem.objects.exists()


def is_anything_left() -> bool:
    """Tell whether the bound workspace keeps any session, alive or not."""
    return Session.objects.exists()
