"""Broken: a reader lifts a marker before its deadline."""

import msgspec

from console.wsgi import application
from tests.linearizability.broken.windows import widen
from workspaces import hotstore
from workspaces.hotstore import Name, Seen, entries
from workspaces.hotstore.connection import run
from workspaces.hotstore.entries import KEPT_MS


def writers_of(seen: Seen) -> list[str]:
    """List every writer at work, whatever its deadline."""
    return list(msgspec.msgpack.decode(seen.marker)["writers"]) if seen.marker else []


def repair(name: Name, writer: str, *, change: int, payload: bytes, kept_ms: int = KEPT_MS) -> None:
    """Lift a marker as its own writer would, without asking for its deadline."""
    number = f"{change:0{entries.CHANGE_DIGITS}d}"
    entry = number.encode() + payload
    run("publish", [name.entry, name.marker, name.token], [writer, number, entry, kept_ms])


Seen.expired_writers = writers_of  # type: ignore[method-assign, assignment]
hotstore.repair = repair
widen()

__all__ = ["application"]
