"""One look at a text: its markers, and what is of the wanted kinds outside them (PR-5, PR-7)."""

from bisect import bisect_right

import msgspec

from workspaces.masking.detectors import Detector, detectors_for
from workspaces.masking.folding import Folded, fold
from workspaces.masking.markers import Marker, markers_in
from workspaces.masking.passage import (
    BRACKET_BLANK,
    PARTIAL_BLANK,
    Passage,
    Span,
    blanked,
)
from workspaces.masking.policy import MaskingPolicy


class Search(msgspec.Struct, frozen=True):
    """Which kinds are looked for, and who looks for them."""

    kinds: frozenset[str]
    detectors: tuple[Detector, ...]

    def hopeful_in(self, passage: Passage) -> "Search":
        """Leave out the detectors that can find nothing in a passage, nor in any part of it (PR-7b)."""
        hopeful = [
            detector
            for detector in self.detectors
            if (passage.has_digit or not detector.needs_digit) and detector.may_hold(passage)
        ]
        return Search(self.kinds, tuple(hopeful))


def search_for(kinds: frozenset[str]) -> Search:
    """Answer the search for some kinds by every detector that knows one of them."""
    return Search(kinds, detectors_for(kinds))


class Look(msgspec.Struct, frozen=True):
    """What was seen in a text, in order; no two spans overlap, and no marker is inside a span."""

    markers: list[Marker]
    spans: list[Span]


def look(text: str, *, search: Search, policy: MaskingPolicy) -> Look:
    """Find what a search is for, in a text, and is not an exact marker already (PR-6)."""
    markers = markers_in(text, policy)
    folded = fold(_without_markers(text, markers) if markers else text)
    found = _spans(Passage(folded.text, regions=policy.regions), search)
    if not found:
        return Look(markers, found)
    spans = [_in_original(span, folded) for span in found]
    return Look([marker for marker in markers if not _is_covered(marker, spans)], spans)


def _spans(passage: Passage, search: Search) -> list[Span]:
    """Ask each detector in turn; it does not read what an earlier one has claimed, but may reach across it."""
    claimed: list[Span] = []
    for detector in search.detectors:
        if (detector.needs_digit and not passage.has_digit) or not detector.may_hold(passage):
            continue
        found = [span for span in detector.find(passage) if span.kind in search.kinds]
        if found:
            claimed = _disjoint(claimed + found)
            passage = passage.without(claimed)
    return claimed


def _disjoint(found: list[Span]) -> list[Span]:
    """Join spans that overlap, so that no character of either is left."""
    if len(found) < 2:
        return found
    joined: list[Span] = []
    for span in sorted(found, key=_start):
        if joined and span.start < joined[-1].end:
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, span.end), joined[-1].kind)
        else:
            joined.append(span)
    return joined


def _without_markers(text: str, markers: list[Marker]) -> str:
    return blanked(
        text,
        ((marker.start, marker.end, PARTIAL_BLANK if marker.kind else BRACKET_BLANK) for marker in markers),
    )


def _in_original(span: Span, folded: Folded) -> Span:
    start, end = folded.original(span.start, span.end)
    return Span(start, end, span.kind)


def _is_covered(marker: Marker, spans: list[Span]) -> bool:
    """Tell whether a span reaches into the marker: then more than the marker is masked again."""
    nearest = bisect_right(spans, marker.start, key=_start) - 1
    return nearest >= 0 and marker.start < spans[nearest].end


def _start(stretch: Span | Marker) -> int:
    return stretch.start
