"""What a detector is given, what it answers, and what it may spend (PR-7b)."""

import re
from collections.abc import Iterable

import msgspec

from workspaces.masking.folding import lowered

MAX_TEXT_BYTES = 256 * 1024
MAX_CANDIDATES = 1_000

# Stand where a marker or a claimed value stood, so that no detector reads it or reads across it.
BRACKET_BLANK = "\x7f"
PARTIAL_BLANK = "\ufdd0"

_DIGIT = re.compile(r"[0-9]")
_SEVEN_DIGITS = re.compile(r"[0-9](?:[^0-9]{0,3}[0-9]){6}")


class BudgetSpent(Exception):
    """The text has more candidates than may be looked at."""


class Budget:
    """Count the candidates of one text; the count depends on the text alone, never on time (PR-7b)."""

    __slots__ = ("limit", "spent")

    def __init__(self, *, limit: int = MAX_CANDIDATES) -> None:
        self.limit = limit
        self.spent = 0

    def spend(self) -> None:
        """Take one candidate from the budget."""
        self.spent += 1
        if self.spent > self.limit:
            raise BudgetSpent


class Span(msgspec.Struct, frozen=True):
    """A stretch of a text that is of one kind."""

    start: int
    end: int
    kind: str


class Passage(msgspec.Struct, frozen=True):
    """A folded text without its markers, as a detector reads it.

    `has_digit` and `numeric` (seven digits near each other, the least that most numbers have) spare the
    detectors of numbers a text that can hold none.
    """

    text: str
    lower: str
    regions: tuple[str, ...]
    budget: Budget
    has_digit: bool
    numeric: bool

    def without(self, claimed: list[Span]) -> "Passage":
        """Answer the passage as the next detector may read it."""
        blanks = [(span.start, span.end, BRACKET_BLANK) for span in claimed]
        return _passage(blanked(self.text, blanks), blanked(self.lower, blanks), self.regions, self.budget)


def passage_of(text: str, *, regions: tuple[str, ...], budget: Budget) -> Passage:
    """Prepare a folded text for the detectors."""
    return _passage(text, lowered(text), regions, budget)


def _passage(text: str, lower: str, regions: tuple[str, ...], budget: Budget) -> Passage:
    digit = _DIGIT.search(text)
    numeric = digit is not None and _SEVEN_DIGITS.search(text, digit.start()) is not None
    return Passage(text, lower, regions, budget, digit is not None, numeric)


def blanked(text: str, stretches: Iterable[tuple[int, int, str]]) -> str:
    """Put a blank character in place of each character of some stretches of a text."""
    pieces: list[str] = []
    end = 0
    for start, stop, blank in stretches:
        pieces += (text[end:start], blank * (stop - start))
        end = stop
    return "".join((*pieces, text[end:]))
