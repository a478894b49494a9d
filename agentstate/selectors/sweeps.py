"""What is due to be swept, and what the sweep did (PR-20)."""

from datetime import datetime

from django.db.models import Q, QuerySet

from agentstate.models import State, SweepRun
from workspaces.documents import live
from workspaces.models import Tombstone

COUNTED_UP_TO = 10_000


def due_states(now: datetime) -> QuerySet[State]:
    """List the rows that are due, or were written under older object types than the live ones."""
    current = live("object-types")["object-types"].version
    return State.objects.filter(Q(due_at__lte=now) | Q(types_document__lt=current), erasure_id=None)


def due_names(now: datetime) -> QuerySet[Tombstone]:
    """List the tombstones of erased handles and scopes that have lived as long as the oldest backup (PR-12)."""
    return Tombstone.objects.filter(due_at__lte=now)


def backlog(now: datetime) -> int:
    """Count what is due, up to 10,000 of each kind."""
    return due_states(now)[:COUNTED_UP_TO].count() + due_names(now)[:COUNTED_UP_TO].count()


def sweep_runs() -> QuerySet[SweepRun]:
    """List the runs of the last 30 days that found something, newest first."""
    return SweepRun.objects.order_by("-ended_at", "-id")
