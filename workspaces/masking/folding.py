"""One spelling for what looks alike: full-width digits, odd spaces and dashes, characters nobody sees."""

import re
import sys
import unicodedata
from bisect import bisect_right

import msgspec

_FOLDED_UP_TO = 0x20000


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
    if text.isascii() and (text.isprintable() or not _INVISIBLE.search(text)):
        return Folded(text)
    removed = tuple(found.start() for found in _INVISIBLE.finditer(text))
    visible = _INVISIBLE.sub("", text) if removed else text
    return Folded(visible.translate(_ALIKE), tuple(place - count for count, place in enumerate(removed)))


def lowered(text: str) -> str:
    """Answer the text in lower case, with every character at its old place."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.translate(_ASCII_LOWER)


def _is_invisible(character: str) -> bool:
    if character in "\t\n\r\v\f\x7f":
        return False
    return unicodedata.category(character) in {"Cc", "Cf"} or character in _OTHER_INVISIBLE


def _alike(character: str) -> str | None:
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.digit(character))
    if category == "Zs":
        return " "
    if category == "Pd" or character == "\u2212":
        return "-"
    compatible = unicodedata.normalize("NFKC", character)
    return compatible if len(compatible) == 1 and compatible.isascii() else None


# Variation selectors, the keycap, the combining grapheme joiner and the fillers that draw nothing.
_OTHER_INVISIBLE = frozenset(
    [chr(code) for code in range(0xFE00, 0xFE10)] + list("\u034f\u115f\u1160\u17b4\u17b5\u20e3\u3164\uffa0")
)
_INVISIBLE = re.compile(
    "["
    + "".join(re.escape(chr(code)) for code in range(_FOLDED_UP_TO) if _is_invisible(chr(code)))
    + "\U000e0001\U000e0020-\U000e007f\U000e0100-\U000e01ef]"
)
_ALIKE: dict[int, str] = {
    code: sys.intern(folded) for code in range(0x80, _FOLDED_UP_TO) if (folded := _alike(chr(code)))
}
_ASCII_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
