"""The exclusive right of one worker to extend one session: begun, committed, given up, or freed (HI-5)."""

import hashlib
import hmac
from base64 import urlsafe_b64encode
from datetime import datetime
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import Sum

from history import access, encryption
from history.errors import (
    HistoryNotFound,
    HistoryRecoveryRefused,
    HistoryReservationLost,
)
from history.models import Session
from history.rules import sessions as rules
from history.selectors.sessions import head_of, is_live, locked_session, opened, pins_of, require_idle
from history.services import capacity, lives
from history.services.names import name_session
from history.types import AppendWish, BeginWish, Begun, Naming, Place, Retention
from workspaces import audit
from workspaces.errors import Conflict, SubjectErased
from workspaces.rules import barriers
from workspaces.types import Actor, AuditObject, Key, WorkspaceRef


@transaction.atomic
def begin(*, place: Place, wish: BeginWish, retention: Retention, now: datetime) -> Begun:
    """Reserve a session for a decision (HI-5, HI-21); the token is told once, and again to the same request.

    Raises HistoryNotFound, HistoryBusy, HistoryMismatch, HistoryConflict, HistoryLimitExceeded.
    """
    session, key = _found_or_made(place, wish.naming, retention, create=wish.create, now=now)
    if not _is_same_request(session, _mark(key, wish)):
        key = _reserve(place, session, key, wish, now=now)
        session.save()
    return Begun(
        reservation=_token(session, key),
        since=session.reserved_at or now,
        is_new=not session.is_kept,
        head=head_of(place.workspace, session, key, retention, now=now),
    )


@transaction.atomic
def abort(*, place: Place, token: str, retention: Retention, now: datetime) -> None:
    """Give a reservation up: the record is as it was before (HI-21)."""
    session, _ = reserved_session(place, token, retention, now=now)
    give_back(place.workspace, session)


def give_back(workspace: WorkspaceRef, session: Session) -> None:
    """Take the reservation off a session together with what was appended under it."""
    if not session.is_kept:
        lives.drop(workspace, session)
        return
    staged = access.items_of(session).filter(position__gt=session.base_position)
    gone = staged.aggregate(found=Sum("item_bytes"))["found"] or 0
    count, _ = staged.delete()
    session.item_count -= count
    session.stored_bytes -= gone
    session.leaf, session.last_position = session.base_leaf, session.base_position
    lives.free(session)
    session.save()


def reserved_session(place: Place, token: str, retention: Retention, *, now: datetime) -> tuple[Session, Key]:
    """Give the session that a token reserves, locked. Raises SubjectErased, HistoryNotFound, HistoryReservationLost."""
    session, digest = access.live_session(place, is_locked=True), token_hash(token)
    is_mine = session is not None and hmac.compare_digest(bytes(session.reservation_hash or b""), digest)
    if not is_mine and access.ended_sessions(place).filter(reservation_hash=digest).exists():
        raise SubjectErased
    found = opened(place.workspace, session, retention, now=now)
    if not is_mine:
        raise HistoryReservationLost
    return found


def session_to_extend(
    place: Place, wish: AppendWish, retention: Retention, *, now: datetime
) -> tuple[Session, Key]:
    """Give an idle session, locked, for an append outside a decision.

    One that was erased begins anew only with what is surely new (PR-12). Raises SubjectErased too.
    """
    session, key = _found_or_made(place, wish.naming, retention, create=wish.create, now=now)
    require_idle(session)
    if session.created_at == now:
        _require_known_absent(place, wish, now=now)
    return session, name_session(place.workspace, session, wish.naming, key, now=now)


def _require_known_absent(place: Place, wish: AppendWish, *, now: datetime) -> None:
    """Refuse items that do not say when they were made, until their source knows that the session is gone (PR-12)."""
    last = access.erased_sessions(place).order_by("-ended_at").first()
    if last is None or last.ended_at is None or all(item.recorded_at is not None for item in wish.items):
        return
    was_read = last.known_absent_at is not None
    barriers.require_new(last.ended_at, written_at=None, was_read=was_read, now=now)


def token_hash(token: str) -> bytes:
    """Hash a token, which is 256 random bits, as it is stored."""
    return hashlib.sha256(token.encode()).digest()


def _found_or_made(
    place: Place, naming: Naming, retention: Retention, *, create: bool, now: datetime
) -> tuple[Session, Key]:
    """Give the session of a place, locked; made where there is none and the request says so."""
    session = access.live_session(place, is_locked=True)
    if session is not None and not is_live(session, retention, now=now):
        lives.end(place.workspace, session, into=Session.Life.EXPIRED, now=now)
        session = None
    if session is None:
        if not create:
            raise HistoryNotFound
        return _made(place, naming, retention, now=now)
    return opened(place.workspace, session, retention, now=now)


def _made(place: Place, naming: Naming, retention: Retention, *, now: datetime) -> tuple[Session, Key]:
    capacity.require_capacity(place.workspace, retention, sessions=1, now=now)
    made = lives.new_session(place, naming, retention, now=now)
    if made is not None:
        return made
    # Another request made it between.
    return opened(place.workspace, access.live_session(place, is_locked=True), retention, now=now)


def _reserve(place: Place, session: Session, key: Key, wish: BeginWish, *, now: datetime) -> Key:
    require_idle(session)
    rules.require_pins(pins_of(session), wish.pins)
    key = name_session(place.workspace, session, wish.naming, key, now=now)
    session.reservation_id, session.reserved_at, session.worker = uuid4(), now, wish.worker
    session.reservation_hash, session.begin_mac = token_hash(_token(session, key)), _mark(key, wish)
    session.base_leaf, session.base_position = session.leaf, session.last_position
    return key


def _mark(key: Key, wish: BeginWish) -> bytes:
    name = wish.idempotency_key
    return encryption.request_mac(key, name, wish.raw) if name else b""


def _is_same_request(session: Session, mark: bytes) -> bool:
    """Tell whether the request that reserved a session comes again (PL-10).

    A key that was sent with another request, or whose reservation has ended, is refused.
    """
    before = bytes(session.begin_mac)
    if not mark or not hmac.compare_digest(before[:16], mark[:16]):
        return False
    if session.reserved_at is None or not hmac.compare_digest(before, mark):
        raise Conflict
    return True


def _token(session: Session, key: Key) -> str:
    assert session.reservation_id is not None  # noqa: S101  (set by whoever reserved it)
    token = encryption.reservation_token(key, session.reservation_id)
    return urlsafe_b64encode(token).rstrip(b"=").decode()


@transaction.atomic
def recover(*, place: Place, worker_stopped: bool, actor: Actor, retention: Retention, now: datetime) -> bool:
    """Free the reservation of one's own session; tell whether there was one (HI-5).

    Raises HistoryRecoveryRefused without the word that its worker has stopped, and HistoryNotFound.
    """
    session, _ = locked_session(place, retention, now=now)
    return _recover(place.workspace, session, worker_stopped=worker_stopped, actor=actor, now=now)


@transaction.atomic
def recover_row(
    *,
    workspace: WorkspaceRef,
    session_id: UUID,
    reservation_id: UUID | None = None,
    worker_stopped: bool,
    reason: str = "",
    actor: Actor,
    retention: Retention,
    now: datetime,
) -> bool:
    """Free the reservation of a session that a person names as the console lists it (HI-5).

    With the id of a reservation only that one: whoever reserved it since is left alone, and the answer is no.
    """
    rows = access.live_sessions().select_for_update(of=("self",))
    session, _ = opened(workspace, rows.filter(id=session_id).first(), retention, now=now)
    if reservation_id not in (None, session.reservation_id):
        return False
    return _recover(workspace, session, worker_stopped=worker_stopped, actor=actor, reason=reason, now=now)


def _recover(
    workspace: WorkspaceRef,
    session: Session,
    *,
    worker_stopped: bool,
    actor: Actor,
    reason: str = "",
    now: datetime,
) -> bool:
    if not worker_stopped:
        raise HistoryRecoveryRefused
    since = session.reserved_at
    if since is None:
        return False
    facts = {"source": str(session.source_id), "since": since.isoformat()}
    audit.record(
        "history.recover",
        actor=actor,
        now=now,
        on=AuditObject("history_session", str(session.id)),
        reason=reason,
        facts=facts,
    )
    give_back(workspace, session)
    return True
