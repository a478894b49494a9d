"""Phone numbers, in international form or as the workspace's regions write them (PR-5, PR-7b, PR-8)."""

import re
from collections.abc import Iterator

import msgspec

from workspaces.masking.detectors.phone_regions import (
    FEWEST_DIGITS,
    MOST_DIGITS,
    Region,
    cuts_of,
    is_international,
    regions_of,
)
from workspaces.masking.passage import Passage, Span, runs_in

_LONGEST_DIALLED = MOST_DIGITS + 3
_MOST_GROUPS = 8
_REACH = 40

_RUN = re.compile(r"[0-9](?:[0-9]|[ \t.\-/()]{1,3}(?=[0-9])){6,}")
_STRETCH = re.compile(r"[0-9][0-9 \t.\-/()]{6,}")
_GROUP = re.compile(r"[0-9]+")
_PLUS_BEFORE = re.compile(r"(?:\(\s?\+|\+\s?\(|\+)\s?\Z")
_GLUED_BEFORE = re.compile(r"(?:[0-9A-Za-z_#]|[$€£]\s?|[0-9][.\-/:,])\Z")
_GOES_ON = re.compile(r"[0-9A-Za-z_%]|[.,:/][0-9]|-[0-9A-Za-z]")
_EXTENSION = re.compile(
    r"[\s,;]{0,2}(?:ext\.?|extension|ramal|poste|durchwahl|x|#)\s?:?\s?[0-9]{1,6}(?![0-9])"
)
_DATE = re.compile(
    r"(?:19|20)[0-9]{2}[-./ ][0-9]{1,2}[-./ ][0-9]{1,2}|[0-9]{1,2}[-./][0-9]{1,2}[-./](?:19|20)[0-9]{2}"
)
_WORD = re.compile(
    r"\b(?:tel|t[ée]l|phone|fone|call|ring|dial|text|sms|mobile?|cell?|cel[lu]|whats|wpp|zap|wa\.me|liga|ligou|ligue"
    r"|r?appel|joign|portable|m[óo]vil|llam|handy|ruf|anruf|fax|conta[ck]t|contato|kontakt|reach me"
    r"|(?:my|our|his|her|their|meu|nosso|seu|mon|notre|son|votre) (?:n[uú]mero|num[ée]ro|number))"
)
_OTHER_NUMBER_BEFORE = re.compile(
    r"\b(?:order|pedido|invoice|fatura|tracking|rastreio|ref|reference|ticket|protocolo?|case|id|sku|item|commande"
    r"|bestellung|account|conta|code|c[óo]digo)\W{0,3}(?:number|n[uú]mero|no|nr)?\W{0,3}(?:is|é)?\W{0,3}\Z"
)
# Layouts of identity numbers that a phone number could have too.
_OTHER_LAYOUTS = ([3, 3, 3, 2], [3, 2, 4])

Groups = list[tuple[int, int]]


class _Run(msgspec.Struct, frozen=True):
    """Groups of digits with little between them, and whether a phone word stands before the first."""

    passage: Passage
    groups: Groups
    regions: tuple[Region, ...]
    worded: bool

    def digits(self, first: int, last: int) -> str:
        text = self.passage.text
        return "".join([text[start:end] for start, end in self.groups[first : last + 1]])

    def sizes(self, first: int, last: int) -> list[int]:
        return [end - start for start, end in self.groups[first : last + 1]]

    def gaps(self, first: int, last: int) -> list[str]:
        text, groups = self.passage.text, self.groups
        return [text[groups[place][1] : groups[place + 1][0]] for place in range(first, last)]


def may_hold_phones(passage: Passage) -> bool:
    """Tell whether there are digits enough for a phone number."""
    return passage.numeric and next(_runs(passage), None) is not None


def _runs(passage: Passage) -> Iterator[re.Match[str]]:
    return runs_in(passage.text, stretch=_STRETCH, run=_RUN)


def find_phones(passage: Passage) -> Iterator[Span]:
    """Find phone numbers; a national one counts with separators or with a phone word near it (PR-7b)."""
    for found in _runs(passage):
        groups = [group.span() for group in _GROUP.finditer(passage.text, *found.span())]
        if _DATE.fullmatch(found[0]):
            continue
        worded = _WORD.search(passage.lower, max(0, found.start() - _REACH), found.start()) is not None
        yield from _phones_of(_Run(passage, groups, regions_of(passage.regions), worded))


def _phones_of(run: _Run) -> Iterator[Span]:
    text, groups = run.passage.text, run.groups
    begin = groups[0][0]
    plus = _PLUS_BEFORE.search(text, max(0, begin - 4), begin)
    first = 0
    while first < len(groups):
        if plus and first == 0:
            start, last = plus.start(), _last_of_international(run)
        else:
            start, last = _opening(text, groups[first][0]), _last_of_national(run, first)
        if last is not None:
            yield Span(start, _with_extension(run.passage.lower, groups[last][1]), "phone")
        first = first + 1 if last is None else last + 1


def _opening(text: str, start: int) -> int:
    return start - 1 if text[start - 1 : start] == "(" else start


def _with_extension(lower: str, end: int) -> int:
    found = _EXTENSION.match(lower, end)
    return found.end() if found else end


def _possible_ends(groups: Groups, first: int) -> list[int]:
    """List the groups where a number that begins at this one may end, the farthest first."""
    ends, digits = [], 0
    for last in range(first, min(len(groups), first + _MOST_GROUPS)):
        digits += groups[last][1] - groups[last][0]
        if digits > _LONGEST_DIALLED:
            break
        if digits >= FEWEST_DIGITS:
            ends.append(last)
    return ends[::-1]


def _last_of_international(run: _Run) -> int | None:
    text = run.passage.text
    for last in _possible_ends(run.groups, 0):
        trunk_left_out = [
            text[start:end]
            for start, end in run.groups[: last + 1]
            if not (end - start == 1 and text[start - 1 : end + 1] == "(0)")
        ]
        run.passage.budget.spend()
        if is_international("".join(trunk_left_out)):
            return last
    return None


def _last_of_national(run: _Run, first: int) -> int | None:
    if not _begins_apart(run, first):
        return None
    for last in _possible_ends(run.groups, first):
        if _ends_apart(run, last) and (run.worded or last > first) and _is_national(run, first, last):
            return last
    return None


def _begins_apart(run: _Run, first: int) -> bool:
    text, start = run.passage.text, run.groups[first][0]
    if first == 0:
        return not _GLUED_BEFORE.search(text, max(0, start - 2), start)
    return " " in text[run.groups[first - 1][1] : start]


def _ends_apart(run: _Run, last: int) -> bool:
    text, end = run.passage.text, run.groups[last][1]
    if last == len(run.groups) - 1:
        return not _GOES_ON.match(text, end) or _EXTENSION.match(text, end) is not None
    return " " in text[end : run.groups[last + 1][0]]


def _is_national(run: _Run, first: int, last: int) -> bool:
    sizes = _as_printed(run.sizes(first, last))
    if not run.worded and 1 in sizes[1:]:
        return False
    digits = run.digits(first, last)
    regions = [region for region in run.regions if region.may_read(digits, worded=run.worded)]
    if not regions and not digits.startswith("00"):
        return False
    run.passage.budget.spend()
    readings = [
        (region, number) for region in regions for number in region.readings(digits, worded=run.worded)
    ]
    local = run.worded and _is_local(sizes, run.regions)
    abroad = digits.startswith("00") and (run.worded or last - first > 1)
    if not (readings or local or abroad) or _is_other_number(run, first, last):
        return False
    if local or (readings and run.worded):
        return True
    if abroad and is_international(digits[2:]):
        return True
    return _is_cut_as_printed(run, sizes, readings)


def _as_printed(sizes: list[int]) -> list[int]:
    """Join the digit of a mobile that stands alone: `11 9 8765-4321` is printed `11 98765-4321`."""
    return [sizes[0], 5, *sizes[3:]] if sizes[1:3] == [1, 4] and len(sizes) == 4 else sizes


def _is_cut_as_printed(run: _Run, sizes: list[int], readings: list[tuple[Region, str]]) -> bool:
    """Tell whether the groups are those of a printed number; among other digits they must be just those."""
    cuts = cuts_of(sizes)
    for region, number in readings:
        run.passage.budget.spend()
        printed = region.printed_sizes(number)
        if sum(sizes) < sum(printed) or not cuts <= cuts_of(printed) | {len(number)}:
            continue
        if len(sizes) == len(run.groups) or cuts >= cuts_of(printed):
            return True
    return False


def _is_local(sizes: list[int], regions: tuple[Region, ...]) -> bool:
    """Tell whether a phone word announces a number without its area code."""
    two_parts = len(sizes) == 2 and sizes[-1] == 4
    return two_parts and any(sum(sizes) in region.local_lengths for region in regions)


def _is_other_number(run: _Run, first: int, last: int) -> bool:
    """Tell whether the digits are laid out, or announced, as a date, an address, an amount or an order."""
    start, end = run.groups[first][0], run.groups[last][1]
    gaps, sizes = run.gaps(first, last), run.sizes(first, last)
    if not gaps:
        before = run.passage.lower[max(0, start - _REACH) : start]
        return _OTHER_NUMBER_BEFORE.search(before) is not None
    if sizes in _OTHER_LAYOUTS or any("/" in gap for gap in gaps):
        return True
    if set(gaps) == {"."} and ((len(sizes) == 4 and max(sizes) <= 3) or set(sizes[1:]) == {3}):
        return True
    return _DATE.search(run.passage.text, start, end) is not None
