"""Requests for erasure: who waits for what until when, what went, and its receipt (PR-9 to PR-17, CO-5 to CO-9)."""

import json
from datetime import date, datetime
from typing import Any
from uuid import UUID

import msgspec
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from console.pages import actor, asked, here, workspace_page
from console.presenters.changes import changes_of
from console.presenters.lists import Table, show_list
from console.presenters.rows import Fact, Filter, Tab
from privacy.models import ErasureRequest, ErasureStep
from privacy.rules import deadlines
from privacy.selectors import erasures as selectors
from privacy.selectors.approvals import needs_approval
from privacy.services import receipts
from privacy.types import DryRun
from workspaces import access
from workspaces.models import Hold
from workspaces.paging import Page, page
from workspaces.selectors.audit import AuditFilter

READERS = ("request_erasure", "approve_erasure")
COLUMNS = (
    "reference",
    "target",
    "target_id",
    "status",
    "waits_for",
    "refusal",
    "due",
    "due_word",
    "asked_at",
    "asked_by",
)
OPEN = ("received", "verified", "approved", "running", "failed")
ENDED = ("completed", "refused")
COUNTED_UP_TO = 999
TARGET_WORDS = {
    "profile": gettext_lazy("a person with all handles"),
    "handle": gettext_lazy("one handle of a person"),
    "conversation": gettext_lazy("a conversation"),
    "task": gettext_lazy("a task"),
    "object": gettext_lazy("an object"),
    "workspace": gettext_lazy("the whole workspace"),
}
STEP_TITLES = {
    "barrier": gettext_lazy("Out of every store's reach"),
    "working_memory": gettext_lazy("Working memory"),
    "history": gettext_lazy("Conversation history"),
    "graph": gettext_lazy("Runtime graph"),
    "packages": gettext_lazy("Subject packages"),
    "people": gettext_lazy("Handles and profile"),
    "verify": gettext_lazy("Checked that nothing is left"),
    "credentials": gettext_lazy("Keys and tokens stopped"),
    "all_states": gettext_lazy("Working memory"),
    "all_sessions": gettext_lazy("Conversation history"),
    "all_graphs": gettext_lazy("Runtime graph"),
    "all_packages": gettext_lazy("Subject packages"),
    "all_people": gettext_lazy("Handles and profiles"),
    "remains": gettext_lazy("Holds, tombstones and answers"),
    "keys": gettext_lazy("Keys destroyed"),
    "nothing_left": gettext_lazy("Checked that nothing is left"),
    "receipt": gettext_lazy("Receipt"),
}
KIND_TITLES = {
    "agent_states": gettext_lazy("States"),
    "sessions": gettext_lazy("Sessions"),
    "messages": gettext_lazy("Messages"),
    "graph_records": gettext_lazy("Records of the graph"),
    "payloads": gettext_lazy("Payloads"),
    "assemblies": gettext_lazy("Assemblies"),
    "kept_versions": gettext_lazy("Versions kept by holds"),
    "kept_messages": gettext_lazy("Messages kept by holds"),
    "packages": gettext_lazy("Packages"),
    "handles": gettext_lazy("Handles"),
    "profiles": gettext_lazy("Profiles"),
}


class ErasureRow(msgspec.Struct, frozen=True):
    """A request as its list shows it: what is asked by a kind and the beginning of an id, never a handle."""

    reference: str
    target: str
    target_id: str
    status: str
    waits_for: str
    due: date
    due_word: str
    days_left: int | None
    asked_at: datetime
    asked_by: str
    refusal: str
    url: str


class StepRow(msgspec.Struct, frozen=True):
    """A step of an erasure and how far it is."""

    title: Any
    status: str
    done: int
    expected: int
    ended_at: datetime | None


class HoldLine(msgspec.Struct, frozen=True):
    """A hold that an erasure waits for: until when, why, and where it is lifted."""

    reason: str
    until: datetime
    by: str
    has_ended: bool
    url: str


@require_safe
@workspace_page(*READERS)
def erasures(request: Any) -> HttpResponseBase:
    """List the open requests, those first whose deadline comes first (PR-17)."""
    today = timezone.now().date()
    status, due = asked(request, "status"), asked(request, "due")
    rows = _due(_in_status(selectors.open_requests(), status, OPEN), due, today)
    older, newer = _cursors(request)
    listed = page(rows, by="due_on", soonest_first=True, older=older, newer=newer)
    return _list(request, listed, [_by_status(status, OPEN), _by_due(due)], ended=False)


@require_safe
@workspace_page(*READERS)
def erasures_ended(request: Any) -> HttpResponseBase:
    """List the requests that have ended, newest first."""
    status = asked(request, "status")
    rows = _in_status(selectors.ended_requests(), status, ENDED)
    older, newer = _cursors(request)
    listed = page(rows, by="requested_at", older=older, newer=newer)
    return _list(request, listed, [_by_status(status, ENDED)], ended=True)


def _list(request: Any, listed: Page, filters: list[Filter], *, ended: bool) -> HttpResponseBase:
    today = timezone.now().date()
    rows = [row_of(request, row, today) for row in listed.rows]
    late = selectors.overdue(today)[: COUNTED_UP_TO + 1].count()
    context = {
        "tabs": [
            Tab(title=_("Open"), url=here(request, "erasures"), current=not ended),
            Tab(title=_("Ended"), url=here(request, "erasures_ended"), current=ended),
        ],
        "ended": ended,
        "filters": filters,
        "erasures": rows,
        "page": listed,
        "late": f"{COUNTED_UP_TO:,}+" if late > COUNTED_UP_TO else late,
        "late_url": here(request, "erasures", due="late"),
        "new_url": here(request, "erasure_new") if "request_erasure" in request.may else "",
        **changes_of(request, AuditFilter(act="erasure.*"), action="erasure.*"),
    }
    return show_list(request, "console/erasures.html", context, table=Table("erasures", COLUMNS, rows))


def _cursors(request: Any) -> tuple[str | None, str | None]:
    return request.GET.get("older"), request.GET.get("newer")


@require_safe
@workspace_page(*READERS)
def erasure(request: Any, erasure_id: UUID) -> HttpResponse:
    """Show one request: its steps, what it waits for, what it covers or removed, and its receipt."""
    found, now = access.one(selectors.requests(), id=erasure_id), timezone.now()
    dry_run = selectors.dry_run(found, now=now) if found.erasure_id is None and found.is_open else None
    context = {
        "erasure": row_of(request, found, now.date()),
        "id": found.id,
        "facts": _facts(found),
        "steps": _steps(found),
        "is_moving": found.status in {"approved", "running"},
        "dry_run": dry_run,
        "holds": hold_lines(request, dry_run, now),
        "removed": _removed(found),
        "receipt": found.receipt,
        "receipt_hash": found.receipt_hash,
        "why_not": why_not(request, found),
        **_actions(request, found),
        **changes_of(
            request,
            AuditFilter(object_kind="erasure", object_id=str(found.id)),
            object=f"erasure:{found.id}",
        ),
    }
    return render(request, "console/erasure.html", context)


@require_safe
@workspace_page(*READERS)
def erasure_receipt(request: Any, erasure_id: UUID) -> HttpResponse:
    """Give the signed receipt as a file, for `manage.py verify_receipt`; the download is audited (PR-14, PR-21)."""
    found = access.one(selectors.requests(), id=erasure_id)
    if found.receipt is None:
        raise Http404
    receipts.note_download(request=found, actor=actor(request), now=timezone.now())
    text = json.dumps(found.receipt, ensure_ascii=False, indent=2) + "\n"
    name = f"attachment; filename={found.reference}.json"
    return HttpResponse(text, content_type="application/json", headers={"Content-Disposition": name})


def _in_status(
    rows: QuerySet[ErasureRequest], status: str, offered: tuple[str, ...]
) -> QuerySet[ErasureRequest]:
    return rows.filter(status=status) if status in offered else rows


def _due(rows: QuerySet[ErasureRequest], due: str, today: date) -> QuerySet[ErasureRequest]:
    if due == "late":
        return rows.filter(due_on__lt=today)
    return (
        rows.filter(due_on__gte=today, due_on__lte=selectors.close_day(today)) if due == "due_soon" else rows
    )


def _by_status(status: str, offered: tuple[str, ...]) -> Filter:
    words = {
        "received": _("received"),
        "verified": _("verified"),
        "approved": _("approved"),
        "running": _("running"),
        "failed": _("failed"),
        "completed": _("completed"),
        "refused": _("refused"),
    }
    choices = [(name, words[name]) for name in offered]
    value = status if status in offered else ""
    return Filter(name="status", label=_("Status"), kind="select", value=value, choices=choices)


def _by_due(due: str) -> Filter:
    choices = [("late", _("late")), ("due_soon", _("within 7 days"))]
    value = due if due in dict(choices) else ""
    return Filter(name="due", label=_("Due"), kind="select", value=value, choices=choices)


def row_of(request: Any, found: ErasureRequest, today: date) -> ErasureRow:
    return ErasureRow(
        reference=found.reference,
        target=found.target,
        target_id=found.target_id,
        status=found.status,
        waits_for=_waits_for(found),
        due=found.due_on,
        due_word=selectors.due_word(found, today),
        days_left=max((found.due_on - today).days, 0) if found.is_open else None,
        asked_at=found.requested_at,
        asked_by=found.asked_by,
        refusal=found.refusal,
        url=url_of(request, found),
    )


def _waits_for(found: ErasureRequest) -> str:
    """Say what a request waits for: one that is approved and has not begun can only wait for a hold."""
    before = {"received": "unidentified", "verified": "unapproved"}
    if found.status in before:
        return before[found.status]
    return "blocked" if found.status == "approved" and found.erasure_id is None else ""


def url_of(request: Any, found: ErasureRequest) -> str:
    return here(request, "erasure", found.id)


def _facts(found: ErasureRequest) -> list[Fact]:
    return [
        Fact(label=_("Asked for"), value=str(TARGET_WORDS[found.target])),
        Fact(
            label=_("Its id"),
            value=found.target_id,
            mono=True,
            copy=_("Copy the id"),
        ),
        Fact(label=_("Asked by"), value=found.asked_by),
        Fact(label=_("Asked"), at=found.requested_at),
        Fact(label=_("Reason"), value=found.reason),
        Fact(label=_("Regime"), value=found.regime),
        Fact(label=_("Verified"), at=found.verified_at),
        Fact(label=_("Decided"), at=found.approved_at),
        Fact(label=_("Decided by"), value=found.decided_by),
        *([Fact(label=_("Refused as"), value=found.refusal, mono=True)] if found.refusal else []),
        Fact(label=_("Ended"), at=found.ended_at),
    ]


def _steps(found: ErasureRequest) -> list[StepRow]:
    steps = sorted(found.steps.all(), key=lambda step: step.position)
    return [
        StepRow(
            title=STEP_TITLES[step.name],
            status=_step_status(step),
            done=step.done,
            expected=max(step.expected, step.done),
            ended_at=step.ended_at,
        )
        for step in steps
    ]


def _step_status(step: ErasureStep) -> str:
    if step.ended_at is not None:
        return "success"
    return "running" if step.began_at is not None else "pending"


def _removed(found: ErasureRequest) -> list[Fact]:
    return [Fact(label=KIND_TITLES.get(kind, kind), value=str(count)) for kind, count in found.erased.items()]


def hold_lines(request: Any, dry_run: DryRun | None, now: datetime) -> list[HoldLine]:
    if dry_run is None or not dry_run.held_by:
        return []
    found = Hold.objects.filter(id__in=dry_run.held_by).select_related("placed_by").order_by("-ends_at")
    may_lift = "lift_hold" in request.may
    return [
        HoldLine(
            reason=hold.reason,
            until=hold.ends_at,
            by=hold.placed_by.name if hold.placed_by else _("the server"),
            has_ended=hold.lifted_at is not None or hold.ends_at <= now,
            url=here(request, "hold_lift", hold.id) if may_lift and hold.lifted_at is None else "",
        )
        for hold in found
    ]


def why_not(request: Any, found: ErasureRequest) -> str:
    """Say why this person may not approve a request, though their role could."""
    if needs_approval("erasure") and selectors.is_author(found, actor(request)):
        return _("Erasures need the approval of a second person here, and you asked for this one yourself.")
    return ""


def longer_due(found: ErasureRequest) -> date | None:
    """Give the day to which the deadline can be extended, where it can."""
    if found.extended_on is not None or not found.is_open:
        return None
    return deadlines.extended_due_on(found.regime, found.requested_at.date())


def _actions(request: Any, found: ErasureRequest) -> dict[str, str]:
    is_waiting = found.status in {"received", "verified"}
    may_decide = "approve_erasure" in request.may
    may_refuse = may_decide and found.erasure_id is None and (is_waiting or found.status == "approved")
    offered = {
        "verify": found.status == "received",
        "approve": found.status == "verified" and may_decide,
        "refuse": may_refuse,
        "extend": longer_due(found) is not None,
    }
    urls = {
        f"{name}_url": here(request, f"erasure_{name}", found.id) if is_offered else ""
        for name, is_offered in offered.items()
    }
    return urls | {"receipt_url": here(request, "erasure_receipt", found.id) if found.receipt else ""}
