"""The steps of readers and writers between the two stores (WM-18 to WM-20).

A writer marks, commits, publishes. A reader takes a token, reads the database, fills. Each step is one call.
"""

import secrets
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from workspaces.hotstore.connection import run
from workspaces.hotstore.names import Name

CHANGE_DIGITS = 16
NEWEST = "9" * CHANGE_DIGITS
MARKER_MS = 20_000
"""How long a marker holds: longer than any write may take until its commit."""
COMMIT_WITHIN_SECONDS = 12.0
TOKEN_MS = 10_000
KEPT_MS = 24 * 3_600_000


class Seen(msgspec.Struct, frozen=True):
    """What the hot store holds of one thing: an entry, and the markers of writers, while there are any."""

    entry: bytes | None = None
    marker: bytes | None = None

    @property
    def payload(self) -> bytes | None:
        """Give the entry where it may be served: no writer is at work."""
        return self.entry[CHANGE_DIGITS:] if self.entry is not None and self.marker is None else None

    def expired_writers(self) -> list[str]:
        """List the writers whose markers seem to be past their deadlines; the hot store's own clock decides."""
        if self.marker is None:
            return []
        now = time.time() * 1000
        return [
            writer
            for writer, until in msgspec.msgpack.decode(self.marker, type=_Marker).writers.items()
            if until < now
        ]


class _Marker(msgspec.Struct):
    writers: dict[str, float]
    newest: str


class Bucket(msgspec.Struct, frozen=True):
    """A token bucket: so many requests a second, and so many at once (PL-5)."""

    key: bytes
    per_second: float
    burst: int


class Spent(msgspec.Struct, frozen=True):
    """What the buckets said: to wait before the next try, and of the one that is nearest to empty what is left.

    `full_ms` says when that one is full again, `burst` how much it holds then.
    """

    wait_ms: int = 0
    remaining: int = -1
    full_ms: int = 0
    burst: int = 0


class Mark(msgspec.Struct, frozen=True):
    """A writer's marker on one thing: who put it, how many others are at work, and what was seen then."""

    name: Name
    writer: str
    others: int
    entry: bytes | None = None
    seen: list[Seen] = []


def look(names: Sequence[Name], *, buckets: Sequence[Bucket] = ()) -> tuple[Spent, list[Seen]]:
    """Take a token from each bucket and look at some things, in one call. Raises HotStoreDown.

    Where a bucket is empty, nothing is taken and nothing seen.
    """
    keys = [bucket.key for bucket in buckets]
    wait_ms, remaining, full_ms, nearest, *rest = run("look", keys + _both(names), _rates(buckets))
    burst = buckets[nearest - 1].burst if nearest else 0
    return Spent(wait_ms, remaining, full_ms, burst), _seen(rest[0] if rest else [])


def mark(name: Name, also: Sequence[Name] = ()) -> Mark:
    """Put a marker, so that no reader is served from the entry and none fills it; look at more. Raises HotStoreDown."""
    writer, keys = secrets.token_hex(6), [name.entry, name.marker, name.token]
    others, entry, values = run("mark", keys + _both(also), [writer, MARKER_MS])
    return Mark(name, writer, others, entry[CHANGE_DIGITS:] if entry is not None else None, _seen(values))


def publish(marked: Mark, *, change: int, payload: bytes, kept_ms: int = KEPT_MS) -> None:
    """Put the entry of a committed change unless a newer one is there, and lift the marker. Raises HotStoreDown."""
    name, number = marked.name, _number(change)
    entry = number.encode() + payload
    run("publish", [name.entry, name.marker, name.token], [marked.writer, number, entry, kept_ms])


def drop(marked: Mark) -> None:
    """Take the entry away after a committed change, and lift the marker. Raises HotStoreDown."""
    name = marked.name
    run("publish", [name.entry, name.marker, name.token], [marked.writer, NEWEST, b"", 0])


def lift(marked: Mark) -> None:
    """Lift the marker of a write that changed nothing. Raises HotStoreDown."""
    run("lift", [marked.name.marker], [marked.writer])


def discard(name: Name, entry: bytes) -> None:
    """Take away an entry that counts for nothing, unless it is another by now. Raises HotStoreDown."""
    run("discard", [name.entry], [entry])


def token(name: Name) -> bytes | None:
    """Take the token that allows to fill a missing entry, before the database is read. Raises HotStoreDown."""
    fresh = secrets.token_hex(6)
    given: bytes | None = run("token", [name.entry, name.marker, name.token], [fresh, TOKEN_MS])
    return given


def fill(name: Name, given: bytes | None, *, change: int, payload: bytes, kept_ms: int = KEPT_MS) -> None:
    """Fill a missing entry with what was read since the token was taken. Raises HotStoreDown.

    Without a token, or where it is void, nothing older than what was read is served afterwards.
    """
    number = _number(change)
    arguments = [given or b"", number, number.encode() + payload, kept_ms]
    run("fill", [name.entry, name.marker, name.token], arguments)


def repair(name: Name, writer: str, *, change: int, payload: bytes, kept_ms: int = KEPT_MS) -> None:
    """Lift a marker that is past its deadline; the caller holds the lock under which it read. Raises HotStoreDown."""
    number = _number(change)
    run("repair", [name.entry, name.marker], [writer, number, number.encode() + payload, kept_ms])


def _both(names: Sequence[Name]) -> list[bytes]:
    return [key for name in names for key in (name.entry, name.marker)]


def _seen(values: Sequence[bytes | None]) -> list[Seen]:
    return [Seen(values[at], values[at + 1]) for at in range(0, len(values), 2)]


def _number(change: int) -> str:
    return f"{change:0{CHANGE_DIGITS}d}"


def _rates(buckets: Sequence[Bucket]) -> list[Any]:
    rates: list[Any] = [len(buckets)]
    for bucket in buckets:
        # Whole microseconds: the sum of a fraction and the time of the day is rounded, and a full bucket may lack some.
        interval = max(round(1_000_000 / bucket.per_second), 1)
        rates += (interval, interval * bucket.burst)
    return rates
