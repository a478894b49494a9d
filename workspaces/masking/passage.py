"""What a detector is given, what it answers, and what it may spend (PR-7b)."""

import re
from collections.abc import Iterable, Iterator

import msgspec

from workspaces.masking.folding import lowered

MAX_TEXT_BYTES = 256 * 1024
MAX_CANDIDATES = 1_000

# Stand where a marker or a claimed value stood, so that no detector reads it or reads across it.
BRACKET_BLANK = "\x7f"
PARTIAL_BLANK = "\ufdd0"

_DIGIT = re.compile(r"[0-9]")
_AS_DIGITS = bytes(ord("0") if byte in b"0123456789" else byte for byte in range(256))
# What may stand between two digits of one number: blanks, dots, dashes, slashes, and all that is not ASCII.
_BETWEEN_DIGITS = b" \t\n\r\v\f.-_/" + bytes(range(128, 256))
_SEVEN_DIGITS = re.compile(r"[0-9](?:[^0-9]{0,3}[0-9]){6}")
_OF_TOKENS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/=.-"
_AS_RUNS = bytes(ord("x") if byte in _OF_TOKENS else ord(" ") for byte in range(256))


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


class Passage:
    """A folded text without its markers, as a detector reads it.

    `has_digit` and `numeric` (seven digits near each other, the least that most numbers have) spare the
    detectors of numbers a text that can hold none.
    """

    __slots__ = ("_digits", "_numeric", "budget", "has_digit", "lower", "regions", "text")

    def __init__(self, text: str, *, regions: tuple[str, ...] = (), budget: Budget | None = None) -> None:
        self.text = text
        self.lower = lowered(text)
        self.regions = regions
        self.budget = budget or Budget()
        self._digits = text.encode("utf-8", "surrogatepass").translate(_AS_DIGITS, _BETWEEN_DIGITS)
        self.has_digit = b"0" in self._digits
        self._numeric: bool | None = None

    @property
    def numeric(self) -> bool:
        """Tell whether seven digits are near each other."""
        if self._numeric is None:
            self._numeric = self.has_digit and _SEVEN_DIGITS.search(self.text) is not None
        return self._numeric

    def may_hold_digits(self, count: int) -> bool:
        """Tell whether so many digits may stand in a row, with no letters between them."""
        return b"0" * count in self._digits

    def may_hold_run(self, count: int) -> bool:
        """Tell whether so many characters of tokens and addresses stand in a row."""
        return b"x" * count in self.text.encode("utf-8", "surrogatepass").translate(_AS_RUNS)

    def without(self, claimed: list[Span]) -> "Passage":
        """Answer the passage as the next detector may read it."""
        blanks = [(span.start, span.end, BRACKET_BLANK) for span in claimed]
        return Passage(blanked(self.text, blanks), regions=self.regions, budget=self.budget)


def runs_in(text: str, *, stretch: re.Pattern[str], run: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Find runs of digits, looking only at stretches of what a run is made of: those are found much quicker."""
    for found in stretch.finditer(text):
        yield from run.finditer(text, *found.span())


def blanked(text: str, stretches: Iterable[tuple[int, int, str]]) -> str:
    """Put a blank character in place of each character of some stretches of a text."""
    pieces: list[str] = []
    end = 0
    for start, stop, blank in stretches:
        pieces += (text[end:start], blank * (stop - start))
        end = stop
    return "".join((*pieces, text[end:]))
