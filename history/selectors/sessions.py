"""Finding a session and saying what it is, without its messages (HI-2, HI-4, HI-6)."""

import hmac
from datetime import datetime

from history import access, encryption
from history.errors import HistoryBusy, HistoryNotFound
from history.models import Session
from history.rules import sessions as rules
from history.types import PinsValue, Place, Retention, SessionHead, SummaryValue
from workspaces.errors import KeyDestroyed
from workspaces.types import Key, WorkspaceRef


def served_session(place: Place, retention: Retention, *, now: datetime) -> tuple[Session, Key]:
    """Give a session that is served, with its data key. Raises HistoryNotFound for all that is not (X11)."""
    return opened(place.workspace, access.live_session(place), retention, now=now)


def locked_session(place: Place, retention: Retention, *, now: datetime) -> tuple[Session, Key]:
    """Give the same, and let nobody else change it until the transaction ends."""
    return opened(place.workspace, access.live_session(place, is_locked=True), retention, now=now)


def opened(
    workspace: WorkspaceRef, session: Session | None, retention: Retention, *, now: datetime
) -> tuple[Session, Key]:
    """Open a row, or refuse one that is not there, has expired or has lost its keys. Raises HistoryNotFound."""
    if session is None or not is_live(session, retention, now=now):
        raise HistoryNotFound
    try:
        return session, encryption.session_key(workspace, session)
    except KeyDestroyed as error:
        raise HistoryNotFound from error


def is_live(session: Session, retention: Retention, *, now: datetime) -> bool:
    """Tell whether a live row is served: of the retention at its last touch and the one now, the shorter counts."""
    return now < min(session.due_at, valid_until(session, retention))


def valid_until(session: Session, retention: Retention) -> datetime:
    """Give when a session ends if nobody touches it."""
    return rules.valid_until(
        created_at=session.created_at, touched_at=session.touched_at, retention=retention
    )


def require_idle(session: Session) -> None:
    """Refuse where a decision is running (HI-5, HI-6)."""
    if session.reserved_at is not None:
        raise HistoryBusy(since=session.reserved_at, worker=session.worker)


def pins_of(session: Session) -> PinsValue | None:
    """Give what the first decision pinned."""
    if not session.provider:
        return None
    return PinsValue(session.provider, session.model, session.interface, session.content_mode)


def is_held_by(session: Session, token_hash: bytes) -> bool:
    """Tell whether a token, by its hash, is the one that reserves a session."""
    return bool(token_hash) and hmac.compare_digest(bytes(session.reservation_hash or b""), token_hash)


def end_of(session: Session, *, is_mine: bool) -> tuple[int, int]:
    """Say where the branch ends and which position is the last: others see what was there before the decision."""
    if session.reserved_at is None or is_mine:
        return session.leaf, session.last_position
    return session.base_leaf, session.base_position


def head_of(
    workspace: WorkspaceRef, session: Session, key: Key, retention: Retention, *, now: datetime
) -> SessionHead:
    """Describe a session without its messages."""
    return SessionHead(
        pins=pins_of(session),
        leaf=item_name(workspace, session, session.leaf, key),
        count=session.item_count,
        bytes=session.stored_bytes,
        summary=summary_of(workspace, session, key, now=now),
        created_at=session.created_at,
        touched_at=session.touched_at,
        valid_until=min(session.due_at, valid_until(session, retention)),
    )


def item_name(workspace: WorkspaceRef, session: Session, position: int, key: Key) -> str:
    """Give the id of the item at a position, empty where there is none."""
    found = access.items_of(session).filter(position=position).first() if position else None
    return encryption.open_item(workspace, found, key).id if found else ""


def summary_of(workspace: WorkspaceRef, session: Session, key: Key, *, now: datetime) -> SummaryValue | None:
    """Give the summary of a session, none where it has expired (HI-23)."""
    is_expired = session.summary_expires_at is not None and session.summary_expires_at <= now
    if session.summary is None or is_expired:
        return None
    return encryption.open_summary(workspace, session, key)
