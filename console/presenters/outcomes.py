"""What became of each candidate of an assembly, in people's words (CA-15, CA-17)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from django.utils.translation import gettext_lazy

from assembly.models import ContextAssembly
from assembly.types import AssemblyRecord, ShownRecord, TraceLine
from console.forms.assemblies import RECORD_TITLES
from console.pages import here

FORM_WORDS: Mapping[str, Any] = {
    "message": gettext_lazy("message, as it was said"),
    "memory": gettext_lazy("memory"),
    "raw": gettext_lazy("raw, byte for byte"),
    "recovery": gettext_lazy("recovery state"),
    "stale_marker": gettext_lazy("marker that it is stale"),
    "hint": gettext_lazy("hint that it exists"),
    "skill": gettext_lazy("loaded skills"),
}
REASON_WORDS: Mapping[str, tuple[Any, Any]] = {
    "erased": (
        gettext_lazy("erased"),
        gettext_lazy("It, or what it rests on, was erased or is being erased."),
    ),
    "expired": (
        gettext_lazy("expired"),
        gettext_lazy("Its retention was over, or the run for which it was loaded had ended."),
    ),
    "other_branch": (
        gettext_lazy("on another branch"),
        gettext_lazy("It stands on a branch, or behind a fork, from which this branch inherits nothing."),
    ),
    "not_visible": (
        gettext_lazy("not visible here"),
        gettext_lazy("Its visibility ends before this participant, branch or conversation."),
    ),
    "isolated": (
        gettext_lazy("isolated"),
        gettext_lazy("It belongs to a participant or a run that is kept apart from the others."),
    ),
    "not_promoted": (
        gettext_lazy("not promoted"),
        gettext_lazy("A sub-agent made it, and nobody promoted it to this viewer."),
    ),
    "privacy_route": (
        gettext_lazy("not for this route"),
        gettext_lazy("The policy lets nothing of its privacy class leave on this provider route."),
    ),
    "broken_provenance": (
        gettext_lazy("evidence does not hold"),
        gettext_lazy("A place in its evidence says something else by now, or the evidence is gone."),
    ),
    "superseded": (
        gettext_lazy("replaced"),
        gettext_lazy("A newer record that is shown here replaces it."),
    ),
    "stale": (
        gettext_lazy("stale"),
        gettext_lazy("It is older than it may be, and the policy leaves such memories out."),
    ),
    "not_needed_raw": (
        gettext_lazy("not needed raw"),
        gettext_lazy("A memory stands for it, and the request did not ask for the exact bytes."),
    ),
    "over_budget": (
        gettext_lazy("over the budget"),
        gettext_lazy("What comes before it had filled the budget of tokens or bytes."),
    ),
    "candidate_limit": (
        gettext_lazy("beyond the limit of candidates"),
        gettext_lazy("It came after the candidates, or the latest messages, that the policy looks at."),
    ),
}


DETAIL_WORDS: Mapping[str, Any] = {
    "stale_after": gettext_lazy("its time had passed"),
    "broken_provenance": gettext_lazy("a place in its evidence does not hold"),
    "source": gettext_lazy("an artifact that it rests on"),
    "run": gettext_lazy("its run has ended"),
    "payload": gettext_lazy("its payload"),
    "depends_on": gettext_lazy("a memory that it depends on"),
    "unchecked": gettext_lazy("it was never checked"),
    "broken": gettext_lazy("it says something else"),
}
TYPE_WORDS: Mapping[str, Any] = {**RECORD_TITLES, "model_run": gettext_lazy("run of a model")}


class CandidateRow(msgspec.Struct, frozen=True):
    """A record with its one outcome; `place` counts in the order in which it was shown."""

    type: str
    type_words: Any
    id: str
    place: int | None = None
    form: str = ""
    reason: str = ""
    words: Any = ""
    detail: str = ""
    conflicts: tuple[str, ...] = ()
    tokens: int | None = None
    bytes: int | None = None
    why_url: str = ""


class ReasonRow(msgspec.Struct, frozen=True):
    """A reason for which records were left out, in a few words and in a sentence, and how many."""

    reason: str
    words: Any
    sentence: Any
    count: int


def shown_rows(request: Any, found: ContextAssembly, shown: Sequence[ShownRecord]) -> list[CandidateRow]:
    """List what was selected, in the order in which it was shown."""
    return [
        CandidateRow(
            type=one.type,
            type_words=type_words(one.type),
            id=one.id,
            place=place,
            form=one.form,
            words=form_words(one.form),
            tokens=one.tokens,
            bytes=one.bytes,
            why_url=why_url(request, found, one.type, one.id),
        )
        for place, one in enumerate(shown, start=1)
    ]


def candidates_of(
    request: Any, found: ContextAssembly, told: AssemblyRecord
) -> tuple[list[CandidateRow], list[CandidateRow]]:
    """List what was shown, in its order, and of a full trace what was left out, by reason (CA-15)."""
    traced = told.trace or ()
    rest = sorted(
        (one for one in traced if one.form is None), key=lambda one: (one.reason or "", one.type, one.id)
    )
    shown = _with_details(shown_rows(request, found, told.selected), traced)
    return shown, [_left_out(request, found, one) for one in rest]


def _with_details(rows: Sequence[CandidateRow], traced: Sequence[TraceLine]) -> list[CandidateRow]:
    """Say what the trace knows of what is shown: why it is stale, and what contradicts it (CA-13)."""
    known = {(one.type, one.id): one for one in traced}
    lines = [known.get((row.type, row.id)) for row in rows]
    return [
        msgspec.structs.replace(row, detail=detail_words(line.detail), conflicts=line.conflicts)
        if line
        else row
        for row, line in zip(rows, lines, strict=True)
    ]


def _left_out(request: Any, found: ContextAssembly, one: TraceLine) -> CandidateRow:
    return CandidateRow(
        type=one.type,
        type_words=type_words(one.type),
        id=one.id,
        reason=one.reason or "",
        words=reason_words(one.reason or ""),
        detail=detail_words(one.detail),
        why_url=why_url(request, found, one.type, one.id),
    )


def reason_rows(found: ContextAssembly) -> list[ReasonRow]:
    """List the reasons for which something was left out, those of most records first; branches stand apart."""
    counts = Counter(found.omitted)
    return [reason_row(reason, count) for reason, count in counts.most_common()]


def reason_row(reason: str, count: int) -> ReasonRow:
    words, sentence = REASON_WORDS.get(reason, (reason, ""))
    return ReasonRow(reason=reason, words=words, sentence=sentence, count=count)


def reason_words(reason: str) -> Any:
    return REASON_WORDS.get(reason, (reason, ""))[0]


def form_words(form: str) -> Any:
    return FORM_WORDS.get(form, form)


def detail_words(detail: str) -> str:
    """Say what decided: a word of ours in people's words, or the id of another record as it is."""
    return str(DETAIL_WORDS.get(detail, detail))


def type_words(type: str) -> Any:
    return TYPE_WORDS.get(type, type)


def why_url(request: Any, found: ContextAssembly, type: str, id: str) -> str:
    return here(request, "assembly_why", found.id, type=type, id=id)
