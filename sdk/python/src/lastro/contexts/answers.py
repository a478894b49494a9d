"""What an assembly answers (CA-15 to CA-19). Representations show names and numbers, and no content (SD-11)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from lastro.assembly.records import Reference
from lastro.assembly.results import PolicyDecision, RuleSaid
from lastro.assembly.snapshot import Form, Reason, Size


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that the model sees: its name, in which form, and as data what is shown of it."""

    reference: Reference
    form: Form
    data: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The one outcome of a candidate (CA-15): the form in which it is shown, or the reason for which it is not."""

    reference: Reference
    form: Form | None = None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The account of an assembly (CA-16): its policy, counts, sizes and the digest of its decisions.

    `omitted` counts by reason what was left out, other branches apart in `branch_exclusions`; `considered` is the sum.
    `naive` and `assembled` are the sizes of the whole transcript and of the context; `milliseconds` are by stage.
    """

    assembly_id: str
    policy: str
    policy_version: int
    assembler: str
    position: int
    as_of: datetime
    digest: str
    omitted: Mapping[Reason, int]
    branch_exclusions: int
    considered: int
    naive: Size
    assembled: Size
    milliseconds: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyRecord(Account):
    """What the server keeps of an assembly. `trace` has the outcome of every candidate, where it is kept."""

    selected: tuple[Outcome, ...] = ()
    decisions: tuple[PolicyDecision, ...] = ()
    trace: tuple[Outcome, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Account):
    """An assembled context: its items as data and, where they were asked for, ready messages of the provider.

    `pending` is how many records of the conversation still wait here, so that the context does not know them.
    """

    items: tuple[Item, ...] = ()
    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]], repr=False)
    trace: tuple[Outcome, ...] = ()
    pending: int = 0

    def item(self, reference: Reference) -> Item | None:
        """Give what is shown of a record, None where it is left out."""
        return next((item for item in self.items if item.reference == reference), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a model saw a record, or did not (CA-17): the outcome, and what each rule said on the way to it.

    `is_reproduced`: the policy evaluated again gives the same digest; `gone` counts the records that are not there
    any more; `provenance` names what a memory derives from.
    """

    outcome: Literal["included", "omitted", "absent"]
    form: Form | None = None
    reason: Reason | None = None
    rules: tuple[RuleSaid, ...] = ()
    provenance: tuple[Mapping[str, Any], ...] = ()
    assembler_then: str = ""
    assembler_now: str = ""
    is_reproduced: bool = False
    gone: int = 0


def context_of(value: Mapping[str, Any], *, pending: int) -> Context:
    """Read an assembly that was just made."""
    return Context(
        **_account(value),
        items=tuple(_item(one) for one in value["items"]),
        messages=list(value.get("messages") or ()),
        trace=_outcomes(value.get("trace")),
        pending=pending,
    )


def record_of(value: Mapping[str, Any]) -> AssemblyRecord:
    """Read the record of an assembly."""
    return AssemblyRecord(
        **_account(value["summary"]),
        selected=_outcomes(value["selected"]),
        decisions=tuple(_decision(one) for one in value["decisions"]),
        trace=_outcomes(value.get("trace")),
    )


def explanation_of(value: Mapping[str, Any]) -> Explanation:
    """Read why a record was shown or not."""
    return Explanation(
        outcome=value["outcome"],
        form=value.get("form"),
        reason=value.get("reason"),
        rules=tuple(
            RuleSaid(one["rule"], one["outcome"], one.get("form"), one.get("detail") or "")
            for one in value["rules"]
        ),
        provenance=tuple(value.get("provenance") or ()),
        assembler_then=value["assembler"]["then"],
        assembler_now=value["assembler"]["now"],
        is_reproduced=value["is_reproduced"],
        gone=value["gone"],
    )


def _account(value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "assembly_id": value["assembly_id"],
        "policy": value["policy"]["name"],
        "policy_version": value["policy"]["version"],
        "assembler": value["assembler"],
        "position": value["position"],
        "as_of": datetime.fromisoformat(value["as_of"]),
        "digest": value["digest"],
        "omitted": value["omitted"],
        "branch_exclusions": value["branch_exclusions"],
        "considered": value["considered"],
        "naive": _size(value["naive"]),
        "assembled": _size(value["assembled"]),
        "milliseconds": value["milliseconds"],
    }


def _outcomes(values: Iterable[Mapping[str, Any]] | None) -> tuple[Outcome, ...]:
    return tuple(Outcome(_reference(one), one.get("form"), one.get("reason")) for one in values or ())


def _decision(value: Mapping[str, Any]) -> PolicyDecision:
    policy, references = value["policy"], value["references"]
    named = tuple(_reference(one) for one in references)
    return PolicyDecision(value["rule"], policy["name"], policy["version"], value["outcome"], named)


def _reference(value: Mapping[str, Any]) -> Reference:
    return Reference(value["type"], value["id"])


def _item(value: Mapping[str, Any]) -> Item:
    data = {name: member for name, member in value.items() if name not in ("type", "id", "form")}
    return Item(_reference(value), value["form"], data)


def _size(value: Mapping[str, int]) -> Size:
    return Size(value["tokens"], value["bytes"])
