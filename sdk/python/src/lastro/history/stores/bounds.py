"""The bounds of a store, and the refusals that name them (HI-4)."""

from dataclasses import dataclass

from lastro.history.errors import DecisionHistoryLimitExceeded

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much a store keeps: sessions, bytes in all and of one session, and idle seconds until a session ends."""

    max_sessions: int = 128
    max_store_bytes: int = 32 * MIB
    max_retained_bytes: int = 8 * MIB
    ttl: float = 3600.0

    def __post_init__(self) -> None:
        bounds = (self.max_sessions, self.max_store_bytes, self.max_retained_bytes, self.ttl)
        if not all(bound > 0 for bound in bounds):
            raise ValueError("bounds are above zero")

    def require_session(self, *, sessions: int) -> None:
        """Refuse one session more than there may be."""
        require("max_sessions", needed=sessions, allowed=self.max_sessions)

    def require_bytes(self, *, session: int, store: int) -> None:
        """Refuse what a session, or all of them, would hold afterwards."""
        require("max_retained_bytes", needed=session, allowed=self.max_retained_bytes)
        require("max_store_bytes", needed=store, allowed=self.max_store_bytes)

    def is_idle(self, *, touched_at: float, now: float) -> bool:
        """Say whether a session has ended by being idle."""
        return touched_at + self.ttl <= now


def require(bound: str, *, needed: int, allowed: int) -> None:
    """Refuse what passes a bound, by its name."""
    if needed > allowed:
        raise DecisionHistoryLimitExceeded(bound=bound, needed=needed, allowed=allowed)
