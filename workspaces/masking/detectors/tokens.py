"""Secrets by the formats that their issuers publish: API keys, tokens, private keys (PR-7, PR-8)."""

import re
from collections.abc import Iterator

from workspaces.masking.detectors.token_formats import FORMATS, LONG, OTHER_FORMATS, SHORTEST
from workspaces.masking.passage import Passage, Span

_COMPILED = {
    sign: tuple((prefix, re.compile(tail)) for prefix, tail in formats) for sign, formats in FORMATS.items()
}
_PREFIX = re.compile("|".join(re.escape(prefix) for formats in FORMATS.values() for prefix, _ in formats))
_JWT = re.compile(r"eyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){2,4}")
_JWT_PART = re.compile(r"[A-Za-z0-9_-]+")
_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}-----")
_BEARER = re.compile(r"bearer\s{1,4}")
_BEARER_TOKEN = re.compile(r"(?=[A-Za-z._~+/=-]{0,512}[0-9]|[A-Za-z0-9._~+/=-]{24})[A-Za-z0-9._~+/=-]{8,}")


def may_hold_tokens(passage: Passage) -> bool:
    """Tell whether a token of a published format may begin somewhere."""
    text = passage.text
    if "eyJ" in text or "-----BEGIN" in text or "bearer" in passage.lower:
        return True
    if not passage.may_hold_run(SHORTEST):
        return False
    return _PREFIX.search(text) is not None or any(
        passage.may_hold_run(LONG) if sign == "." else sign in text for sign, _ in OTHER_FORMATS
    )


def find_tokens(passage: Passage) -> Iterator[Span]:
    """Find secrets that are recognized by their own form (PR-7)."""
    yield from _with_prefixes(passage)
    if "eyJ" in passage.text:
        yield from _web_tokens(passage)
    yield from _with_other_forms(passage)
    if "-----BEGIN" in passage.text:
        yield from _private_keys(passage.text)
    if "bearer" in passage.lower:
        yield from _bearers(passage)


def _with_prefixes(passage: Passage) -> Iterator[Span]:
    for sign, formats in _COMPILED.items():
        if sign in passage.text:
            for prefix, tail in formats:
                if prefix in passage.text:
                    yield from _with_prefix(passage, prefix, tail)


def _with_prefix(passage: Passage, prefix: str, tail: re.Pattern[str]) -> Iterator[Span]:
    text = passage.text
    start = text.find(prefix)
    while start >= 0:
        found = tail.match(text, start + len(prefix)) if _begins_word(text, start) else None
        if found:
            passage.budget.spend()
            yield Span(start, found.end(), "secret")
        start = text.find(prefix, found.end() if found else start + 1)


def _with_other_forms(passage: Passage) -> Iterator[Span]:
    for sign, form in OTHER_FORMATS:
        if sign in passage.text:
            for found in form.finditer(passage.text):
                passage.budget.spend()
                yield Span(*found.span(1), "secret")


def _web_tokens(passage: Passage) -> Iterator[Span]:
    text = passage.text
    start = text.find("eyJ")
    while start >= 0:
        begins = _begins_word(text, start)
        found = _JWT.match(text, start) if begins else None
        if found:
            passage.budget.spend()
            yield Span(start, found.end(), "secret")
        # Where one fails, those that begin later in the same part fail too: they have the same end.
        part = found or (_JWT_PART.match(text, start) if begins else None)
        start = text.find("eyJ", part.end() if part else start + 1)


def _private_keys(text: str) -> Iterator[Span]:
    """Find private key blocks; one without an end goes to the end of the text."""
    begin = _PEM_BEGIN.search(text)
    while begin:
        end = _PEM_END.search(text, begin.end())
        yield Span(begin.start(), end.end() if end else len(text), "secret")
        begin = _PEM_BEGIN.search(text, end.end()) if end else None


def _bearers(passage: Passage) -> Iterator[Span]:
    for word in _BEARER.finditer(passage.lower):
        token = _BEARER_TOKEN.match(passage.text, word.end())
        if token:
            passage.budget.spend()
            yield Span(token.start(), token.end(), "secret")


def _begins_word(text: str, start: int) -> bool:
    before = text[start - 1 : start]
    return not (before.isascii() and before.isalnum())
