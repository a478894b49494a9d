"""The records of assemblies: lists of them, one with its neighbours, two side by side (CA-16, CA-17)."""

from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from assembly import access
from assembly.models import ContextAssembly
from assembly.selectors.answers import record_of, shown_in
from assembly.types import AssemblyFilter, AssemblyRecord, Compared, ShownRecord
from workspaces.errors import NotFound

EVERY = AssemblyFilter()


def assemblies(wanted: AssemblyFilter = EVERY, *, now: datetime) -> QuerySet[ContextAssembly]:
    """List the assemblies that have not expired, of graphs that are served; a page sorts them by `created_at`."""
    rows = access.assemblies().filter(graph__due_at__gt=now, expires_at__gt=now)
    named = {
        "graph__name": wanted.conversation,
        "participant": wanted.participant,
        "kind": wanted.kind,
        "policy": wanted.policy,
    }
    rows = rows.filter(**{column: value for column, value in named.items() if value})
    if wanted.has_trace is not None:
        rows = rows.filter(_traced(now)) if wanted.has_trace else rows.exclude(_traced(now))
    return rows.select_related("graph", "graph__handle").defer("trace", "selected", "request")


def assembly_row(assembly_id: UUID, *, now: datetime) -> ContextAssembly:
    """Give one assembly that has not expired, of a graph that is served. Raises NotFound."""
    row = access.assembly(assembly_id)
    if min(row.expires_at, row.graph.due_at) <= now:
        raise NotFound
    return row


def assembly_record(assembly_id: UUID, *, now: datetime) -> AssemblyRecord:
    """Give the record of an assembly with its decisions (CA-16). Raises NotFound."""
    row = assembly_row(assembly_id, now=now)
    decisions = row.policy_decisions.order_by("rule", "outcome")
    return record_of(row, decisions, now=now)


def neighbours(row: ContextAssembly, *, now: datetime) -> tuple[UUID | None, UUID | None]:
    """Give the assembly before one of the same conversation and the one after it."""
    others = access.assemblies().filter(graph_id=row.graph_id, expires_at__gt=now)
    earlier = others.filter(Q(created_at__lt=row.created_at) | Q(created_at=row.created_at, id__lt=row.id))
    later = others.filter(Q(created_at__gt=row.created_at) | Q(created_at=row.created_at, id__gt=row.id))
    before = earlier.order_by("-created_at", "-id").values_list("id", flat=True).first()
    return before, later.order_by("created_at", "id").values_list("id", flat=True).first()


def compared(first: ContextAssembly, second: ContextAssembly) -> Compared:
    """Say what two assemblies showed, each record once, in the order of the assembly that it is told from."""
    one, other = _by_name(first), _by_name(second)
    both = [name for name in one if name in other]
    return Compared(
        alike=tuple(one[name] for name in both if one[name].form == other[name].form),
        changed=tuple((one[name], other[name]) for name in both if one[name].form != other[name].form),
        only_first=tuple(shown for name, shown in one.items() if name not in other),
        only_second=tuple(shown for name, shown in other.items() if name not in one),
    )


def _by_name(row: ContextAssembly) -> dict[tuple[str, str], ShownRecord]:
    return {(shown.type, shown.id): shown for shown in shown_in(row)}


def _traced(now: datetime) -> Q:
    return Q(trace_expires_at__isnull=False, trace_expires_at__gt=now)
