"""Reading what was counted (CO-10)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, tzinfo

from django.db.models import Sum
from django.db.models.functions import TruncDay, TruncHour

from workspaces.models import UsageHour
from workspaces.rules import usage as rules

Numbers = Mapping[str, Mapping[str, Mapping[datetime, int]]]
"""Counts by kind, name and the beginning of the hour or day."""


def numbers(kinds: Iterable[str], *, span: str, since: datetime, zone: tzinfo) -> Numbers:
    """Sum up what was counted in the bound workspace since a moment, hour by hour or day by day of a zone.

    An hour belongs to the day in which it begins, which matters where a zone is off UTC by half an hour.
    """
    by = TruncHour("hour") if rules.is_hourly(span) else TruncDay("hour", tzinfo=zone)
    rows = UsageHour.objects.filter(hour__gte=since, kind__in=list(kinds))
    sums = rows.values("kind", "name", start=by).annotate(sum=Sum("count"))
    found: dict[str, dict[str, dict[datetime, int]]] = defaultdict(lambda: defaultdict(dict))
    for row in sums.order_by("kind", "name", "start"):
        found[row["kind"]][row["name"]][row["start"].astimezone(UTC)] = row["sum"]
    return found
