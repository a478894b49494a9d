"""The window of a session, and the whole of it (HI-6, HI-9 to HI-11)."""

from datetime import UTC, datetime
from typing import cast

import msgspec

from history.errors import HistoryMismatch, HistoryNotFound, answered
from history.models import Session
from history.selectors.again import again_if_resealed
from history.selectors.items import IndexedItems, SessionItems, opened_items, position_of
from history.selectors.sessions import end_of, head_of, is_held_by, require_idle, served_session, summary_of
from history.types import (
    OmissionValue,
    Place,
    Retention,
    SessionRead,
    SummaryValue,
    WindowRead,
    WindowWish,
)
from lastro.history.records import Provider, Summary
from lastro.history.stores.encoding import written
from lastro.history.windows import Limits, Window, window_of
from workspaces.errors import InvalidInput
from workspaces.types import FieldProblem, Key


@again_if_resealed
def read_window(
    *, place: Place, wish: WindowWish, holds: bytes, retention: Retention, now: datetime
) -> WindowRead:
    """Choose the window of a branch; who holds the reservation (`holds`: its token's hash) sees what it appended.

    Raises HistoryNotFound, HistoryMismatch, HistoryLimitExceeded, HistoryInvalid and InvalidInput.
    """
    session, key = served_session(place, retention, now=now)
    leaf, up_to = end_of(session, is_mine=is_held_by(session, holds))
    leaf = _leaf(session, key, wish.leaf, up_to) if wish.leaf else leaf
    kind = IndexedItems if session.provider else SessionItems
    items = kind(place.workspace, session, key, leaf=leaf, up_to=up_to)
    summary = summary_of(place.workspace, session, key, now=now)
    with answered():
        window = window_of(
            items,
            provider=_provider(session, wish),
            leaf=items.leaf_name(),
            now=now.timestamp(),
            limits=Limits(max_messages=wish.max_messages, max_bytes=wish.max_bytes),
            repair=wish.repair,
            summary=_summary(summary),
            dialect=wish.dialect,
        )
    return _answer(window)


@again_if_resealed
def read_session(*, place: Place, retention: Retention, now: datetime) -> SessionRead:
    """Give a detached copy of a whole session; it does not renew the idle time (HI-6).

    Raises HistoryNotFound and HistoryBusy.
    """
    session, key = served_session(place, retention, now=now)
    require_idle(session)
    return SessionRead(
        head=head_of(place.workspace, session, key, retention, now=now),
        items=opened_items(place.workspace, session, key, now=now),
    )


def _leaf(session: Session, key: Key, name: str, up_to: int) -> int:
    position = position_of(session, key, name)
    if position is None or position > up_to:
        raise HistoryNotFound
    return position


def _provider(session: Session, wish: WindowWish) -> Provider:
    """Give the pinned provider, else the one that the request names."""
    if session.provider and wish.provider and wish.provider != session.provider:
        raise HistoryMismatch
    provider = session.provider or wish.provider
    if not provider:
        problem = FieldProblem("/provider", "required", "The session has no provider yet.")
        raise InvalidInput(errors=(problem,))
    return cast(Provider, provider)


def _summary(summary: SummaryValue | None) -> Summary | None:
    if summary is None:
        return None
    until = summary.expires_at
    return Summary(
        text=summary.text,
        covers=summary.covers,
        digest=summary.digest,
        through=summary.through,
        expires_at=until.timestamp() if until else None,
    )


def _answer(window: Window) -> WindowRead:
    return WindowRead(
        messages=tuple(msgspec.Raw(written(message)) for message in window.messages),
        items=window.items,
        message_count=window.message_count,
        bytes=window.bytes,
        trimmed=window.trimmed,
        omissions=tuple(OmissionValue(left.item, left.reason, left.rule) for left in window.omissions),
        changed=window.changed,
        open_calls=window.open_calls,
        summary=_value(window.summary),
        summary_refused=window.summary_refused,
        through=window.through,
    )


def _value(summary: Summary | None) -> SummaryValue | None:
    if summary is None:
        return None
    until = summary.expires_at
    return SummaryValue(
        text=summary.text,
        covers=summary.covers,
        digest=summary.digest,
        through=summary.through,
        expires_at=datetime.fromtimestamp(until, UTC) if until is not None else None,
    )
