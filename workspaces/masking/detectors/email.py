"""E-mail addresses, plain, internationalized and URL-encoded (PR-5, PR-7b)."""

import re
from collections.abc import Iterator

from workspaces.masking.domains import domain_end
from workspaces.masking.passage import Passage, Span

_LONGEST_LOCAL = 64
_AT = re.compile(r"@|%40")
_LOCAL = re.compile(r"[\w.!#$%'*+^`{|}~-]+\Z")
_QUOTED_LOCAL = re.compile(r'"[^"\r\n]*"\Z')
_LEADING = ".!#$%'*+^`{|}~-"
_ESCAPED_LEADING = re.compile(r"(?:%(?:[013][0-9a-fA-F]|2[0-9a-cA-C]|5[bdBD]|7[bdBD]))+")
_REPOSITORY_USERS = frozenset({"git", "hg", "svn"})
_PATH = re.compile(r":[\w~.]")
_SCALED_IMAGE = re.compile(r"[0-9]+x\.(?:png|jpe?g|gif|webp|svg|avif)\Z")


def may_hold_emails(passage: Passage) -> bool:
    """Tell whether there is a sign that an address needs."""
    return "@" in passage.text or "%40" in passage.text


def find_emails(passage: Passage) -> Iterator[Span]:
    """Find e-mail addresses (PR-5)."""
    for at in _AT.finditer(passage.text):
        start = _local_start(passage.text, at.start())
        if start is None:
            continue
        passage.budget.spend()
        end = domain_end(passage.text, at.end())
        if end is not None and not _only_looks_alike(passage.text, start, at, end):
            yield Span(start, end, "email")


def _local_start(text: str, at: int) -> int | None:
    before = text[max(0, at - _LONGEST_LOCAL - 2) : at]
    quoted = _QUOTED_LOCAL.search(before) if before.endswith('"') else None
    if quoted:
        return at - len(quoted[0])
    local = before[-_LONGEST_LOCAL:]
    kept = local[_plain_before(local) :]
    encoded = _ESCAPED_LEADING.match(kept)
    kept = kept[encoded.end() if encoded else 0 :].lstrip(_LEADING)
    return at - len(kept) if kept else None


def _plain_before(local: str) -> int:
    found = _LOCAL.search(local)
    return found.start() if found else len(local)


def _only_looks_alike(text: str, start: int, at: re.Match[str], end: int) -> bool:
    """Tell an address from what holds an @ for another reason: where a repository is, an image's scale."""
    if text[start : at.start()] in _REPOSITORY_USERS and _PATH.match(text, end):
        return True
    return _SCALED_IMAGE.match(text[at.end() : end]) is not None
