"""Two assemblies side by side: what both showed, what one alone did, and how much each took (CA-16)."""

from collections.abc import Iterable
from typing import Any

import msgspec
from django.utils.translation import gettext as _

from assembly.models import ContextAssembly
from assembly.types import Compared, ShownRecord
from console.presenters.assemblies import KIND_WORDS, left_out
from console.presenters.outcomes import form_words, type_words, why_url


class Side(msgspec.Struct, frozen=True):
    """One line of facts of both: numbers that may be compared, or words."""

    label: Any
    one: Any
    other: Any
    is_number: bool = False
    differs: bool = False


class ComparedRow(msgspec.Struct, frozen=True):
    """A record with the form in which each showed it; empty where one did not."""

    type_words: Any
    id: str
    one: Any
    other: Any
    why_url: str


def sides_of(one: ContextAssembly, other: ContextAssembly) -> list[Side]:
    """List the facts and the sizes of both."""
    words = (
        (_("Policy"), _policy(one), _policy(other)),
        (_("Runtime kind"), KIND_WORDS.get(one.kind, one.kind), KIND_WORDS.get(other.kind, other.kind)),
        (_("Conversation"), one.graph.name, other.graph.name),
        (_("Branch"), one.branch, other.branch),
        (_("Participant"), one.participant, other.participant),
        (_("Provider route"), one.route, other.route),
        (_("Assembler version"), one.assembler, other.assembler),
    )
    numbers = (
        (_("Graph position"), one.position, other.position),
        (_("Candidates"), one.considered, other.considered),
        (_("Left out"), left_out(one), left_out(other)),
        (_("Tokens of the transcript"), one.naive_tokens, other.naive_tokens),
        (_("Tokens assembled"), one.assembled_tokens, other.assembled_tokens),
        (_("Bytes assembled"), one.assembled_bytes, other.assembled_bytes),
    )
    return [
        *(Side(label, first, second, differs=first != second) for label, first, second in words),
        *(
            Side(label, first, second, is_number=True, differs=first != second)
            for label, first, second in numbers
        ),
    ]


def _policy(found: ContextAssembly) -> str:
    return f"{found.policy} v{found.policy_version}"


class Comparison(msgspec.Struct, frozen=True):
    """What two assemblies showed, as rows; a row's question goes to the assembly that did not show it."""

    changed: list[ComparedRow]
    only_one: list[ComparedRow]
    only_other: list[ComparedRow]
    alike: list[ComparedRow]


def comparison_of(request: Any, one: ContextAssembly, other: ContextAssembly, told: Compared) -> Comparison:
    """Put a comparison into rows."""
    changed = [
        _row(request, other, first, form_words(first.form), form_words(second.form))
        for first, second in told.changed
    ]
    return Comparison(
        changed=changed,
        only_one=[_row(request, other, shown, form_words(shown.form), "") for shown in told.only_first],
        only_other=[_row(request, one, shown, "", form_words(shown.form)) for shown in told.only_second],
        alike=list(_alike(request, one, told.alike)),
    )


def _alike(request: Any, one: ContextAssembly, shown: Iterable[ShownRecord]) -> Iterable[ComparedRow]:
    for each in shown:
        yield _row(request, one, each, form_words(each.form), form_words(each.form))


def _row(request: Any, found: ContextAssembly, shown: ShownRecord, one: Any, other: Any) -> ComparedRow:
    return ComparedRow(
        type_words=type_words(shown.type),
        id=shown.id,
        one=one,
        other=other,
        why_url=why_url(request, found, shown.type, shown.id),
    )
