"""What is due to be swept of history, and what the sweep did (PR-20)."""

from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from history.models import HistorySweep, Item, Session
from history.types import Retention

COUNTED_UP_TO = 10_000


def due_sessions(retention: Retention, *, now: datetime) -> QuerySet[Session]:
    """List the rows that are due, or were last touched under an older retention than the live one."""
    due = Q(due_at__lte=now) | Q(retention_document__lt=retention.document)
    return Session.objects.filter(due, erasure_id=None).select_related("handle")


def sessions_with_due_items(*, now: datetime) -> QuerySet[Session]:
    """List the idle sessions that hold an item or a summary that has expired, or removed records (HI-23, HI-25)."""
    items = Item.objects.filter(session=OuterRef("id"))
    due = Exists(items.filter(Q(expires_at__lte=now) | Q(kind=Item.Kind.REMOVAL)))
    live = Session.objects.filter(life=Session.Life.LIVE, erasure_id=None, reserved_at=None)
    return live.filter(due | Q(summary_expires_at__lte=now)).select_related("handle")


def backlog(retention: Retention, *, now: datetime) -> int:
    """Count what is due, up to 10,000 of each kind."""
    sessions = due_sessions(retention, now=now)[:COUNTED_UP_TO].count()
    return sessions + sessions_with_due_items(now=now)[:COUNTED_UP_TO].count()


def history_sweeps() -> QuerySet[HistorySweep]:
    """List the runs of the last 30 days that found something, newest first."""
    return HistorySweep.objects.order_by("-ended_at", "-id")
