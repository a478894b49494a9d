"""An outbox in memory: what waits is lost with the process, as a warning says at its close (SD-4)."""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from typing import Concatenate, ParamSpec, TypeVar

from lastro.outbox.contract import MAX_BYTES, MAX_REFUSED, MAX_WRITES, Entry, is_due, require_room
from lastro.states.types import Conflict, StateName
from lastro.states.writes import Write, conflict_of

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(slots=True)
class _Row:
    number: int
    write: Write
    due_at: float
    tries: int = 0
    is_asked: bool = False
    claimed_until: float = 0.0


def _alone(
    method: "Callable[Concatenate[MemoryOutbox, P], R]",
) -> "Callable[Concatenate[MemoryOutbox, P], R]":
    """Let one thread at a time into a method."""

    def locked(self: "MemoryOutbox", /, *args: P.args, **named: P.kwargs) -> R:
        with self.lock:
            return method(self, *args, **named)

    return update_wrapper(locked, method)


class MemoryOutbox:
    """Keeps at most `max_writes` writes of together `max_bytes` (see Outbox for the methods)."""

    is_durable = False

    def __init__(self, *, max_writes: int = MAX_WRITES, max_bytes: int = MAX_BYTES) -> None:
        self.lock = threading.RLock()
        self._max_writes, self._max_bytes = max_writes, max_bytes
        self._rows: dict[int, _Row] = {}
        self._states: dict[StateName, deque[int]] = {}
        self._refused: deque[tuple[StateName, Conflict]] = deque(maxlen=MAX_REFUSED)
        self._size = self._last = 0

    def bind(self, account: str) -> None:
        """Belong to one client only, whoever it is."""

    @_alone
    def add(self, write: Write, *, due_at: float, is_asked: bool = False) -> None:
        """Keep a write behind the others of its state."""
        require_room(
            writes=len(self._rows),
            size=self._size,
            more=write.size,
            max_writes=self._max_writes,
            max_bytes=self._max_bytes,
        )
        self._last += 1
        self._rows[self._last] = _Row(self._last, write, due_at, is_asked=is_asked)
        self._states.setdefault(write.name, deque()).append(self._last)
        self._size += write.size

    @_alone
    def waiting(self, name: StateName) -> tuple[Write, ...]:
        """Give the writes of a state that wait, in order."""
        return tuple(self._rows[number].write for number in self._states.get(name, ()))

    @_alone
    def claim(self, name: StateName, *, now: float, until: float) -> Entry | None:
        """Claim the first write of a state, if it is due and nobody has it."""
        row = self._first(name)
        if row is None or not self._is_free(row, now):
            return None
        row.claimed_until = until
        return Entry(row.number, row.write, row.tries)

    @_alone
    def remove(self, number: int, *, behind: str = "", with_bodies: bool = True) -> None:
        """End a write that was stored."""
        row = self._rows.get(number)
        if row is None:
            return
        later = self._behind(row) if behind else []
        self._take(row)
        for other in later:
            self._keep_refused(other, code=behind, request_id=None, with_body=with_bodies)

    @_alone
    def retry(self, number: int, *, due_at: float, is_asked: bool) -> None:
        """Give a claimed write back until a later time."""
        if number in self._rows:
            row = self._rows[number]
            row.due_at, row.is_asked, row.claimed_until = due_at, is_asked, 0.0
            row.tries += 1

    @_alone
    def refuse(
        self, number: int, *, code: str, request_id: str | None, with_body: bool, behind: str = ""
    ) -> None:
        """End a write that was refused, and keep what became of it."""
        row = self._rows.get(number)
        if row is None:
            return
        later = self._behind(row) if behind else []
        self._keep_refused(row, code=code, request_id=request_id, with_body=with_body)
        for other in later:
            self._keep_refused(other, code=behind, request_id=None, with_body=with_body)

    @_alone
    def conflicts(self, name: StateName) -> tuple[Conflict, ...]:
        """Give the refused writes of a state, the oldest first."""
        return tuple(conflict for other, conflict in self._refused if other == name)

    @_alone
    def dismiss(self, name: StateName) -> None:
        """Forget the refused writes of a state."""
        kept = [pair for pair in self._refused if pair[0] != name]
        self._refused = deque(kept, maxlen=MAX_REFUSED)

    @_alone
    def due(self, *, now: float) -> tuple[StateName, ...]:
        """Give the states whose first write can be claimed now."""
        firsts = ((name, self._first(name)) for name in self._states)
        return tuple(name for name, row in firsts if row is not None and self._is_free(row, now))

    @_alone
    def next_due(self) -> float | None:
        """Give when the next write is due, claimed or not; none where nothing waits."""
        firsts = [self._rows[numbers[0]] for numbers in self._states.values()]
        return min((max(row.due_at, row.claimed_until) for row in firsts), default=None)

    @_alone
    def hurry(self, *, now: float) -> None:
        """Make every write due whose time the server did not name."""
        for row in self._rows.values():
            if not row.is_asked:
                row.due_at = min(row.due_at, now)

    @_alone
    def count(self) -> int:
        """Give how many writes wait."""
        return len(self._rows)

    def in_child(self) -> None:
        """Begin empty: the parent sends what waited when it forked."""
        self.lock = threading.RLock()
        self._rows, self._states = {}, {}
        self._refused = deque(maxlen=MAX_REFUSED)
        self._size = 0

    def close(self) -> None:
        """Nothing is open."""

    def _behind(self, row: _Row) -> list[_Row]:
        """Give the later writes of the same state that hold at a version only."""
        rows = [self._rows[number] for number in self._states[row.write.name] if number > row.number]
        return [other for other in rows if other.write.if_version is not None]

    def _take(self, row: _Row) -> None:
        name = row.write.name
        del self._rows[row.number]
        self._size -= row.write.size
        self._states[name].remove(row.number)
        if not self._states[name]:
            del self._states[name]

    def _keep_refused(self, row: _Row, *, code: str, request_id: str | None, with_body: bool) -> None:
        self._take(row)
        conflict = conflict_of(row.write, code=code, request_id=request_id, with_body=with_body)
        self._refused.append((row.write.name, conflict))

    def _first(self, name: StateName) -> _Row | None:
        numbers = self._states.get(name)
        return self._rows[numbers[0]] if numbers else None

    @staticmethod
    def _is_free(row: _Row, now: float) -> bool:
        return is_due(row.due_at, now=now) and is_due(row.claimed_until, now=now)
