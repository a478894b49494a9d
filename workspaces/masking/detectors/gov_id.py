"""National identity numbers of the workspace's regions, by the checks of python-stdnum (PR-5, PR-8)."""

import re
from collections.abc import Iterator
from functools import lru_cache

from workspaces.masking.detectors.gov_id_numbers import Number, numbers_of
from workspaces.masking.passage import Passage, Span

_REACH = 40
_REACH_AFTER = 24
_SAID_AFTER = re.compile(r"\s?\(|\s(?:is|as|é|como|est|comme)\s")


def may_hold_gov_ids(passage: Passage) -> bool:
    """Tell whether there are digits enough for one of the numbers."""
    return passage.may_hold_digits(_fewest_digits(passage.regions))


@lru_cache(maxsize=1000)
def _fewest_digits(regions: tuple[str, ...]) -> int:
    return min((number.digits for number in numbers_of(regions)), default=1)


def find_gov_ids(passage: Passage) -> Iterator[Span]:
    """Find the identity numbers that the workspace's regions give to persons and firms (PR-5)."""
    plain, worded, word = _sorts(passage.regions)
    known: set[tuple[int, int]] = set()
    for number in (*plain, *worded) if worded and word.search(passage.lower) else plain:
        if len(passage.text) >= number.length and passage.may_hold_digits(number.digits):
            yield from _of_one_sort(passage, number, known)


@lru_cache(maxsize=1000)
def _sorts(regions: tuple[str, ...]) -> tuple[tuple[Number, ...], tuple[Number, ...], re.Pattern[str]]:
    """Tell the numbers that count only with their word from the others, and answer all those words."""
    numbers = numbers_of(regions)
    worded = tuple(number for number in numbers if number.word.pattern and not number.sure)
    plain = tuple(number for number in numbers if number not in worded)
    return plain, worded, re.compile("|".join(number.word.pattern for number in worded))


def _of_one_sort(passage: Passage, number: Number, known: set[tuple[int, int]]) -> Iterator[Span]:
    for found in number.shape.finditer(passage.text):
        if found.span() in known:
            continue
        written = found[0]
        if not (number.sure and number.sure in written) and not _word_near(
            passage, number.word, *found.span()
        ):
            continue
        passage.budget.spend()
        if number.is_valid(written.replace(" ", "")):
            known.add(found.span())
            yield Span(*found.span(), "gov_id")


def _word_near(passage: Passage, word: re.Pattern[str], start: int, end: int) -> bool:
    """Tell whether the word stands before the number, or after it in brackets or a sentence; an empty one always."""
    lower = passage.lower
    if word.search(lower, max(0, start - _REACH), start):
        return True
    return (
        _SAID_AFTER.match(lower, end) is not None and word.search(lower, end, end + _REACH_AFTER) is not None
    )
