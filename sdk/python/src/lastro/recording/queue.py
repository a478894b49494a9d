"""What waits to be recorded: bounded, in memory, in order within each conversation. Safe across threads (SD-7)."""

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from lastro.assembly.records import MAX_RECORDS
from lastro.errors import OutboxFull
from lastro.recording.answers import Refused
from lastro.recording.units import Unit

MAX_WAITING = 10_000
MAX_BYTES = 64 * 2**20
BATCH_BYTES = 2**20
MAX_REFUSED = 1_000


@dataclass(eq=False, slots=True)
class Lane:
    """The units of one conversation. One that is late has nobody wait for it, until something gets through again."""

    units: deque[Unit] = field(default_factory=deque[Unit])
    tries: int = 0
    due_at: float = 0.0
    is_late: bool = False


class Queue:
    """Keeps at most `max_records` of together `max_bytes`; when it is full it refuses what is new."""

    def __init__(self, *, max_records: int = MAX_WAITING, max_bytes: int = MAX_BYTES) -> None:
        self._lock = threading.RLock()
        self._max_records, self._max_bytes = max_records, max_bytes
        self._lanes: dict[str, Lane] = {}
        self._refused: deque[Refused] = deque(maxlen=MAX_REFUSED)
        self._records = self._bytes = 0

    def add(self, units: Sequence[Unit]) -> None:
        """Keep units, all or none, each behind the others of its conversation. Raises OutboxFull."""
        records, size = sum(len(unit.records) for unit in units), sum(unit.size for unit in units)
        with self._lock:
            self._require_room(records, size)
            for unit in units:
                self._lanes.setdefault(unit.conversation, Lane()).units.append(unit)
            self._records += records
            self._bytes += size

    def batch(self, conversation: str, *, alone: bool = False) -> tuple[Unit, ...]:
        """Give the next units of a conversation that go out together; `alone`: the first by itself."""
        with self._lock:
            found: list[Unit] = []
            records = size = 0
            for unit in self.units(conversation):
                records, size = records + len(unit.records), size + unit.size
                if found and (alone or records > MAX_RECORDS or size > BATCH_BYTES):
                    break
                found.append(unit)
            return tuple(found)

    def units(self, conversation: str) -> tuple[Unit, ...]:
        """Give everything of a conversation that waits, in order."""
        with self._lock:
            lane = self._lanes.get(conversation)
            return tuple(lane.units) if lane else ()

    def remove(self, units: Sequence[Unit]) -> None:
        """End the first units of a conversation."""
        with self._lock:
            for unit in units:
                lane = self._lanes[unit.conversation]
                lane.units.popleft()
                lane.tries, lane.due_at, lane.is_late = 0, 0.0, False
                self._count_out(unit)
                if not lane.units:
                    del self._lanes[unit.conversation]

    def replace_first(self, unit: Unit) -> None:
        """Put another unit in the place of the first of its conversation."""
        with self._lock:
            lane = self._lanes[unit.conversation]
            self._count_out(lane.units.popleft())
            lane.units.appendleft(unit)
            self._records += len(unit.records)
            self._bytes += unit.size

    def lane(self, conversation: str) -> Lane | None:
        """Give what waits of a conversation, None where nothing does."""
        return self._lanes.get(conversation)

    def due(self, *, now: float) -> tuple[str, ...]:
        """Give the conversations whose next units may be sent now."""
        with self._lock:
            return tuple(name for name, lane in self._lanes.items() if lane.due_at <= now)

    def next_due(self) -> float | None:
        """Give when the next may be sent; None where nothing waits."""
        with self._lock:
            return min((lane.due_at for lane in self._lanes.values()), default=None)

    def hurry(self) -> None:
        """Let everything be sent now."""
        with self._lock:
            for lane in self._lanes.values():
                lane.due_at = 0.0

    def count(self, conversation: str | None = None) -> int:
        """Give how many records wait, of one conversation or of all."""
        with self._lock:
            if conversation is None:
                return self._records
            return sum(len(unit.records) for unit in self.units(conversation))

    def refuse(self, refused: Refused) -> None:
        """Keep what became of records that are not stored; the oldest such word gives way."""
        with self._lock:
            self._refused.append(refused)

    def refused(self) -> tuple[Refused, ...]:
        """Give what was refused, the oldest first."""
        with self._lock:
            return tuple(self._refused)

    def dismiss(self) -> None:
        """Forget what was refused."""
        with self._lock:
            self._refused.clear()

    def in_child(self) -> None:
        """Begin empty: the parent of a fork sends what waited."""
        self._lock = threading.RLock()
        self._lanes, self._records, self._bytes = {}, 0, 0
        self._refused.clear()

    def _count_out(self, unit: Unit) -> None:
        self._records -= len(unit.records)
        self._bytes -= unit.size

    def _require_room(self, records: int, size: int) -> None:
        if self._records + records > self._max_records:
            raise OutboxFull(bound="max_records", needed=self._records + records, allowed=self._max_records)
        if self._bytes + size > self._max_bytes:
            raise OutboxFull(bound="max_bytes", needed=self._bytes + size, allowed=self._max_bytes)
