"""What people see of assemblies in lists: names, versions, counts and times, never content (CA-16, CA-17)."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from assembly import access
from assembly.models import ContextAssembly, GraphPerson
from assembly.selectors.assemblies import assemblies
from assembly.types import AssemblyFilter

OTHERS_SHOWN = 8
TRACES = {"full": True, "none": False}


def listed_assemblies(chosen: Mapping[str, str], *, now: datetime) -> QuerySet[ContextAssembly]:
    """List the assemblies that pass the filters of a page; an empty value does not filter.

    `omitted` names a reason for which at least one record was left out; `trace` is `full` or `none`.
    """
    wanted = AssemblyFilter(
        conversation=chosen.get("conversation", ""),
        participant=chosen.get("participant", ""),
        kind=chosen.get("kind", ""),
        policy=chosen.get("policy", ""),
        has_trace=TRACES.get(chosen.get("trace", "")),
    )
    rows = assemblies(wanted, now=now).select_related("graph", "source")
    reason = chosen.get("omitted")
    return rows.filter(_left_out(reason)) if reason else rows


def assemblies_of_profile(
    profile_id: UUID, chosen: Mapping[str, str], *, now: datetime
) -> QuerySet[ContextAssembly]:
    """List the assemblies of the conversations that name a person, as a subject or as a participant."""
    naming = GraphPerson.objects.filter(handle__profile_id=profile_id)
    return listed_assemblies(chosen, now=now).filter(graph_id__in=naming.values("graph_id"))


def neighbours_in(
    rows: QuerySet[ContextAssembly], found: ContextAssembly
) -> tuple[ContextAssembly | None, ContextAssembly | None]:
    """Give the assemblies just newer and just older in a list (CO-4)."""
    at, id = found.created_at, found.id
    newer = rows.filter(Q(created_at__gt=at) | Q(created_at=at, id__gt=id)).order_by("created_at", "id")
    older = rows.filter(Q(created_at__lt=at) | Q(created_at=at, id__lt=id)).order_by("-created_at", "-id")
    return newer.first(), older.first()


def others_of_the_conversation(found: ContextAssembly, *, now: datetime) -> list[ContextAssembly]:
    """List the newest other assemblies of the same conversation."""
    rows = listed_assemblies({"conversation": found.graph.name}, now=now).exclude(id=found.id)
    return list(rows.order_by("-created_at", "-id")[:OTHERS_SHOWN])


def is_recorded(found: ContextAssembly, *, type: str, id: str) -> bool:
    """Tell whether the conversation of an assembly has a record of this name, whenever it was recorded."""
    return access.records_of(found.graph).filter(kind=type, name=id).exists()


def _left_out(reason: str) -> Q:
    """Find what left something out for a reason; branches are counted apart (CA-16)."""
    return Q(branch_exclusions__gt=0) if reason == "other_branch" else Q(omitted__has_key=reason)
