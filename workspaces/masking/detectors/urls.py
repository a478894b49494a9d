"""Passwords in addresses: scheme://user:password@host (PR-7)."""

import re
from collections.abc import Iterator

from workspaces.masking.passage import Passage, Span

_REST = re.compile(r"(?:[^\s\"'<>:]|:(?!//)){1,300}")
_SLASH = re.compile(r"[/?#]")
_PORT = re.compile(r"[0-9]{0,5}(?:[/?#]|\Z)")


def may_hold_url_passwords(passage: Passage) -> bool:
    """Tell whether there is an address with something before an @."""
    return "://" in passage.text and "@" in passage.text


def find_url_passwords(passage: Passage) -> Iterator[Span]:
    """Find the password of each address that carries one (PR-7)."""
    text = passage.text
    at = text.find("://")
    while at >= 0:
        rest = _REST.match(text, at + 3)
        if rest is not None and (inside := _password(rest[0])):
            passage.budget.spend()
            yield Span(rest.start() + inside[0], rest.start() + inside[1], "password")
        at = text.find("://", at + 3)


def _password(rest: str) -> tuple[int, int] | None:
    """Answer where the password is: up to the last @, for it may hold a raw one; a port is none."""
    slash = _SLASH.search(rest)
    authority = rest[: slash.start()] if slash else rest
    colon, end = authority.find(":"), rest.rfind("@")
    if colon < 0 or end <= colon + 1 or ("@" not in authority and _PORT.match(rest, colon + 1)):
        return None
    return colon + 1, end
