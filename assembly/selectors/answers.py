"""What is told of an assembly: its items as data, the trace of its decisions, its record (CA-15, CA-16, CA-19)."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Any

import msgspec

from assembly.models import ContextAssembly, PolicyDecision
from assembly.types import (
    AssemblyRecord,
    AssemblySummary,
    DecisionValue,
    Milliseconds,
    NamedRecord,
    PolicyValue,
    ShownRecord,
    SizeValue,
    TraceLine,
)
from lastro.assembly.rendering.turns import Item, items_of
from lastro.assembly.results import Assembly, Decision
from lastro.assembly.rules.budget import Admitted
from lastro.assembly.rules.situation import Standing
from lastro.assembly.snapshot import AssemblyRequest


def items_as_data(assembly: Assembly) -> tuple[dict[str, Any], ...]:
    """Give what is shown as data, in its order (CA-19)."""
    return tuple(map(_item, items_of(assembly)))


def trace_of(assembly: Assembly) -> tuple[TraceLine, ...]:
    """Give the outcome of every candidate, sorted by its name (CA-15)."""
    return tuple(map(_traced, assembly.decisions))


def shown_of(assembly: Assembly) -> list[list[Any]]:
    """Give what is kept of each record that is shown: its type, its id, its form and what it takes (CA-16)."""
    return [[one.reference.type, one.reference.id, one.form, *_size(one)] for one in assembly.selected]


def asked_of(request: AssemblyRequest) -> dict[str, Any]:
    """Write a request as it is kept: what a host asked, without what it left open."""
    members = msgspec.json.decode(msgspec.json.encode(request))
    return {
        name: value for name, value in members.items() if value not in (None, [], "") and name != "workspace"
    }


def summary_of(row: ContextAssembly, *, now: datetime) -> AssemblySummary:
    """Tell of an assembly in a list; its trace, selection and request are not read."""
    return AssemblySummary(
        assembly_id=row.id,
        conversation=row.graph.name,
        branch=row.branch,
        participant=row.participant,
        kind=row.kind,
        route=row.route,
        policy=PolicyValue(row.policy, row.policy_version),
        assembler=row.assembler,
        position=row.position,
        as_of=row.as_of,
        digest=row.digest,
        omitted=row.omitted,
        branch_exclusions=row.branch_exclusions,
        considered=row.considered,
        naive=SizeValue(row.naive_tokens, row.naive_bytes),
        assembled=SizeValue(row.assembled_tokens, row.assembled_bytes),
        milliseconds=Milliseconds(row.query_ms, row.policy_ms, row.rendering_ms),
        has_trace=has_trace(row, now=now),
        created_at=row.created_at,
        expires_at=row.expires_at,
    )


def record_of(row: ContextAssembly, decisions: Iterable[PolicyDecision], *, now: datetime) -> AssemblyRecord:
    """Give the record of an assembly; its trace only until that expires (CA-16, CA-21)."""
    is_traced = has_trace(row, now=now)
    return AssemblyRecord(
        summary=summary_of(row, now=now),
        request=row.request,
        selected=shown_in(row),
        decisions=tuple(map(_decision, decisions)),
        trace=msgspec.convert(row.trace, tuple[TraceLine, ...]) if is_traced else None,
        trace_expires_at=row.trace_expires_at if is_traced else None,
    )


def has_trace(row: ContextAssembly, *, now: datetime) -> bool:
    """Tell whether the trace of an assembly was kept, and has not expired."""
    return row.trace_expires_at is not None and row.trace_expires_at > now


def shown_in(row: ContextAssembly) -> tuple[ShownRecord, ...]:
    """Give what an assembly showed, in its order."""
    return tuple(ShownRecord(*one) for one in row.selected)


def _size(decision: Decision) -> tuple[int, int]:
    if not isinstance(decision.verdict, Standing):
        return 0, 0
    size = Admitted(decision.candidate, decision.verdict).size
    return size.tokens, size.bytes


def _item(item: Item) -> dict[str, Any]:
    head = {"type": item.reference.type, "id": item.reference.id, "form": item.form}
    if item.message is None:
        return {**(item.line or {}), **head}
    message = item.message
    parts = [
        {name: value for name, value in asdict(part).items() if value not in (None, "")}
        for part in message.parts
    ]
    return {**head, "role": message.role, "participant": message.participant, "parts": parts}


def _traced(decision: Decision) -> TraceLine:
    verdict = decision.verdict
    return TraceLine(
        type=decision.reference.type,
        id=decision.reference.id,
        form=decision.form,
        reason=decision.reason,
        detail=verdict.stale if isinstance(verdict, Standing) else verdict.detail,
        conflicts=verdict.conflicts if isinstance(verdict, Standing) else (),
    )


def _decision(row: PolicyDecision) -> DecisionValue:
    references = tuple(NamedRecord(type, id) for type, id in row.references)
    return DecisionValue(row.rule, PolicyValue(row.policy, row.version), row.outcome, references)
