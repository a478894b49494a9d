"""Reading the audit (PR-23)."""

from datetime import datetime

import msgspec
from django.db.models import QuerySet

from workspaces.models import AuditEntry, AuditHead


class AuditFilter(msgspec.Struct, frozen=True):
    """What to show of the log; an empty member does not filter. An act may end in `*`."""

    act: str = ""
    actor: str = ""
    object_kind: str = ""
    object_id: str = ""
    since: datetime | None = None
    until: datetime | None = None


EVERYTHING = AuditFilter()


def entries(filters: AuditFilter = EVERYTHING) -> QuerySet[AuditEntry]:
    """List the entries of the bound workspace that pass the filter, newest first."""
    rows = AuditEntry.objects.order_by("-seq")
    if filters.act:
        act = filters.act
        rows = rows.filter(act__startswith=act[:-1]) if act.endswith("*") else rows.filter(act=act)
    exact = {
        "actor_id": filters.actor,
        "object_kind": filters.object_kind,
        "object_id": filters.object_id,
        "at__gte": filters.since,
        "at__lt": filters.until,
    }
    return rows.filter(**{name: value for name, value in exact.items() if value})


def chain_head() -> AuditHead | None:
    """Give the head of the bound workspace's chain, with what its last verification found."""
    return AuditHead.objects.first()


def last_change(object_kind: str, object_id: str) -> AuditEntry | None:
    """Give the last act on one object."""
    return entries(AuditFilter(object_kind=object_kind, object_id=object_id)).first()


def known_acts() -> list[str]:
    """List the acts that the log holds, by name."""
    return _known("act")


def known_object_kinds() -> list[str]:
    """List the kinds of objects that the log names, by name."""
    return _known("object_kind")


def neighbours(entry: AuditEntry, filters: AuditFilter) -> tuple[AuditEntry | None, AuditEntry | None]:
    """Give the entries just newer and just older among those that pass the filter (CO-4)."""
    rows = entries(filters)
    newer = rows.filter(seq__gt=entry.seq).order_by("seq").first()
    return newer, rows.filter(seq__lt=entry.seq).first()


def _known(column: str) -> list[str]:
    """List the values of a column that an index leads: one probe for each value."""
    found: list[str] = []
    values = AuditEntry.objects.order_by(column).values_list(column, flat=True)
    while (value := values.filter(**{f"{column}__gt": found[-1] if found else ""}).first()) is not None:
        found.append(value)
    return found
