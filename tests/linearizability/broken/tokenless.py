"""Broken: a reader fills the hot store without a token."""

from console.wsgi import application
from tests.linearizability.broken.windows import widen
from workspaces import hotstore
from workspaces.hotstore import Name
from workspaces.hotstore.connection import ask
from workspaces.hotstore.entries import CHANGE_DIGITS, KEPT_MS


def token(name: Name) -> bytes:
    """Give a word that nobody can make void."""
    return b"any"


def fill(name: Name, given: bytes | None, *, change: int, payload: bytes, kept_ms: int = KEPT_MS) -> None:
    """Put what was read."""
    ask(b"SET", name.entry, f"{change:0{CHANGE_DIGITS}d}".encode() + payload, b"PX", kept_ms)


hotstore.token, hotstore.fill = token, fill
widen()

__all__ = ["application"]
