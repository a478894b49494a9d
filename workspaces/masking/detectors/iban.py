"""International bank account numbers (ISO 13616): the country's length and the checksum (PR-5, PR-8)."""

import re
from collections.abc import Iterator
from functools import lru_cache

from stdnum import numdb
from stdnum.iso7064 import mod_97_10

from workspaces.masking.passage import Passage, Span

_START = re.compile(r"(?<![0-9A-Za-z])[A-Za-z]{2}[0-9]{2}(?=[ -]?[0-9A-Za-z])")
_LONGEST = 34
_BODY = re.compile(r"(?:[ -]?[0-9A-Za-z])*")
_PART_LENGTH = re.compile(r"([0-9]+)!")
_countries = numdb.get("iban")


def may_hold_ibans(passage: Passage) -> bool:
    """Tell whether an IBAN may begin somewhere."""
    return passage.numeric and _START.search(passage.text) is not None


def find_ibans(passage: Passage) -> Iterator[Span]:
    """Find IBANs, grouped or not (PR-5)."""
    for start in _START.finditer(passage.text):
        length = _length_in(start[0][:2].upper())
        end = _end_after(passage.text, start.start(), length) if length else None
        if end is None:
            continue
        passage.budget.spend()
        if _has_checksum(passage.text[start.start() : end]):
            yield Span(start.start(), end, "iban")


def _has_checksum(text: str) -> bool:
    plain = text.replace(" ", "").replace("-", "").upper()
    return mod_97_10.is_valid(plain[4:] + plain[:4])


@lru_cache(maxsize=26 * 26)
def _length_in(country: str) -> int | None:
    _, facts = _countries.info(country)[0]
    parts = _PART_LENGTH.findall(facts.get("bban", ""))
    return 4 + sum(map(int, parts)) if parts else None


def _end_after(text: str, start: int, length: int) -> int | None:
    """Answer where this many letters and digits end, with at most one space or dash between two of them."""
    body = _BODY.match(text, start, start + 2 * _LONGEST)
    seen = 0
    for place in range(start, body.end() if body else start):
        seen += text[place].isalnum()
        if seen == length:
            goes_on = text[place + 1 : place + 2]
            return None if goes_on.isascii() and goes_on.isalnum() else place + 1
    return None
