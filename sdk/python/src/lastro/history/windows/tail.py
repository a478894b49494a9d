"""The newest part of a branch, read backwards as far as it is needed."""

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from functools import cached_property

from lastro.history.formats.shapes import Format, Reading, Result, text
from lastro.history.messages import size_of
from lastro.history.records import Item

UNSERVED = frozenset({"opaque", "removal"})


@dataclass(frozen=True)
class Entry:
    """An item as its format reads it. `recorded`: only the record that a call was not executed, not yet a message."""

    item: Item
    reading: Reading
    expired: bool
    recorded: bool = False

    @cached_property
    def bytes(self) -> int:
        """Count the bytes of the message once."""
        return size_of(self.item.message)


class Tail:
    """Entries in stored order, the newest first to be read."""

    def __init__(self, items: Iterator[Item], *, form: Format, now: float, apart: Set[str]) -> None:
        self.form = form
        self.now = now
        self.exhausted = False
        self.pin: Entry | None = None
        self.instructions: list[Item] = []
        """Those that the source did not give apart, in stored order."""
        self._items = items
        self._apart = apart
        self._newest_first: list[Entry] = []

    @property
    def entries(self) -> list[Entry]:
        """Give what was read, in stored order."""
        return self._newest_first[::-1]

    def __len__(self) -> int:
        return len(self._newest_first)

    def has(self, entry: Entry) -> bool:
        """Say whether an entry was read by now."""
        return any(known.item.id == entry.item.id for known in self._newest_first)

    def read(self) -> Entry | None:
        """Read one item more; None at the root."""
        for item in self._items:
            if item.kind in UNSERVED or item.id in self._apart:
                continue
            entry = self.entry_of(item)
            if entry.reading.role != "instruction":
                self._newest_first.append(entry)
                return entry
            self.instructions.insert(0, item)
        self.exhausted = True
        return None

    def read_more(self) -> None:
        """Read half as much again: each round costs what all before it did, never their square."""
        for _ in range(max(16, len(self) // 2)):
            if self.read() is None:
                return

    def entry_of(self, item: Item) -> Entry:
        """Read one item by its format."""
        reading = self.form.read(item.message)
        recorded = item.kind == "not_executed" and not reading.results
        if recorded:
            reading = Reading("results", results=(Result(0, text(item.message.get("call_id"))),))
        elif reading.role == "input" and self.form.filled(item.message) is None:
            reading = replace(reading, role="results")
        return Entry(item, reading, is_expired(item, self.now), recorded)


def is_expired(item: Item, now: float) -> bool:
    """Say whether an item's own end has come (HI-23)."""
    return item.expires_at is not None and item.expires_at <= now
