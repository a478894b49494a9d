"""Erasing history: sessions marked at the approval, then turned into tombstones in batches (PR-10 to PR-13)."""

from collections.abc import Collection

from django.db import transaction
from django.db.models import Q

from history import access
from history.documents import retention_of
from history.models import Item, Session
from history.selectors.erasures import covered
from history.services.lives import entomb
from workspaces import barriers, documents
from workspaces.models import Erasure
from workspaces.types import Key, WorkspaceRef

BATCH = 20
"""A session has up to 8 MiB."""
ITEMS_AT_ONCE = 100
SESSIONS, MESSAGES = "sessions", "messages"


@transaction.atomic
def mark(erasure: Erasure, *, alone: Collection[bytes], is_again: bool = False) -> int:
    """Mark what an erasure covers, so that nothing else comes to it; give how many sessions (PR-11).

    From then on they read as never there, and the token of a reservation on one is void (HI-5). Marking again comes to
    what was being written at the first time, and leaves alone what began after it.
    """
    rows = covered(erasure, alone=alone).filter(erasure_id=None)
    if is_again:
        rows = rows.filter(Q(handle_id__in=erasure.handle_ids) | Q(created_at__lte=erasure.began_at))
    found = list(rows.select_for_update(of=("self",)).values_list("id", flat=True))
    Session.objects.filter(id__in=found).update(erasure_id=erasure.id, ended_at=erasure.began_at)
    return len(found)


@transaction.atomic
def erase_batch(*, workspace: WorkspaceRef, erasure: Erasure, key: Key) -> int:
    """Turn marked sessions into tombstones, each noted with its messages; give how many are still marked (PR-13)."""
    retention = retention_of(documents.live("retention"))
    marked = Session.objects.filter(erasure_id=erasure.id)
    for session in marked.select_for_update(skip_locked=True).order_by("id")[:BATCH]:
        note_gone(erasure, session, key)
        entomb(workspace, session, retention, at=erasure.began_at, now=erasure.began_at)
    return marked.count()


def note_gone(erasure: Erasure, session: Session, key: Key) -> None:
    """Note a session and each of its messages with their digests, a few in memory at a time (PR-14)."""
    parts = (session.id.bytes, bytes(session.summary or b""))
    barriers.note_erased(erasure, SESSIONS, session.id, *parts, key=key)
    after = 0
    while rows := _items(session, after):
        gone = {row.id: (row.session_id.bytes, bytes(row.body)) for row in rows}
        barriers.note_all_erased(erasure, MESSAGES, gone, key=key)
        after = rows[-1].position


def _items(session: Session, after: int) -> list[Item]:
    rows = access.items_of(session).filter(position__gt=after, is_swept=False).order_by("position")
    return list(rows.only("id", "session_id", "position", "body")[:ITEMS_AT_ONCE])
