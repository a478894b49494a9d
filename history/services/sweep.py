"""What has expired leaves what is stored, in bounded batches, safe with many workers (HI-23, PR-20)."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from django.db import transaction

from history import access, encryption
from history.models import HistorySweep, Item, Session
from history.selectors.expiry import expired_positions
from history.selectors.items import BESIDE, unremoved_records
from history.selectors.sessions import valid_until
from history.selectors.sweeps import backlog, due_sessions, sessions_with_due_items
from history.services import lives
from history.types import Retention
from workspaces.errors import KeyDestroyed, Tampered
from workspaces.types import Key, WorkspaceRef

log = logging.getLogger("lastro.history")

BATCH = 100
ITEMS_BATCH = 20
LOOK_AGAIN = timedelta(hours=1)
KEPT_FOR = timedelta(days=30)


class Swept(msgspec.Struct, frozen=True):
    """How many rows a batch looked at, and what it removed."""

    looked_at: int = 0
    sessions: int = 0
    items: int = 0
    tombstones: int = 0
    damaged: int = 0

    def __add__(self, other: "Swept") -> "Swept":
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return Swept(*(a + b for a, b in pairs))


@transaction.atomic
def sweep_sessions(*, workspace: WorkspaceRef, retention: Retention, now: datetime) -> Swept:
    """End a batch of the bound workspace's sessions that are due, and let the others follow the live retention.

    Rows that another worker or a request holds are skipped.
    """
    rows = due_sessions(retention, now=now).select_for_update(of=("self",), skip_locked=True)[:BATCH]
    swept = Swept(looked_at=len(rows))
    for session in rows:
        swept += _settle(workspace, session, retention, now=now)
    return swept


@transaction.atomic
def sweep_items(
    *, workspace: WorkspaceRef, after: UUID | None = None, now: datetime
) -> tuple[Swept, UUID | None]:
    """Take out of a batch of idle sessions what expired before them, and the records that were removed (HI-25).

    A session under a legal hold keeps all of it (PR-16). One that does not verify is named in the log. The next batch
    begins after the session that is given beside the counts; none at the end.
    """
    rows = sessions_with_due_items(now=now).select_for_update(of=("self",), skip_locked=True)
    found = list(rows.filter(id__gt=after or UUID(int=0)).order_by("id")[:ITEMS_BATCH])
    swept = Swept(looked_at=len(found))
    for session in found:
        if not lives.is_held(session, now=now):
            swept += _sweep_alone(workspace, session, now=now)
    return swept, found[-1].id if found else None


@transaction.atomic
def note_run(*, swept: Swept, retention: Retention, began_at: datetime, now: datetime) -> HistorySweep:
    """Keep for 30 days what a run of the sweep removed by kind, and what it left behind."""
    removed = {"sessions": swept.sessions, "items": swept.items, "tombstones": swept.tombstones}
    return HistorySweep.objects.create(
        began_at=began_at,
        ended_at=now,
        removed=removed,
        damaged=swept.damaged,
        backlog=backlog(retention, now=now),
    )


@transaction.atomic
def forget_old_runs(*, now: datetime) -> int:
    """Forget a batch of the runs that ended more than 30 days ago; give how many."""
    old = HistorySweep.objects.filter(ended_at__lte=now - KEPT_FOR).select_for_update(skip_locked=True)
    found = list(old.order_by("ended_at").values_list("id", flat=True)[:BATCH])
    HistorySweep.objects.filter(id__in=found).delete()
    return len(found)


def _settle(workspace: WorkspaceRef, session: Session, retention: Retention, *, now: datetime) -> Swept:
    if session.life == Session.Life.ERASED:
        return _settle_tombstone(session, retention, now=now)
    if session.life != Session.Life.LIVE:
        return _settle_held(workspace, session, retention, now=now)
    session.due_at = min(session.due_at, valid_until(session, retention))
    session.retention_document = retention.document
    if session.due_at > now:
        session.save(update_fields=["due_at", "retention_document"])
        return Swept()
    lives.end(workspace, session, into=Session.Life.EXPIRED, now=now)
    return Swept(sessions=1)


def _settle_tombstone(session: Session, retention: Retention, *, now: datetime) -> Swept:
    if session.due_at <= now:
        session.delete()
        return Swept(tombstones=1)
    session.retention_document = retention.document
    session.save(update_fields=["retention_document"])
    return Swept()


def _settle_held(workspace: WorkspaceRef, session: Session, retention: Retention, *, now: datetime) -> Swept:
    """Let go of what ended under a legal hold, once that has ended too."""
    if session.due_at <= now and not lives.is_held(session, now=now):
        lives.drop(workspace, session)
        return Swept(sessions=1)
    session.due_at, session.retention_document = max(session.due_at, now + LOOK_AGAIN), retention.document
    session.save(update_fields=["due_at", "retention_document"])
    return Swept()


def _sweep_alone(workspace: WorkspaceRef, session: Session, *, now: datetime) -> Swept:
    """Sweep one session; one that does not verify, or has lost its key, stops no other and ends by its own time."""
    try:
        with transaction.atomic():
            return _sweep(workspace, session, encryption.session_key(workspace, session), now=now)
    except (Tampered, KeyDestroyed):
        log.error("session.damaged", extra={"workspace": str(workspace.id), "session": str(session.id)})
        Item.objects.filter(session=session, expires_at__lte=now).update(expires_at=session.due_at)
        return Swept(damaged=1)


def _sweep(workspace: WorkspaceRef, session: Session, key: Key, *, now: datetime) -> Swept:
    rows = list(access.items_of(session).filter(is_swept=False).order_by("position"))
    records = [row for row in rows if row.kind in BESIDE]
    kept = {row.position for row in unremoved_records(workspace, records, key, now=now)}
    gone = [row for row in records if row.position not in kept]
    messages = {row.position: row for row in rows if row.kind not in BESIDE}
    emptied = [messages[at] for at in expired_positions(workspace, session, messages, key, now=now)]
    session.item_count -= len(gone) + len(emptied)
    session.stored_bytes -= sum(row.item_bytes for row in (*gone, *emptied))
    Item.objects.filter(id__in=[row.id for row in gone]).delete()
    _empty(workspace, emptied, key)
    if session.summary_expires_at is not None and session.summary_expires_at <= now:
        session.summary = session.summary_expires_at = None
    session.save()
    return Swept(items=len(gone) + len(emptied))


def _empty(workspace: WorkspaceRef, rows: Sequence[Item], key: Key) -> None:
    """Keep of messages no more than their ids, through which the path to what is older goes."""
    for row in rows:
        opened = encryption.open_item(workspace, row, key)
        row.is_swept, row.expires_at, row.key_mac, row.item_bytes = True, None, None, 0
        row.opens_turn = None
        bare = encryption.Opened(opened.id, opened.parent, "", msgspec.Raw(b"{}"))
        encryption.seal_item(workspace, row, bare, key)
    fields = ["is_swept", "expires_at", "key_mac", "item_bytes", "opens_turn", "body"]
    Item.objects.bulk_update(rows, fields)
