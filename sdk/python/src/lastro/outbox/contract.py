"""The contract of an outbox (SD-4, SD-5). Every method is safe across threads; times are seconds since 1970."""

from dataclasses import dataclass
from typing import Protocol

from lastro.errors import OutboxFull
from lastro.states.types import Conflict, StateName
from lastro.states.writes import Write

MAX_WRITES = 1_000
MAX_BYTES = 16 * 2**20
MAX_REFUSED = 1_000
LONGEST_DUE_SECONDS = 600.0
"""A write that is due later than this from now is due now: the clock was set back."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A write that was claimed to be sent: under which number, and after how many tries before."""

    number: int
    write: Write
    tries: int = 0


class Outbox(Protocol):
    """Keeps writes in order per state. Only the first of a state is claimed, by one claimant at a time.

    A claim ends with `remove`, `refuse` or `retry`, or by itself at its end: then another claimant may send the same
    bytes under the same key again, which the server knows.
    """

    @property
    def is_durable(self) -> bool:
        """Tell whether what is kept outlives the process; then its methods wait for a disk."""
        ...

    def bind(self, account: str) -> None:
        """Name whose writes these are: no other account's are given out."""
        ...

    def add(self, write: Write, *, due_at: float, is_asked: bool = False) -> None:
        """Keep a write behind the others of its state; `is_asked`: the server named the time.

        Raises OutboxFull and OutboxUnavailable: it is not kept.
        """
        ...

    def waiting(self, name: StateName) -> tuple[Write, ...]:
        """Give the writes of a state that wait, in order."""
        ...

    def claim(self, name: StateName, *, now: float, until: float) -> Entry | None:
        """Claim the first write of a state, if it is due and nobody has it."""
        ...

    def remove(self, number: int, *, behind: str = "", with_bodies: bool = True) -> None:
        """End a write that was stored; `behind` is the code that refuses the later conditional ones of its state."""
        ...

    def retry(self, number: int, *, due_at: float, is_asked: bool) -> None:
        """Give a claimed write back until a later time; `is_asked`: the server named that time."""
        ...

    def refuse(
        self, number: int, *, code: str, request_id: str | None, with_body: bool, behind: str = ""
    ) -> None:
        """End a write that was refused, and keep what became of it; `behind` as for `remove`."""
        ...

    def conflicts(self, name: StateName) -> tuple[Conflict, ...]:
        """Give the refused writes of a state, the oldest first."""
        ...

    def dismiss(self, name: StateName) -> None:
        """Forget the refused writes of a state."""
        ...

    def due(self, *, now: float) -> tuple[StateName, ...]:
        """Give the states whose first write can be claimed now."""
        ...

    def next_due(self) -> float | None:
        """Give when the next write is due, claimed or not; none where nothing waits."""
        ...

    def hurry(self, *, now: float) -> None:
        """Make every write due whose time the server did not name."""
        ...

    def count(self) -> int:
        """Give how many writes wait."""
        ...

    def in_child(self) -> None:
        """Go on in the child of a fork: what waits in memory is the parent's."""
        ...

    def close(self) -> None:
        """Let go of any file."""
        ...


def require_room(
    *, writes: int, size: int, more: int, max_writes: int = MAX_WRITES, max_bytes: int = MAX_BYTES
) -> None:
    """Refuse a write that would pass a bound of the outbox; nothing is dropped to make room (SD-4)."""
    if writes + 1 > max_writes:
        raise OutboxFull(bound="max_writes", needed=writes + 1, allowed=max_writes)
    if size + more > max_bytes:
        raise OutboxFull(bound="max_bytes", needed=size + more, allowed=max_bytes)


def is_due(due_at: float, *, now: float) -> bool:
    """Tell whether a time has come, or cannot be meant."""
    return due_at <= now or due_at > now + LONGEST_DUE_SECONDS
