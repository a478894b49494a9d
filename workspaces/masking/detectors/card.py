"""Payment card numbers: issuer ranges, lengths and the Luhn checksum (PR-7, PR-8)."""

import re
from collections.abc import Iterator

from stdnum import luhn

from workspaces.masking.passage import Passage, Span

_DIGITS = range(12, 20)
_PREFIX_DIGITS = 6

# First and last issuer prefix, lengths that the issuer gives, lengths that count only with a card word before.
_ISSUERS = (
    (220000, 220499, {16, 17, 18, 19}, set()),
    (222100, 272099, {16}, set()),
    (300000, 305999, {14, 16, 17, 18, 19}, set()),
    (309500, 309599, {14, 16, 17, 18, 19}, set()),
    (340000, 349999, {15}, set()),
    (352800, 358999, {16, 17, 18, 19}, set()),
    (360000, 369999, {14, 16, 17, 18, 19}, set()),
    (370000, 379999, {15}, set()),
    (380000, 399999, {14, 16, 17, 18, 19}, set()),
    (400000, 499999, {16, 19}, {13}),
    (500000, 509999, {16, 17, 18, 19}, {12, 13, 14, 15}),
    (510000, 559999, {16}, set()),
    (560000, 589999, {16, 17, 18, 19}, {12, 13, 14, 15}),
    (600000, 699999, {16, 17, 18, 19}, {12, 13, 14, 15}),
    (810000, 829999, {16, 17, 18, 19}, set()),
    (979200, 979289, {16}, set()),
)
_FIRST_DIGITS = frozenset("2345689")
_RUN = re.compile(r"[0-9](?:[0-9]|[\s.\-_]{1,3}(?=[0-9])){11,}+")
_GROUP = re.compile(r"[0-9]+")
_SHORTEST_PRINTED_GROUP = 4
_PRINTED = {(4, 6, 5), (4, 6, 4), (6, 10), (6, 13)}
_LETTERS_THEN_DIGIT = re.compile(r"[A-Za-z]*[0-9]")
_DIGIT_THEN_LETTERS = re.compile(r"[0-9][A-Za-z]*\Z")
_FRACTION_BEFORE = re.compile(r"[0-9][.,]\Z")
_FRACTION_AFTER = re.compile(r"[.,][0-9]")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_UUID_LENGTH = 36
_WORD = re.compile(
    r"card|cart[aã]o|visa|master|maestro|amex|american express|discover|cr[eé]di|d[eé]bi|carte|karte|tarjeta"
    r"|carta|hipercard|\b(?:pan|cc|elo)\b"
)
_REACH = 32

Groups = list[tuple[int, int]]


def may_hold_cards(passage: Passage) -> bool:
    """Tell whether there are digits enough for a card number."""
    return passage.numeric and _RUN.search(passage.text) is not None


def find_cards(passage: Passage) -> Iterator[Span]:
    """Find card numbers, grouped or not, but never a part of a longer number (PR-7)."""
    if not passage.numeric:
        return
    for run in _RUN.finditer(passage.text):
        groups = [found.span() for found in _GROUP.finditer(passage.text, *run.span())]
        yield from _cards_of(passage, groups, worded=_word_before(passage, run.start()))


def _word_before(passage: Passage, start: int) -> bool:
    return _WORD.search(passage.lower, max(0, start - _REACH), start) is not None


def _cards_of(passage: Passage, groups: Groups, *, worded: bool) -> Iterator[Span]:
    first = previous_end = 0
    while first < len(groups):
        last = None
        if passage.text[groups[first][0]] in _FIRST_DIGITS and _may_begin(groups, first, previous_end, worded):
            last = _last_group(passage, groups, first, worded)
        if last is None:
            first += 1
            continue
        yield Span(groups[first][0], groups[last][1], "card")
        first = previous_end = last + 1


def _may_begin(groups: Groups, first: int, previous_end: int, worded: bool) -> bool:
    """Begin where a number begins: in a table of groups of four, not at each of its cells."""
    if first == previous_end:
        return True
    (start, end), (start_before, end_before) = groups[first], groups[first - 1]
    return end_before - start_before != 4 and (worded or end - start >= _SHORTEST_PRINTED_GROUP)


def _last_group(passage: Passage, groups: Groups, first: int, worded: bool) -> int | None:
    ends: list[int] = []
    digits = 0
    for last in range(first, len(groups)):
        digits += groups[last][1] - groups[last][0]
        if digits >= _DIGITS.stop:
            break
        if digits in _DIGITS:
            ends.append(last)
    return next((last for last in reversed(ends) if _is_card(passage, groups, (first, last), worded)), None)


def _is_card(passage: Passage, groups: Groups, window: tuple[int, int], worded: bool) -> bool:
    parts = groups[window[0] : window[1] + 1]
    whole_run = len(parts) == len(groups)
    if not worded and not _is_grouped_as_printed([end - start for start, end in parts], whole_run):
        return False
    digits = "".join([passage.text[start:end] for start, end in parts])
    if not _issuer_gives(digits, worded) or _is_inside_something(passage.text, parts[0][0], parts[-1][1]):
        return False
    passage.budget.spend()
    return luhn.is_valid(digits)


def _issuer_gives(digits: str, worded: bool) -> bool:
    prefix, length = int(digits[:_PREFIX_DIGITS]), len(digits)
    return any(
        low <= prefix <= high and (length in plain or (worded and length in with_word))
        for low, high, plain, with_word in _ISSUERS
    )


def _is_grouped_as_printed(sizes: list[int], whole_run: bool) -> bool:
    """Tell whether the digits are grouped as on a card, or all alike with nothing before or after."""
    if tuple(sizes) in _PRINTED or not any(size % 4 for size in sizes[:-1]):
        return True
    return whole_run and len(set(sizes[:-1])) == 1


def _is_inside_something(text: str, start: int, end: int) -> bool:
    """Tell whether the digits are a part of an identifier, a fraction or a UUID."""
    if _LETTERS_THEN_DIGIT.match(text, end) or _FRACTION_AFTER.match(text, end):
        return True
    before = text[max(0, start - _REACH) : start]
    if _DIGIT_THEN_LETTERS.search(before) or _FRACTION_BEFORE.search(before[-2:]):
        return True
    around = _UUID.search(text, max(0, start - _UUID_LENGTH), end + _UUID_LENGTH)
    return around is not None and around.start() < end and start < around.end()
