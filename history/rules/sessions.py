"""What identifies a session, what it is pinned to, how long it lives and how much it may hold (HI-1, HI-4)."""

from datetime import datetime, timedelta

from history.errors import HistoryIdentityMissing, HistoryLimitExceeded, HistoryMismatch
from history.types import Identity, PinsValue, Retention
from lastro.history.records import Pins

MAX_RETAINED_BYTES = 8 * 2**20


def require_identity(identity: Identity) -> None:
    """Refuse an identity that is not whole; a missing part is never filled in (HI-1)."""
    run = (identity.run_id, identity.invocation_id, identity.agent_ref)
    if not (all(run) if not identity.session_id else not any(run)):
        raise HistoryIdentityMissing


def require_pins(pinned: PinsValue | None, given: Pins | None) -> None:
    """Refuse another provider, model, interface or content mode than the first decision's (HI-1)."""
    if pinned is not None and given is not None and pinned != pins_value(given):
        raise HistoryMismatch


def pins_value(pins: Pins) -> PinsValue:
    """Give pins as they travel."""
    return PinsValue(pins.provider, pins.model, pins.interface, pins.content_mode)


def valid_until(*, created_at: datetime, touched_at: datetime, retention: Retention) -> datetime:
    """Give when a session ends: idle too long, or too old, whichever comes first (HI-4)."""
    return min(
        touched_at + timedelta(seconds=retention.idle_seconds),
        created_at + timedelta(seconds=retention.max_age_seconds),
    )


def require_room(bound: str, *, needed: int, allowed: int) -> None:
    """Refuse what would pass a bound; nothing older is dropped to make room (HI-4)."""
    if needed > allowed:
        raise HistoryLimitExceeded(bound=bound, needed=needed, allowed=allowed)
