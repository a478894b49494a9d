"""Adding items to a session: it costs what is added, whatever is there (HI-21)."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import cast
from uuid import uuid4

import msgspec
from django.db import transaction

from history import access, encryption
from history.errors import answered
from history.models import Item, Session
from history.rules.sessions import MAX_RETAINED_BYTES, require_room
from history.selectors.items import StoredRows
from history.services import capacity, lives
from history.services.reservations import reserved_session, session_to_extend
from history.types import Appended, AppendWish, Retention
from history.types import Place as SessionPlace
from lastro.history.formats import opens_turn
from lastro.history.records import Message, NewItem, Provider
from lastro.history.stores.appends import Append, Place, Row
from lastro.history.stores.encoding import decoded
from workspaces import barriers
from workspaces.rules.barriers import require_made_after
from workspaces.types import Key, WorkspaceRef


@transaction.atomic
def append(*, place: SessionPlace, wish: AppendWish, retention: Retention, now: datetime) -> Appended:
    """Add items under a reservation, or outside a decision under the lock of the session alone (HI-21).

    Raises HistoryNotFound, HistoryBusy, HistoryReservationLost, HistoryConflict, HistoryMessageInvalid,
    HistoryLimitExceeded, HistoryMismatch and SubjectErased; then nothing was stored.
    """
    if wish.token is not None:
        session, key = reserved_session(place, wish.token, retention, now=now)
    else:
        session, key = session_to_extend(place, wish, retention, now=now)
    added = extend(place, session, key, wish.items, retention, now=now)
    if wish.token is None and added.stored:
        session.is_kept = True
        lives.touch(session, retention, now=now)
    session.save()
    return added


def extend(
    place: SessionPlace,
    session: Session,
    key: Key,
    items: Sequence[NewItem],
    retention: Retention,
    *,
    now: datetime,
) -> Appended:
    """Insert items behind the leaf of a locked session, and bring its row up to date, unsaved."""
    require_new(place, session, items)
    workspace = place.workspace
    stored = StoredRows(workspace, session, key, items)
    before = Place(session.last_position, stored.leaf)
    with answered():
        append = Append(stored, before, now=now.timestamp(), new_id=_new_id)
        rows, after = append.add(items)
    added_bytes = sum(len(row.body) for row in rows)
    if rows:
        _require_room(workspace, session, retention, added_bytes=added_bytes, now=now)
        _insert(workspace, session, key, rows, stored)
        session.item_count += len(rows)
        session.stored_bytes += added_bytes
        session.last_position = after.last
    return Appended(
        positions=stored.positions(items, rows),
        stored=len(rows),
        count=session.item_count,
        bytes=session.stored_bytes,
    )


def require_new(place: SessionPlace, session: Session, items: Sequence[NewItem]) -> None:
    """Refuse what was recorded before an erasure of the person, the conversation or the session (PR-12)."""
    recorded = [item.recorded_at for item in items if item.recorded_at is not None]
    if not recorded:
        return
    oldest = datetime.fromtimestamp(min(recorded), UTC)
    if oldest >= session.created_at:
        # A life began after any erasure, and so did what was made in it.
        return
    names = [bytes(session.handle.hash)] if session.handle else []
    names += [bytes(session.conversation_hash)] if session.conversation_hash else []
    barriers.require_not_erased(names, written_at=oldest)
    require_after_tombstones(place, oldest)


def require_after_tombstones(place: SessionPlace, oldest: datetime) -> None:
    """Refuse what is older than an erasure of an earlier life of the same session (PR-12)."""
    erased = access.erased_sessions(place).order_by("-ended_at")
    last = erased.values_list("ended_at", flat=True).first()
    if last is not None:
        require_made_after(last, written_at=oldest)


def _require_room(
    workspace: WorkspaceRef, session: Session, retention: Retention, *, added_bytes: int, now: datetime
) -> None:
    needed = session.stored_bytes + added_bytes
    require_room("max_retained_bytes", needed=needed, allowed=MAX_RETAINED_BYTES)
    capacity.require_capacity(workspace, retention, added_bytes=added_bytes, now=now)


def _insert(
    workspace: WorkspaceRef, session: Session, key: Key, rows: Sequence[Row], stored: StoredRows
) -> None:
    """Seal and insert rows in one statement; what follows another item than the leaf makes a branch."""
    places = {row.id: row.position for row in rows}
    made = []
    for row in rows:
        parent = places.get(row.parent) or stored.position(row.parent)
        if row.kind not in ("opaque", "removal"):
            session.is_branched = session.is_branched or parent != session.leaf
            session.leaf = row.position
        made.append(_sealed(workspace, session, key, row, parent=parent))
    Item.objects.bulk_create(made)


def _sealed(workspace: WorkspaceRef, session: Session, key: Key, row: Row, *, parent: int) -> Item:
    item = Item(
        id=uuid4(),
        session=session,
        position=row.position,
        parent=parent,
        kind=row.kind,
        name_mac=encryption.name_mac(key, row.id),
        key_mac=encryption.dedupe_mac(key, row.key) if row.key else None,
        item_bytes=len(row.body),
        is_leading=row.leading,
        opens_turn=opens_turn_of(session, decoded(row.body)),
        is_provisional=row.provisional,
        recorded_at=datetime.fromtimestamp(row.recorded_at, UTC),
        expires_at=datetime.fromtimestamp(row.expires_at, UTC) if row.expires_at is not None else None,
    )
    encryption.seal_item(
        workspace, item, encryption.Opened(row.id, row.parent, row.key, msgspec.Raw(row.body)), key
    )
    return item


def opens_turn_of(session: Session, message: Message) -> bool | None:
    """Say whether a message opens a turn; unknown while the session has no provider."""
    provider = cast(Provider, session.provider)
    return opens_turn(provider, message) if provider else None


def _new_id() -> str:
    return secrets.token_hex(16)
