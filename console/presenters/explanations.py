"""Why a model saw a record, or did not, rule by rule, and what the record came from (CA-17)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assembly.models import ContextAssembly
from assembly.types import DecisionValue, LocatorValue, NamedRecord, ProvenanceStep, RuleValue, Why
from console.presenters.outcomes import detail_words, form_words, reason_words, type_words, why_url

REFERENCES_SHOWN = 12
RULE_WORDS: Mapping[str, tuple[Any, Any]] = {
    "workspace_and_erasure": (
        gettext_lazy("Workspace and erasure"),
        gettext_lazy("Is it this workspace's, and is neither it nor what it rests on erased?"),
    ),
    "retention": (gettext_lazy("Retention"), gettext_lazy("Has it not expired?")),
    "lineage": (
        gettext_lazy("Lineage"),
        gettext_lazy("Does it stand on this branch, or on one that this branch inherits from?"),
    ),
    "visibility": (
        gettext_lazy("Visibility"),
        gettext_lazy("Does its visibility reach this participant?"),
    ),
    "isolation": (
        gettext_lazy("Isolation"),
        gettext_lazy("Is it not kept apart by its participant or its run?"),
    ),
    "promotion": (
        gettext_lazy("Promotion"),
        gettext_lazy("If a sub-agent made it, was it promoted to this viewer?"),
    ),
    "privacy_and_route": (
        gettext_lazy("Privacy and route"),
        gettext_lazy("In which form does the policy let its privacy class leave on this route?"),
    ),
    "provenance": (
        gettext_lazy("Provenance"),
        gettext_lazy("Does its evidence still say what it said when it was recorded?"),
    ),
    "supersession": (
        gettext_lazy("Supersession"),
        gettext_lazy("Is there no newer record here that replaces it?"),
    ),
    "contradiction": (
        gettext_lazy("Contradiction"),
        gettext_lazy("What contradicts it? Both sides are shown, and marked."),
    ),
    "freshness": (gettext_lazy("Freshness"), gettext_lazy("Is it not older than its class may be?")),
    "recovery_protection": (
        gettext_lazy("Recovery protection"),
        gettext_lazy("Is it unresolved? Then nothing below leaves it out."),
    ),
    "need_of_raw": (gettext_lazy("Need of raw"), gettext_lazy("Are its exact bytes needed?")),
    "budget": (gettext_lazy("Budget"), gettext_lazy("Was there room for it?")),
    "gathering": (
        gettext_lazy("Gathering"),
        gettext_lazy("Was it among the candidates that the policy looks at?"),
    ),
    "lower_privacy": (
        gettext_lazy("Lowered privacy"),
        gettext_lazy("A named rule of the policy made its class less strict."),
    ),
}
WAYS = {
    "lines": gettext_lazy("lines %(first)s to %(last)s"),
    "bytes": gettext_lazy("bytes %(first)s to %(last)s"),
}


class RuleRow(msgspec.Struct, frozen=True):
    """What one rule said: its name, what it asks, and the reason, or the form where it gave another one."""

    name: Any
    asks: Any
    passed: bool
    words: Any
    detail: str = ""


class PlaceRow(msgspec.Struct, frozen=True):
    """Where in an artifact something stands: never its text, for the names in a pointer may be content."""

    artifact: str
    words: str
    digest: str


class StepRow(msgspec.Struct, frozen=True):
    """A record on the way back to the run that asked for it."""

    type_words: Any
    id: str
    tool: str
    comes_from: list[str]
    places: list[PlaceRow]
    why_url: str = ""


class Answer(msgspec.Struct, frozen=True):
    """The answer to why, in people's words."""

    tone: str
    sentence: str
    rules: list[RuleRow]
    steps: list[StepRow]
    warnings: list[str]


class DecisionRow(msgspec.Struct, frozen=True):
    """What a rule brought about in an assembly, and of which records; `more` counts those that are not listed."""

    name: Any
    rule: str
    words: Any
    records: list["RecordLink"]
    count: int
    more: int


class RecordLink(msgspec.Struct, frozen=True):
    type_words: Any
    id: str
    url: str


def answer_of(request: Any, found: ContextAssembly, asked: NamedRecord, told: Why) -> Answer:
    """Put an explanation into words: the outcome, rule by rule, and what makes it doubtful."""
    return Answer(
        tone={"included": "ok", "omitted": "warn"}.get(told.outcome, "info"),
        sentence=_sentence(told),
        rules=_rule_rows(told.rules),
        steps=[_step_row(request, found, asked, step) for step in told.provenance],
        warnings=list(_warnings(told)),
    )


def _sentence(told: Why) -> str:
    if told.outcome == "included":
        return _("The model saw it. Form: %s.") % str(form_words(told.form or ""))
    if told.outcome == "omitted":
        return _("The model did not see it. Reason: %s.") % str(reason_words(told.reason or ""))
    return _(
        "The model could not see it: at that position the graph of this conversation had no such record, or it is"
        " gone since."
    )


def _warnings(told: Why) -> Iterable[str]:
    if told.assembler.then != told.assembler.now:
        words = {"then": told.assembler.then, "now": told.assembler.now}
        yield _("Assembler %(then)s decided then; this was evaluated by assembler %(now)s.") % words
    if told.gone:
        yield _("Records of that time that are gone since, by retention or erasure: %s.") % told.gone
    if not told.is_reproduced:
        yield _(
            "Evaluated again the decisions are not all the same as those that were kept: take this as what the policy"
            " says now of what is left."
        )


def _rule_rows(rules: Sequence[RuleValue]) -> list[RuleRow]:
    before = [rules[0].form if rules else None, *(rule.form for rule in rules)]
    return [_rule_row(rule, was) for rule, was in zip(rules, before, strict=False)]


def _rule_row(rule: RuleValue, was: str | None) -> RuleRow:
    name, asks = RULE_WORDS.get(rule.rule, (rule.rule, ""))
    passed = rule.outcome == "passed"
    form = form_words(rule.form or "") if rule.form != was else ""
    words = form if passed else reason_words(rule.outcome)
    return RuleRow(name=name, asks=asks, passed=passed, words=words, detail=detail_words(rule.detail))


def _step_row(request: Any, found: ContextAssembly, asked: NamedRecord, step: ProvenanceStep) -> StepRow:
    is_other = (step.type, step.id) != (asked.type, asked.id) and step.type != "model_run"
    return StepRow(
        type_words=type_words(step.type),
        id=step.id,
        tool=step.tool,
        comes_from=[source.id for source in step.comes_from],
        places=[_place_row(locator) for locator in step.locators],
        why_url=why_url(request, found, step.type, step.id) if is_other else "",
    )


def _place_row(locator: LocatorValue) -> PlaceRow:
    return PlaceRow(artifact=locator.artifact, words=_place_words(locator), digest=locator.digest)


def _place_words(locator: LocatorValue) -> str:
    if locator.pointer is not None:
        depth = locator.pointer.count("/")
        return _("a JSON value, %s levels deep") % depth if depth else _("the whole JSON value")
    way, place = ("lines", locator.lines) if locator.lines else ("bytes", locator.bytes)
    first, last = place or (0, 0)
    return str(WAYS[way]) % {"first": first, "last": last}


def decision_rows(
    request: Any, found: ContextAssembly, decisions: Sequence[DecisionValue]
) -> list[DecisionRow]:
    """List what the rules of the policy brought about (CA-1)."""
    return [_decision_row(request, found, decision) for decision in decisions]


def _decision_row(request: Any, found: ContextAssembly, decision: DecisionValue) -> DecisionRow:
    shown = decision.references[:REFERENCES_SHOWN]
    return DecisionRow(
        name=RULE_WORDS.get(decision.rule, (decision.rule, ""))[0],
        rule=decision.rule,
        words=_outcome_words(decision.outcome),
        records=[
            RecordLink(type_words(one.type), one.id, why_url(request, found, one.type, one.id))
            for one in shown
        ],
        count=len(decision.references),
        more=len(decision.references) - len(shown),
    )


def _outcome_words(outcome: str) -> Any:
    """Say a form, a reason or another outcome in words; the sentence of a lowering stands as the policy has it."""
    others = {
        "shown_as_conflicting": _("shown as conflicting"),
        "repaired": _("found again where it moved to"),
    }
    words = form_words(outcome)
    return others.get(outcome) or (words if words != outcome else reason_words(outcome))
