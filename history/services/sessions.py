"""Whole sessions: forking, deleting, and knowing that one is not there (HI-6, HI-21)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from uuid import uuid4

from django.db import transaction

from history import access, encryption
from history.errors import HistoryConflict, HistoryNotFound
from history.models import Item, Session
from history.selectors.items import SessionItems, position_of
from history.selectors.sessions import head_of, is_live, locked_session, require_idle, summary_of
from history.services import capacity, lives
from history.services.appends import append
from history.types import Appended, AppendWish, Naming, Place, Retention, SessionHead
from lastro.history.stores.appends import removal
from workspaces.types import Key


@transaction.atomic
def fork(*, place: Place, to: Place, at: str, retention: Retention, now: datetime) -> SessionHead:
    """Make a new session that shares the messages from the root to an item, and what is pinned (HI-21).

    It names the same person and conversation, and is erased and expires by itself: what is shared is sealed again under
    its own key. Raises HistoryNotFound for an unknown session or item, HistoryBusy, HistoryConflict where the new one
    is there already, and HistoryLimitExceeded.
    """
    session, key = locked_session(place, retention, now=now)
    require_idle(session)
    position = position_of(session, key, at)
    if position is None:
        raise HistoryNotFound
    source = SessionItems(place.workspace, session, key, leaf=position, up_to=position)
    rows = list(source.rows_of_path())[::-1]
    if not rows:
        raise HistoryNotFound
    needed = sum(row.item_bytes for row in rows)
    capacity.require_capacity(place.workspace, retention, sessions=1, added_bytes=needed, now=now)
    new, new_key = _made(to, session, retention, now=now)
    _copy(place, rows, key, new, new_key)
    _describe(place, session, key, new, new_key, now=now)
    new.save()
    return head_of(place.workspace, new, new_key, retention, now=now)


@transaction.atomic
def delete(*, place: Place, retention: Retention, now: datetime) -> bool:
    """Remove an idle session; tell whether there was one: a second time is no error (HI-6). Raises HistoryBusy."""
    session = access.live_session(place, is_locked=True)
    if session is None or not is_live(session, retention, now=now):
        return False
    require_idle(session)
    lives.end(place.workspace, session, into=Session.Life.DELETED, now=now)
    return True


@transaction.atomic
def remove_records(
    *, place: Place, ids: Sequence[str] | None, key: str, retention: Retention, now: datetime
) -> Appended:
    """Record that opaque items are gone, all of them without `ids`; the sweep takes them out (HI-25).

    Raises what an append outside of a decision raises.
    """
    wish = AppendWish(items=(replace(removal(ids), key=key),))
    return append(place=place, wish=wish, retention=retention, now=now)


@contextmanager
def noting_absence(place: Place, *, now: datetime) -> Iterator[None]:
    """Note of an erased session that its source was told that nothing is there: what comes then is new (PR-12)."""
    try:
        yield
    except HistoryNotFound:
        erased = access.erased_sessions(place).filter(known_absent_at=None)
        erased.update(known_absent_at=now)
        raise


def _made(to: Place, origin: Session, retention: Retention, *, now: datetime) -> tuple[Session, Key]:
    there = access.live_session(to, is_locked=True)
    if there is not None and not is_live(there, retention, now=now):
        lives.end(to.workspace, there, into=Session.Life.EXPIRED, now=now)
        there = None
    made = lives.new_session(to, Naming(), retention, now=now, like=origin) if there is None else None
    if made is None:
        raise HistoryConflict
    return made


def _copy(place: Place, rows: list[Item], key: Key, new: Session, new_key: Key) -> None:
    """Insert what is shared, its places counted anew from 1."""
    copies = []
    for number, row in enumerate(rows, start=1):
        opened = encryption.open_item(place.workspace, row, key)
        copy = Item(
            id=uuid4(),
            session=new,
            position=number,
            parent=number - 1,
            kind=row.kind,
            name_mac=encryption.name_mac(new_key, opened.id),
            key_mac=encryption.dedupe_mac(new_key, opened.key) if opened.key else None,
            item_bytes=row.item_bytes,
            is_leading=row.is_leading,
            opens_turn=row.opens_turn,
            is_provisional=row.is_provisional,
            recorded_at=row.recorded_at,
            expires_at=row.expires_at,
        )
        encryption.seal_item(place.workspace, copy, opened, new_key)
        copies.append(copy)
    Item.objects.bulk_create(copies)
    new.leaf = new.last_position = new.item_count = len(copies)
    new.stored_bytes = sum(copy.item_bytes for copy in copies)


def _describe(place: Place, session: Session, key: Key, new: Session, new_key: Key, *, now: datetime) -> None:
    """Pin what the origin pinned; of its summary only one that covers nothing but what is shared."""
    new.is_kept = True
    new.provider, new.model = session.provider, session.model
    new.interface, new.content_mode = session.interface, session.content_mode
    summary = summary_of(place.workspace, session, key, now=now)
    if summary is not None and position_of(new, new_key, summary.through) is not None:
        new.summary_version, new.summary_expires_at = 1, summary.expires_at
        encryption.seal_summary(place.workspace, new, summary, new_key)
