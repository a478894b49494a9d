"""Reading the audit (PR-23)."""

from datetime import datetime

import msgspec
from django.db.models import QuerySet

from workspaces.models import AuditEntry


class AuditFilter(msgspec.Struct, frozen=True):
    """What to show of the log; an empty member does not filter. An act may end in `*`."""

    act: str = ""
    actor: str = ""
    object_kind: str = ""
    object_id: str = ""
    since: datetime | None = None
    until: datetime | None = None


def entries(filters: AuditFilter = AuditFilter()) -> QuerySet[AuditEntry]:
    """List the entries of the bound workspace that pass the filter, newest first."""
    rows = AuditEntry.objects.order_by("-seq")
    if filters.act:
        act = filters.act
        rows = rows.filter(act__startswith=act[:-1]) if act.endswith("*") else rows.filter(act=act)
    exact = {
        "actor_name": filters.actor,
        "object_kind": filters.object_kind,
        "object_id": filters.object_id,
        "at__gte": filters.since,
        "at__lt": filters.until,
    }
    return rows.filter(**{name: value for name, value in exact.items() if value})
