"""Masking of one string: what detectors find, and in a declared one what they leave (PR-5 to PR-7b)."""

from collections.abc import Iterable

import msgspec

from workspaces.masking.markers import Marker, is_marker, markers_in, redaction
from workspaces.masking.passage import MAX_TEXT_BYTES, BudgetSpent, Span
from workspaces.masking.policy import MaskingPolicy, strategy_of
from workspaces.masking.scan import Look, Search, look, search_for
from workspaces.masking.strategies import masked_value

# What is put in can make its neighbours look like something new; four looks are far more than prose needs.
_LOOKS = 4
_NEIGHBOURS = 64
_LONGEST_MARKER = 300
# The shortest secret that is a single word of letters and underscores has this many characters.
_SHORTEST_WORD = 20
_BYTES_PER_CHARACTER = 4


class MaskedText(msgspec.Struct, frozen=True):
    """A masked string, and how many values of each kind it lost."""

    text: str
    counts: dict[str, int]


def mask_found(text: str, *, search: Search, policy: MaskingPolicy) -> MaskedText:
    """Mask what a search finds until all its detectors find nothing, so that masking again is idle (PR-6).

    A text beyond its budget is redacted whole (PR-7b).
    """
    counts: dict[str, int] = {}
    if is_too_long(text):
        return _beyond_budget()
    if not search.detectors or (len(text) < _SHORTEST_WORD and text.replace("_", "a").isalpha()):
        return MaskedText(text, counts)
    for _ in range(_LOOKS):
        seen = _look(text, search, policy)
        if seen is None:
            break
        if not seen.spans:
            return MaskedText(text, counts)
        text = _replaced(text, seen.spans, policy)
        _count(seen.spans, counts)
        search = search_for(search.kinds)
    return _beyond_budget()


def mask_declared(text: str, *, search: Search, policy: MaskingPolicy) -> MaskedText:
    """Mask a string declared personal: what detectors find, and the rest as text (PR-5).

    Nothing but markers and single spaces is left, so one look is enough for a fixed point (PR-6).
    """
    seen = _look(text, search, policy)
    if seen is None:
        return _beyond_budget()
    if not seen.spans and not seen.markers:
        return _all_text(text, policy)
    counts: dict[str, int] = {}
    _count(seen.spans, counts)
    pieces: list[str] = []
    end = 0
    all_known: list[Marker | Span] = [*seen.markers, *seen.spans]
    for known in sorted(all_known, key=lambda known: known.start):
        pieces += (
            _rest(text[end : known.start], policy, counts),
            _known(text[known.start : known.end], known, policy),
        )
        end = known.end
    pieces.append(_rest(text[end:], policy, counts))
    masked = _set_apart(pieces)
    return _beyond_budget() if is_too_long(masked) else MaskedText(masked, counts)


def _all_text(text: str, policy: MaskingPolicy) -> MaskedText:
    """Mask a declared string of which nothing is known."""
    if not text.strip():
        return MaskedText("", {})
    return MaskedText(masked_value(text, kind="text", policy=policy), {"text": 1})


def mask_whole(text: str, *, kind: str, policy: MaskingPolicy) -> MaskedText:
    """Mask a string that is of one kind as a whole; an exact marker and a blank hold nothing (PR-6)."""
    if not text.strip():
        return MaskedText("", {})
    if len(text) <= _LONGEST_MARKER and is_marker(text, kind=kind, policy=policy):
        return MaskedText(text, {})
    return MaskedText(masked_value(text, kind=kind, policy=policy), {kind: 1})


def _count(spans: list[Span], counts: dict[str, int]) -> None:
    for span in spans:
        counts[span.kind] = counts.get(span.kind, 0) + 1


def _look(text: str, search: Search, policy: MaskingPolicy) -> Look | None:
    """Look at a text, or answer None where it is beyond its budget (PR-7b)."""
    if is_too_long(text):
        return None
    try:
        return look(text, search=search, policy=policy)
    except BudgetSpent:
        return None


def _beyond_budget() -> MaskedText:
    return MaskedText(redaction("text"), {"text": 1})


def _rest(piece: str, policy: MaskingPolicy, counts: dict[str, int]) -> str:
    if not piece or piece.isspace():
        return piece and " "
    counts["text"] = counts.get("text", 0) + 1
    return masked_value(piece, kind="text", policy=policy) or " "


def _known(piece: str, known: Marker | Span, policy: MaskingPolicy) -> str:
    return piece if isinstance(known, Marker) else masked_value(piece, kind=known.kind, policy=policy)


def _set_apart(pieces: Iterable[str]) -> str:
    """Join markers and spaces so that each is recognized: no two spaces, no partial form beside another."""
    apart: list[str] = []
    for piece in pieces:
        if piece == " " and (not apart or apart[-1] == " "):
            continue
        if piece and apart and not (apart[-1].endswith(("]", " ")) or piece.startswith(("[", " "))):
            apart.append(" ")
        if piece:
            apart.append(piece)
    return "".join(apart).rstrip(" ")


def _replaced(text: str, spans: list[Span], policy: MaskingPolicy) -> str:
    pieces: list[str] = []
    end = 0
    for span in spans:
        pieces.append(text[end : span.start])
        value = masked_value(text[span.start : span.end], kind=span.kind, policy=policy)
        if strategy_of(policy, span.kind) == "partial" and not _stands_apart(
            value, text, span, pieces, policy
        ):
            value = redaction(span.kind)
        pieces.append(value)
        end = span.end
    pieces.append(text[end:])
    return "".join(pieces)


def _stands_apart(value: str, text: str, span: Span, pieces: list[str], policy: MaskingPolicy) -> bool:
    """Tell whether a partial form will be recognized between its neighbours."""
    before = next((piece[-1] for piece in reversed(pieces) if piece), "")
    around = before + value + text[span.end : span.end + _NEIGHBOURS]
    return any(
        (marker.start, marker.end) == (len(before), len(before) + len(value))
        for marker in markers_in(around, policy)
    )


def is_too_long(text: str) -> bool:
    """Tell whether a text is beyond what is searched (PR-7b)."""
    if len(text) * _BYTES_PER_CHARACTER <= MAX_TEXT_BYTES:
        return False
    return len(text.encode("utf-8", "surrogatepass")) > MAX_TEXT_BYTES
