"""Long work, whatever its kind: how far it is, who began it, and where it ends (CO-9)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from console.pages import asked, forbidden, here, workspace_page
from console.presenters.lists import Table, show_list
from console.presenters.rows import Fact, Filter
from console.views.erasures import KIND_TITLES, STEP_TITLES
from console.views.packages import BADGES as PACKAGE_BADGES
from privacy.models import ErasureRequest, ErasureStep, PackageRun
from privacy.selectors import jobs as selectors
from privacy.selectors.jobs import KINDS, Job
from workspaces.models import AuditEntry

READERS = ("view_usage", "request_erasure", "approve_erasure", "build_package")
KIND_READERS: Mapping[str, tuple[str, ...]] = {
    "erasure": ("request_erasure", "approve_erasure"),
    "package": ("build_package",),
    "export": ("view_audit",),
}
"""Who sees jobs of a kind; without a line everybody who may open the page."""
TITLES = {
    "erasure": gettext_lazy("Erasure"),
    "export": gettext_lazy("Export"),
    "graph": gettext_lazy("Sweep of the runtime graph"),
    "history": gettext_lazy("Sweep of history"),
    "package": gettext_lazy("Subject package"),
    "states": gettext_lazy("Sweep of working memory"),
}
SWEPT_TITLES = KIND_TITLES | {
    "states": gettext_lazy("States"),
    "fields": gettext_lazy("Fields"),
    "items": gettext_lazy("Messages"),
    "tombstones": gettext_lazy("Tombstones"),
    "names": gettext_lazy("Names of what was erased"),
}
COLUMNS = ("title", "reference", "badge", "progress", "by", "at")
MOVING = frozenset({"approved", "running", "waiting", "building"})


class JobRow(msgspec.Struct, frozen=True):
    """A job as the list shows it."""

    title: Any
    reference: str
    badge: str
    progress: str
    at: datetime
    by: str
    is_moving: bool
    name: str
    url: str


class JobStep(msgspec.Struct, frozen=True):
    """One step of a job: what it does, how far it is, and when it ended."""

    title: Any
    badge: str
    count: str
    at: datetime | None = None


class Link(msgspec.Struct, frozen=True):
    """Where a job's page leads: to what it is about, to its receipt, or to the form that cancels it."""

    title: str
    url: str
    is_dialog: bool = False


@require_safe
@workspace_page(*READERS)
def jobs(request: Any) -> HttpResponseBase:
    """List the jobs that the person may see, newest first; what moves is asked for again."""
    seen = [kind for kind in KINDS if _may_see(request, kind)]
    kind = asked(request, "kind")
    chosen = [kind] if kind in seen else seen
    listed = selectors.jobs(chosen, older=request.GET.get("older"), newer=request.GET.get("newer"))
    rows = [_row(request, found) for found in listed.rows]
    context = {
        "filters": [_by_kind(kind if kind in seen else "", seen)],
        "jobs": rows,
        "moving": [row for row in rows if row.is_moving],
        "page": listed,
    }
    return show_list(request, "console/jobs.html", context, table=Table("jobs", COLUMNS, rows))


@require_safe
@workspace_page(*READERS)
def job(request: Any, job_name: str) -> HttpResponseBase:
    """Show one job: its steps and counts, who began it, and what may be done about it."""
    found = selectors.find_job(job_name)
    if not _may_see(request, found.kind):
        return forbidden(request, KIND_READERS[found.kind][0])
    context = {
        "job": _row(request, found),
        "steps": _steps(found),
        "facts": _facts(found),
        "links": _links(request, found),
        "why_no_cancel": _why_no_cancel(found),
    }
    return render(request, "console/job.html", context)


def _may_see(request: Any, kind: str) -> bool:
    readers = KIND_READERS.get(kind)
    return readers is None or not request.may.isdisjoint(readers)


def _by_kind(kind: str, seen: list[str]) -> Filter:
    choices = [(name, str(TITLES[name])) for name in seen]
    return Filter(name="kind", label=_("Kind"), kind="select", value=kind, choices=choices)


def _row(request: Any, found: Job) -> JobRow:
    return JobRow(
        title=TITLES[found.kind],
        reference=_reference(found),
        badge=_badge(found),
        progress=_progress(found),
        at=found.at,
        by=_by(found),
        is_moving=_status(found) in MOVING,
        name=found.name,
        url=here(request, "job", found.name),
    )


def _status(found: Job) -> str:
    match found.row:
        case ErasureRequest():
            return str(found.row.status)
        case PackageRun():
            return found.row.status_at(timezone.now())
    return "success"


def _badge(found: Job) -> str:
    """Give the status word; an approved erasure that has not begun can only wait for a hold."""
    status = _status(found)
    is_held = status == "approved" and found.row.erasure_id is None
    return "blocked" if is_held else PACKAGE_BADGES.get(status, status)


def _reference(found: Job) -> str:
    match found.row:
        case ErasureRequest():
            return found.row.reference
        case AuditEntry():
            return str(found.row.act)
    return str(found.row.pk)[:8]


def _by(found: Job) -> str:
    match found.row:
        case ErasureRequest() | PackageRun():
            return str(found.row.asked_by)
        case AuditEntry():
            return str(found.row.actor_name)
    return _("the schedule")


def _progress(found: Job) -> str:
    """Say how far a job is, in one line."""
    match found.row:
        case ErasureRequest():
            steps = found.row.steps.all()
            ended = sum(step.ended_at is not None for step in steps)
            return _("%(done)s of %(all)s steps") % {"done": ended, "all": len(steps)} if steps else ""
        case PackageRun():
            return (
                _("%(count)s files") % {"count": len(found.row.files)} if found.row.files else found.row.step
            )
        case AuditEntry():
            return ""
    removed = sum(found.row.removed.values())
    return _("%(count)s removed") % {"count": number_format(removed, force_grouping=True)}


def _steps(found: Job) -> list[JobStep]:
    match found.row:
        case ErasureRequest():
            return [
                _erasure_step(step) for step in sorted(found.row.steps.all(), key=lambda each: each.position)
            ]
        case PackageRun():
            return [_file_step(file, found.row.built_at) for file in found.row.files]
        case AuditEntry():
            return []
    return [
        JobStep(SWEPT_TITLES.get(kind, kind), "success", number_format(count, force_grouping=True))
        for kind, count in found.row.removed.items()
    ]


def _erasure_step(step: ErasureStep) -> JobStep:
    expected = max(step.expected, step.done)
    words = _("%(done)s of %(all)s") % {
        "done": number_format(step.done, force_grouping=True),
        "all": number_format(expected, force_grouping=True),
    }
    badge = "success" if step.ended_at else "running" if step.began_at else "pending"
    return JobStep(STEP_TITLES[step.name], badge, words if expected else "", step.ended_at)


def _file_step(file: dict[str, Any], built_at: datetime | None) -> JobStep:
    return JobStep(file["name"], "success", number_format(file["records"], force_grouping=True), built_at)


def _facts(found: Job) -> list[Fact]:
    row = found.row
    match row:
        case ErasureRequest():
            times = {_("Asked"): row.requested_at, _("Approved"): row.approved_at, _("Ended"): row.ended_at}
            own = [
                Fact(label=_("Due"), value=row.due_on.isoformat()),
                Fact(label=_("Reason"), value=row.reason),
            ]
        case PackageRun():
            times = {_("Asked"): row.asked_at, _("Built"): row.built_at, _("Ended"): row.ended_at}
            own = [
                Fact(label=_("Attempts"), value=str(row.attempts)),
                Fact(label=_("Reason"), value=row.reason),
            ]
        case AuditEntry():
            times, own = {_("Began"): row.at}, [Fact(label=_("Reason"), value=row.reason)]
        case _:
            times = {_("Began"): row.began_at, _("Ended"): row.ended_at}
            own = [
                Fact(label=_("Damaged"), value=number_format(row.damaged)),
                Fact(label=_("Left"), value=number_format(row.backlog)),
            ]
    begun = Fact(label=_("Started by"), value=_by(found))
    return [begun, *(Fact(label=label, at=at) for label, at in times.items()), *own]


def _links(request: Any, found: Job) -> list[Link]:
    row = found.row
    match row:
        case ErasureRequest():
            links = [Link(_("The request"), here(request, "erasure", row.id))]
            links += [Link(_("Receipt"), here(request, "erasure_receipt", row.id))] if row.receipt else []
            may_stop = row.erasure_id is None and row.is_open and "approve_erasure" in request.may
            stop = Link(_("Cancel"), here(request, "erasure_refuse", row.id), is_dialog=True)
            return links + ([stop] if may_stop else [])
        case PackageRun():
            links = [Link(_("The package"), here(request, "package", row.id))]
            stop = Link(_("Cancel"), here(request, "package_revoke", row.id), is_dialog=True)
            return links + ([stop] if _status(found) in PackageRun.OPEN else [])
        case AuditEntry():
            return [Link(_("Audit entry"), here(request, "audit_entry", row.id))]
    may_open = not request.may.isdisjoint(("request_erasure", "approve_erasure", "place_hold", "lift_hold"))
    return [Link(_("Retention"), here(request, "retention"))] if may_open else []


def _why_no_cancel(found: Job) -> str:
    """Say why what is under way cannot be stopped any more."""
    is_erasing = (
        isinstance(found.row, ErasureRequest) and found.row.erasure_id is not None and found.row.is_open
    )
    return (
        _("An erasure that has begun is carried to its end: half of one could not be undone.")
        if is_erasing
        else ""
    )
