"""What a context takes, beside what a transcript would have: bars and the table of the same numbers (CA-16, CO-10)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, get_args

import msgspec
from django.utils.translation import gettext as _

from assembly.models import ContextAssembly
from assembly.types import ShownRecord
from console.presenters.assemblies import saved_percent
from console.presenters.outcomes import form_words
from lastro.assembly.snapshot import Form


class Segment(msgspec.Struct, frozen=True):
    """A part of a bar: where it begins and how wide it is, in percent of the whole, and its number in the table."""

    tone: str
    start: str
    width: str
    middle: str
    number: str


class Bar(msgspec.Struct, frozen=True):
    label: Any
    tokens: int
    segments: list[Segment]


class FormRow(msgspec.Struct, frozen=True):
    """What the records of one form take of an assembled context."""

    number: int
    tone: str
    words: Any
    records: int
    tokens: int
    bytes: int
    percent: int


class Budget(msgspec.Struct, frozen=True):
    """What a context was allowed to take, what a transcript would have, and what was taken, by form (CA-16)."""

    budget_tokens: int | None
    budget_at: str
    naive: Bar
    assembled: Bar
    forms: list[FormRow]
    naive_bytes: int
    assembled_bytes: int
    saved_percent: int | None

    @property
    def bars(self) -> tuple[Bar, Bar]:
        """Give both on one scale, the transcript first."""
        return self.naive, self.assembled


def budget_of(found: ContextAssembly, shown: Sequence[ShownRecord]) -> Budget:
    """Give the bars of a context and the table of the same numbers (CO-10)."""
    allowed = found.request.get("budget_tokens")
    whole = max(found.naive_tokens, found.assembled_tokens, allowed or 0, 1)
    forms = _form_rows(shown, found.assembled_tokens)
    return Budget(
        budget_tokens=allowed,
        budget_at=_percent(allowed or 0, whole),
        naive=Bar(
            label=_("The whole transcript"),
            tokens=found.naive_tokens,
            segments=[_segment("naive", 0, found.naive_tokens, whole, "")],
        ),
        assembled=Bar(
            label=_("What was assembled"),
            tokens=found.assembled_tokens,
            segments=_segments(forms, found.assembled_tokens, whole),
        ),
        forms=forms,
        naive_bytes=found.naive_bytes,
        assembled_bytes=found.assembled_bytes,
        saved_percent=saved_percent(found),
    )


def _form_rows(shown: Sequence[ShownRecord], tokens: int) -> list[FormRow]:
    """Sum by form; what frames the data is counted with none of them and gets a row of its own."""
    by_form: defaultdict[str, list[ShownRecord]] = defaultdict(list)
    for one in shown:
        by_form[one.form].append(one)
    sums = [
        (
            form,
            form_words(form),
            len(by_form[form]),
            _sum(by_form[form], "tokens"),
            _sum(by_form[form], "bytes"),
        )
        for form in get_args(Form)
        if form in by_form
    ]
    rest = tokens - sum(row[3] for row in sums)
    if rest < tokens and rest > 0:
        sums.append(("frame", _("frame around the data"), 0, rest, 0))
    return [
        FormRow(
            number=number,
            tone=form,
            words=words,
            records=records,
            tokens=taken,
            bytes=size,
            percent=round(100 * taken / tokens) if tokens else 0,
        )
        for number, (form, words, records, taken, size) in enumerate(sums, start=1)
    ]


def _sum(shown: Iterable[ShownRecord], member: str) -> int:
    return sum(getattr(one, member) for one in shown)


def _segments(forms: Sequence[FormRow], tokens: int, whole: int) -> list[Segment]:
    """Put the forms side by side; where no sizes by form are kept the bar is one piece."""
    if not any(form.tokens for form in forms):
        return [_segment("memory", 0, tokens, whole, "")]
    segments, start = [], 0
    for form in forms:
        segments.append(_segment(form.tone, start, form.tokens, whole, str(form.number)))
        start += form.tokens
    return segments


def _segment(tone: str, start: int, tokens: int, whole: int, number: str) -> Segment:
    """Place a piece of a bar; its number is left out where there is no room for it."""
    return Segment(
        tone=tone,
        start=_percent(start, whole),
        width=_percent(tokens, whole),
        middle=_percent(start + tokens / 2, whole),
        number=number if tokens * 30 >= whole else "",
    )


def _percent(part: float, whole: int) -> str:
    return f"{100 * part / whole:.2f}%"
