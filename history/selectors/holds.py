"""What a legal hold has kept of history, and what it holds as it stands (PR-16)."""

from collections.abc import Collection, Iterator
from datetime import datetime
from uuid import UUID

import msgspec
from django.db.models import Q, QuerySet

from history import access, encryption
from history.models import Item, KeptItem, Session
from history.types import SummaryValue
from workspaces.models import Hold
from workspaces.types import Key, WorkspaceRef

CHUNK = 50
"""A message has up to 8 MiB."""


class HeldMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message under a hold, or a summary, decrypted; `kept_at` is None for one that is still in its session."""

    session_id: UUID
    source_id: UUID
    conversation_hash: str
    handle_id: UUID | None
    kind: str
    position: int
    recorded_at: datetime | None
    kept_at: datetime | None
    message: msgspec.Raw | SummaryValue


def kept_items(hold: Hold) -> QuerySet[KeptItem]:
    """List what a hold has kept, in the order in which it was."""
    return KeptItem.objects.filter(hold=hold).order_by("id")


def kept_scopes(hold: Hold) -> set[bytes]:
    """Give the conversations of which a hold has kept something."""
    found = KeptItem.objects.filter(hold=hold, conversation_hash__isnull=False)
    scopes = found.values_list("conversation_hash", flat=True).distinct()
    return {bytes(scope) for scope in scopes if scope is not None}


def held_sessions(hold: Hold, scopes: Collection[bytes]) -> QuerySet[Session]:
    """List the sessions that a hold is on: of a person also those that name nobody in their conversations."""
    kept = Session.objects.exclude(life=Session.Life.ERASED)
    if hold.profile_id is None:
        return kept.filter(conversation_hash=hold.scope_hash)
    nobodys = Q(handle_id=None, conversation_hash__in=scopes)
    return kept.filter(Q(handle__profile_id=hold.profile_id) | nobodys)


def ended_sessions(hold: Hold) -> QuerySet[Session]:
    """List the sessions that expired or were deleted while a hold kept them."""
    over = (Session.Life.EXPIRED, Session.Life.DELETED)
    return held_sessions(hold, ()).filter(life__in=over, erasure_id=None).select_related("handle")


def held_messages(workspace: WorkspaceRef, hold: Hold, scopes: Collection[bytes]) -> Iterator[HeldMessage]:
    """Decrypt what a hold has kept, oldest first, and then what stands. Raises KeyDestroyed, Tampered."""
    for kept in kept_items(hold).iterator(chunk_size=CHUNK):
        yield _kept(workspace, kept)
    for session in held_sessions(hold, scopes).order_by("id").iterator(chunk_size=CHUNK):
        yield from _standing(workspace, session)


def count_held(hold: Hold, scopes: Collection[bytes]) -> int:
    """Count the messages and summaries that a hold has kept, and those that stand."""
    sessions = held_sessions(hold, scopes)
    standing = Item.objects.filter(session__in=sessions, is_swept=False).count()
    return kept_items(hold).count() + standing + sessions.filter(summary__isnull=False).count()


def _kept(workspace: WorkspaceRef, kept: KeptItem) -> HeldMessage:
    key = encryption.open_key_of(workspace, kept.handle_id, kept.data_key_id)
    message: msgspec.Raw | SummaryValue
    if kept.kind == KeptItem.SUMMARY:
        session = Session(id=kept.session_id, summary=kept.body, summary_version=kept.position)
        message = encryption.open_summary(workspace, session, key)
    else:
        item = Item(id=kept.item_id, session_id=kept.session_id, position=kept.position, body=kept.body)
        message = encryption.open_item(workspace, item, key).message
    return HeldMessage(
        session_id=kept.session_id,
        source_id=kept.source_id,
        conversation_hash=bytes(kept.conversation_hash or b"").hex(),
        handle_id=kept.handle_id,
        kind=kept.kind,
        position=kept.position,
        recorded_at=kept.recorded_at,
        kept_at=kept.kept_at,
        message=message,
    )


def _standing(workspace: WorkspaceRef, session: Session) -> Iterator[HeldMessage]:
    key = encryption.session_key(workspace, session)
    if session.summary is not None:
        summary = encryption.open_summary(workspace, session, key)
        yield _held(session, KeptItem.SUMMARY, session.summary_version, None, summary)
    rows = access.items_of(session).filter(is_swept=False).order_by("position")
    for row in rows.iterator(chunk_size=CHUNK):
        yield _opened(workspace, session, row, key)


def _opened(workspace: WorkspaceRef, session: Session, row: Item, key: Key) -> HeldMessage:
    opened = encryption.open_item(workspace, row, key)
    return _held(session, row.kind, row.position, row.recorded_at, opened.message)


def _held(
    session: Session,
    kind: str,
    position: int,
    recorded_at: datetime | None,
    message: msgspec.Raw | SummaryValue,
) -> HeldMessage:
    return HeldMessage(
        session_id=session.id,
        source_id=session.source_id,
        conversation_hash=bytes(session.conversation_hash or b"").hex(),
        handle_id=session.handle_id,
        kind=kind,
        position=position,
        recorded_at=recorded_at,
        kept_at=None,
        message=message,
    )
