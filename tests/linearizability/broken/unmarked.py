"""Broken: a writer publishes without having put a marker."""

import secrets
from collections.abc import Sequence
from typing import Any

from console.wsgi import application
from tests.linearizability.broken.windows import widen
from workspaces import hotstore
from workspaces.hotstore import Mark, Name
from workspaces.hotstore.connection import ask
from workspaces.hotstore.entries import CHANGE_DIGITS, KEPT_MS


def mark(name: Name, also: Sequence[Name] = ()) -> Mark:
    """Look only: at the entry, and at whatever else is asked for."""
    _, [mine, *others] = hotstore.look([name, *also])
    entry = mine.entry[CHANGE_DIGITS:] if mine.entry is not None else None
    return Mark(name, secrets.token_hex(6), 0, entry, others)


def publish(marked: Mark, *, change: int, payload: bytes, kept_ms: int = KEPT_MS) -> None:
    """Put the entry unless a newer one is there."""
    number = f"{change:0{CHANGE_DIGITS}d}".encode()
    held: Any = ask(b"GETRANGE", marked.name.entry, 0, CHANGE_DIGITS - 1)
    if held < number:
        ask(b"SET", marked.name.entry, number + payload, b"PX", kept_ms)


hotstore.mark, hotstore.publish = mark, publish
widen()

__all__ = ["application"]
