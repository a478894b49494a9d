"""Payment card numbers: issuer ranges, lengths and the Luhn checksum (PR-7, PR-8)."""

import re
from collections.abc import Iterator

import msgspec
from stdnum import luhn

from workspaces.masking.canonical import digits_of
from workspaces.masking.passage import Passage, Span, runs_in

_DIGITS = range(12, 20)
_FEWEST_WITHOUT_WORD = 14
_PREFIX_DIGITS = 6

# First and last issuer prefix, lengths that the issuer gives, lengths that count only with a card word before.
_ISSUERS: tuple[tuple[int, int, set[int], set[int]], ...] = (
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
_RUN = re.compile(r"[0-9](?:[0-9]|[\s.\-_]{1,3}(?=[0-9])){11,}")
_STRETCH = re.compile(r"[0-9][0-9\s.\-_]{11,}")
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


class _Run(msgspec.Struct, frozen=True):
    """Groups of digits with little between them, and whether a card word stands before the first."""

    passage: Passage
    groups: list[tuple[int, int]]
    worded: bool

    def size(self, group: int) -> int:
        start, end = self.groups[group]
        return end - start


def may_hold_cards(passage: Passage) -> bool:
    """Tell whether there are digits enough for a card number: fewer do only with a card word before them."""
    if not passage.may_hold_digits(_DIGITS.start):
        return False
    return any(_is_worded(passage, run) or _has_enough(run) for run in _runs(passage))


def _runs(passage: Passage) -> Iterator[re.Match[str]]:
    return runs_in(passage.text, stretch=_STRETCH, run=_RUN)


def _has_enough(run: re.Match[str]) -> bool:
    return len(digits_of(run[0])) >= _FEWEST_WITHOUT_WORD and not _is_in_uuid(run)


def _is_in_uuid(run: re.Match[str]) -> bool:
    around = _uuid_around(run.string, *run.span())
    return around is not None and around.start() <= run.start() and run.end() <= around.end()


def _is_worded(passage: Passage, run: re.Match[str]) -> bool:
    return _WORD.search(passage.lower, max(0, run.start() - _REACH), run.start()) is not None


def find_cards(passage: Passage) -> Iterator[Span]:
    """Find card numbers, grouped or not, but never a part of a longer number (PR-7)."""
    for found in _runs(passage):
        groups = [group.span() for group in _GROUP.finditer(passage.text, *found.span())]
        if sum([end - start for start, end in groups]) < _DIGITS.start:
            continue
        yield from _cards_of(_Run(passage, groups, _is_worded(passage, found)))


def _cards_of(run: _Run) -> Iterator[Span]:
    first = previous_end = 0
    while first < len(run.groups):
        last = _last_group(run, first) if _may_begin(run, first, previous_end) else None
        if last is None:
            first += 1
            continue
        yield Span(run.groups[first][0], run.groups[last][1], "card")
        first = previous_end = last + 1


def _may_begin(run: _Run, first: int, previous_end: int) -> bool:
    """Begin where a number begins: in a table of groups of four, not at each of its cells."""
    if run.passage.text[run.groups[first][0]] not in _FIRST_DIGITS:
        return False
    if first == previous_end:
        return True
    return run.size(first - 1) != 4 and (run.worded or run.size(first) >= _SHORTEST_PRINTED_GROUP)


def _last_group(run: _Run, first: int) -> int | None:
    ends: list[int] = []
    digits = 0
    for last in range(first, len(run.groups)):
        digits += run.size(last)
        if digits >= _DIGITS.stop:
            break
        if digits in _DIGITS:
            ends.append(last)
    return next((last for last in reversed(ends) if _is_card(run, first, last)), None)


def _is_card(run: _Run, first: int, last: int) -> bool:
    text, parts = run.passage.text, run.groups[first : last + 1]
    if not run.worded and not _is_grouped_as_printed(run, first, last):
        return False
    digits = "".join([text[start:end] for start, end in parts])
    if not _issuer_gives(digits, worded=run.worded) or _is_inside_something(text, parts[0][0], parts[-1][1]):
        return False
    run.passage.budget.spend()
    return luhn.is_valid(digits)


def _issuer_gives(digits: str, *, worded: bool) -> bool:
    prefix, length = int(digits[:_PREFIX_DIGITS]), len(digits)
    return any(
        low <= prefix <= high and (length in plain or (worded and length in with_word))
        for low, high, plain, with_word in _ISSUERS
    )


def _is_grouped_as_printed(run: _Run, first: int, last: int) -> bool:
    """Tell whether the digits are grouped as on a card, or all alike with nothing before or after."""
    sizes = [run.size(group) for group in range(first, last + 1)]
    if tuple(sizes) in _PRINTED or not any(size % 4 for size in sizes[:-1]):
        return True
    return len(sizes) == len(run.groups) and len(set(sizes[:-1])) == 1


def _is_inside_something(text: str, start: int, end: int) -> bool:
    """Tell whether the digits are a part of an identifier, a fraction or a UUID."""
    if _LETTERS_THEN_DIGIT.match(text, end) or _FRACTION_AFTER.match(text, end):
        return True
    before = text[max(0, start - _REACH) : start]
    if _DIGIT_THEN_LETTERS.search(before) or _FRACTION_BEFORE.search(before[-2:]):
        return True
    around = _uuid_around(text, start, end)
    return around is not None and around.start() < end and start < around.end()


def _uuid_around(text: str, start: int, end: int) -> re.Match[str] | None:
    return _UUID.search(text, max(0, start - _UUID_LENGTH), end + _UUID_LENGTH)
