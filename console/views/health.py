"""Health, for who operates the deployment: its parts, its scheduled work and its evidence (PL-11, PR-22)."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from console import parts
from console.pages import operators_page
from console.schedule import SCHEDULED
from workspaces import access, outside
from workspaces.models import DeploymentAuditHead, Outgoing, ScheduledRun
from workspaces.models.audit import ChainHead
from workspaces.selectors.audit import chain_head
from workspaces.types import WorkspaceRef

LATE_AFTER_RUNS = 3
SLACK = timedelta(minutes=2)
MAX_WAITING = 1000
PART_TITLES = {
    "database": gettext_lazy("Database of the content"),
    "keys_database": gettext_lazy("Database of the keys"),
    "migrations": gettext_lazy("Migrations"),
    "hot_store": gettext_lazy("Hot store"),
    "broker": gettext_lazy("Broker"),
}
WARNING_TITLES = {
    "hot_store_not_required": gettext_lazy(
        "Writes go on while the hot store is away, and readers may be served older state."
    ),
    "hot_store_persists": gettext_lazy("The hot store writes to disk: a copy that no erasure reaches."),
    "hot_store_evicts_markers": gettext_lazy("The hot store may evict markers before entries."),
    "hot_store_is_a_cluster": gettext_lazy("The hot store is a cluster, which was not measured."),
}


class PartRow(msgspec.Struct, frozen=True):
    title: Any
    badge: str


class TaskRow(msgspec.Struct, frozen=True):
    """A scheduled task: how often it is due, when it ran last, how long it waited for a worker, and how it went."""

    name: str
    every_seconds: float
    ended_at: datetime | None
    done_at: datetime | None
    waited_seconds: float | None
    badge: str


class ChainRow(msgspec.Struct, frozen=True):
    """An audit chain: up to where it was verified and when, what was found, and when its last checkpoint was made."""

    title: str
    badge: str
    verified_at: datetime | None
    verified_seq: int
    finding: str
    checkpoint_at: datetime | None


class Leaving(msgspec.Struct, frozen=True):
    """What waits to leave the database as evidence."""

    is_set_up: bool
    waiting: str | int
    oldest_at: datetime | None
    attempts: int
    badge: str


@require_safe
@operators_page("view_usage", "manage_workspace")
def health(request: Any) -> HttpResponse:
    """Show whether everything is there and at work; of workspaces only those of the person are named."""
    now = timezone.now()
    runs = {run.name: run for run in ScheduledRun.objects.all()}
    context = {
        "parts": [*_parts(), *_processes(runs.values(), now)],
        "warnings": [WARNING_TITLES.get(word, word) for word in parts.warnings()],
        "versions": parts.versions(),
        "waiting": parts.waiting_tasks(),
        "tasks": [_task(name, every, runs.get(name), now) for name, every in sorted(SCHEDULED.items())],
        "chains": list(_chains(access.workspaces_of(request.user))),
        "leaving": _leaving(now),
    }
    return render(request, "console/health.html", context)


def _parts() -> list[PartRow]:
    return [
        PartRow(PART_TITLES[name], "there" if passed else "missing")
        for name, passed in parts.checks().items()
    ]


def _processes(runs: Iterable[ScheduledRun], now: datetime) -> list[PartRow]:
    """Tell of beat and workers by what they did last: the tasks that come most often say it soonest."""
    sent = [run.sent_at for run in runs if run.sent_at is not None]
    ended = [run.ended_at for run in runs]
    return [
        PartRow(_("Scheduler (beat)"), _alive(sent, now)),
        PartRow(_("Workers"), _alive(ended, now)),
    ]


def _alive(times: list[datetime], now: datetime) -> str:
    if not times:
        return "never_seen"
    return "there" if now - max(times) <= SLACK else "missing"


def _task(name: str, every: float, run: ScheduledRun | None, now: datetime) -> TaskRow:
    if run is None:
        return TaskRow(name, every, None, None, None, "never_seen")
    is_late = now - run.ended_at > LATE_AFTER_RUNS * timedelta(seconds=every) + SLACK
    waited = (run.began_at - run.sent_at).total_seconds() if run.sent_at else None
    badge = "failed" if not run.is_done else "late" if is_late else "success"
    return TaskRow(name, every, run.ended_at, run.done_at, waited, badge)


def _chains(workspaces: Iterable[WorkspaceRef]) -> Iterable[ChainRow]:
    yield _chain(_("The deployment"), DeploymentAuditHead.objects.first())
    for workspace in workspaces:
        with access.bound(workspace.id):
            yield _chain(workspace.name, chain_head())


def _chain(title: str, head: ChainHead | None) -> ChainRow:
    if head is None or head.verified_at is None:
        return ChainRow(title, "pending", None, 0, "", head.checkpoint_at if head else None)
    badge = "broken" if head.finding else "verified"
    return ChainRow(title, badge, head.verified_at, head.verified_seq, head.finding, head.checkpoint_at)


def _leaving(now: datetime) -> Leaving:
    waiting = Outgoing.objects.order_by("id")
    oldest, count = waiting.first(), waiting[: MAX_WAITING + 1].count()
    state = "late" if outside.is_late(now=now) else "pending" if count else "success"
    return Leaving(
        is_set_up=outside.is_set_up(),
        waiting=f"{MAX_WAITING:,}+" if count > MAX_WAITING else count,
        oldest_at=oldest.made_at if oldest else None,
        attempts=oldest.attempts if oldest else 0,
        badge=state if outside.is_set_up() else "off",
    )
