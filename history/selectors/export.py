"""What history holds about a person, for their package (PR-18, HI-22)."""

import logging
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import cast
from uuid import UUID

import msgspec
from django.db.models import Q, QuerySet

from history import access, encryption
from history.documents import retention_of
from history.models import Item, Session
from history.selectors.expiry import expired_positions
from history.selectors.items import BESIDE, unremoved_records
from history.selectors.sessions import is_live, summary_of, valid_until
from history.types import ExportedMessage, ExportedSession, Retention
from lastro.history.records import Kind
from workspaces.documents import Live
from workspaces.errors import KeyDestroyed, Tampered
from workspaces.types import Key, WorkspaceRef

log = logging.getLogger("lastro.history")

SESSIONS_AT_ONCE = 50
ITEMS_AT_ONCE = 8
"""A message has up to 8 MiB."""


def export_subject(
    workspace: WorkspaceRef,
    handle_ids: Sequence[UUID],
    live: Live,
    *,
    alone: Collection[bytes],
    now: datetime,
) -> Iterator[ExportedSession | ExportedMessage]:
    """Give the sessions that name a person, or nobody in a conversation that names them alone, each with its messages.

    Messages are as they were received, byte for byte. What has expired or was removed is absent, and so is what has
    lost its keys. A session that does not verify is given without its messages, and a message so without its content.
    """
    theirs = Q(handle_id__in=handle_ids) | Q(handle_id=None, conversation_hash__in=alone)
    retention = retention_of(live)
    for session in each_session(Session.objects.filter(theirs), retention, now=now):
        yield from opened_records(workspace, session, retention, now=now)


def each_session(rows: QuerySet[Session], retention: Retention, *, now: datetime) -> Iterator[Session]:
    """Give the sessions among some that are served, in the order of their ids, a few in memory at a time."""
    rows = rows.filter(life=Session.Life.LIVE, erasure_id=None).order_by("id")
    rows = rows.select_related("source", "handle")
    after = UUID(int=0)
    while found := list(rows.filter(id__gt=after)[:SESSIONS_AT_ONCE]):
        yield from (session for session in found if is_live(session, retention, now=now))
        after = found[-1].id


def opened_records(
    workspace: WorkspaceRef, session: Session, retention: Retention, *, now: datetime
) -> Iterator[ExportedSession | ExportedMessage]:
    """Give a session and its messages in the order of storing; nothing of one whose keys are gone."""
    try:
        key = encryption.session_key(workspace, session)
        opaque = _opaque(workspace, session, key, now=now)
        expired = _expired(workspace, session, key, now=now)
        summary = summary_of(workspace, session, key, now=now)
    except KeyDestroyed:
        return
    except Tampered:
        _damaged(workspace, session)
        yield _session(session, retention, is_readable=False)
        return
    yield _session(session, retention, summary=summary.text if summary else None)
    for row in _rows(session):
        if row.position in opaque if row.kind == Item.Kind.OPAQUE else row.position not in expired:
            message, key = _opened(workspace, session, row, key)
            yield _message(session, row, message)


def _opaque(workspace: WorkspaceRef, session: Session, key: Key, *, now: datetime) -> set[int]:
    """Give the places of the other frameworks' records that no removal took."""
    records = list(access.items_of(session).filter(kind__in=BESIDE, is_swept=False).order_by("position"))
    return {row.position for row in unremoved_records(workspace, records, key, now=now)}


def _expired(workspace: WorkspaceRef, session: Session, key: Key, *, now: datetime) -> set[int]:
    """Give the places of the messages that have expired, with the exchanges that they belong to (HI-23)."""
    rows = access.items_of(session).filter(is_swept=False).exclude(kind__in=BESIDE).defer("body")
    return set(expired_positions(workspace, session, {row.position: row for row in rows}, key, now=now))


def _rows(session: Session) -> Iterator[Item]:
    rows = access.items_of(session).filter(is_swept=False).order_by("position")
    rows = rows.exclude(kind=Item.Kind.REMOVAL)
    after = 0
    while found := list(rows.filter(position__gt=after)[:ITEMS_AT_ONCE]):
        yield from found
        after = found[-1].position


def _session(
    session: Session, retention: Retention, *, summary: str | None = None, is_readable: bool = True
) -> ExportedSession:
    return ExportedSession(
        session=session.id,
        source=session.source.name,
        provider=session.provider or None,
        model=session.model or None,
        interface=session.interface or None,
        content_mode=session.content_mode or None,
        created_at=session.created_at,
        touched_at=session.touched_at,
        valid_until=min(session.due_at, valid_until(session, retention)),
        items=session.item_count,
        summary=summary,
        is_readable=is_readable,
    )


def _opened(workspace: WorkspaceRef, session: Session, row: Item, key: Key) -> tuple[msgspec.Raw | None, Key]:
    """Open a message; where all was sealed again since under another key, as it is now, and go on with that key."""
    try:
        return encryption.open_item(workspace, row, key).message, key
    except Tampered:
        newer = Session.objects.filter(id=session.id).exclude(data_key_id=key.id).first()
        again = access.items_of(session).filter(id=row.id, is_swept=False).first()
    try:
        if newer is not None and again is not None:
            key = encryption.session_key(workspace, newer)
            return encryption.open_item(workspace, again, key).message, key
    except (KeyDestroyed, Tampered):
        pass
    _damaged(workspace, session)
    return None, key


def _message(session: Session, row: Item, message: msgspec.Raw | None) -> ExportedMessage:
    return ExportedMessage(
        session=session.id,
        position=row.position,
        follows=row.parent,
        kind=cast(Kind, row.kind),
        recorded_at=row.recorded_at,
        expires_at=row.expires_at,
        is_readable=message is not None,
        message=message,
    )


def _damaged(workspace: WorkspaceRef, session: Session) -> None:
    log.error("session.damaged", extra={"workspace": str(workspace.id), "session": str(session.id)})
