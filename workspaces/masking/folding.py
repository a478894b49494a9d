"""One spelling for what looks alike: full-width digits, odd spaces and dashes, characters nobody sees."""

import re
import unicodedata
from bisect import bisect_right

import msgspec


class Folded(msgspec.Struct, frozen=True):
    """A text in its folded spelling, and how to find a place of it in the original."""

    text: str
    removed_before: tuple[int, ...] = ()

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Answer the offsets in the original of a stretch of the folded text."""
        if not self.removed_before:
            return start, end
        first = start + bisect_right(self.removed_before, start)
        last = end - 1 + bisect_right(self.removed_before, end - 1)
        return first, last + 1


def fold(text: str) -> Folded:
    """Fold compatibility characters one to one and take out the invisible ones, keeping offsets right."""
    if (text.isascii() and text.isprintable()) or _ODD.search(text) is None:
        return Folded(text)
    folded = text.translate(_ALIKE)
    if len(folded) == len(text):
        return Folded(folded)
    removed = (place for place, character in enumerate(text) if _ALIKE.get(ord(character), "") is None)
    return Folded(folded, tuple(place - count for count, place in enumerate(removed)))


def lowered(text: str) -> str:
    """Answer the text in lower case, with every character at its old place."""
    # The only character whose lower case is longer than itself.
    return text.replace("\u0130", "i").lower()


def _is_invisible(character: str) -> bool:
    if character in "\t\n\r\v\f\x7f":
        return False
    return unicodedata.category(character) in {"Cc", "Cf"} or character in _OTHER_INVISIBLE


def _alike(code: int) -> str | None:
    """Answer what a character is folded to, None where it is taken out."""
    character = chr(code)
    if _is_invisible(character):
        return None
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.digit(character))
    if category == "Zs":
        return " "
    if category == "Pd" or character == "\u2212":
        return "-"
    compatible = unicodedata.normalize("NFKC", character)
    return compatible if len(compatible) == 1 and compatible.isascii() else character


# Variation selectors, the keycap, the combining grapheme joiner and the fillers that draw nothing.
_OTHER_INVISIBLE = frozenset(
    [chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))]
    + list("\u034f\u115f\u1160\u17b4\u17b5\u20e3\u3164\uffa0")
)
# The planes above hold only ideographs, and at their very end the tags and selectors that nobody sees.
_FOLDED = (*range(0x20000), *range(0xE0000, 0xE0200))
_ALIKE: dict[int, str | None] = {
    code: folded for code in _FOLDED if (folded := _alike(code)) is None or ord(folded) != code
}
# Any of those; beyond the first plane simply all, for a long list of them would slow the search down.
_ODD = re.compile(
    "[" + "".join(re.escape(chr(code)) for code in _ALIKE if code < 0x10000) + "\U00010000-\U0010ffff]"
)
