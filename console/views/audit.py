"""The audit log and its entries (PR-23)."""

from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from console.kinds import kind_title
from console.pages import actor, asked, here, workspace_page
from console.presenters.exports import TYPES, attachment, csv_lines, json_lines
from console.presenters.lists import Table, show_list
from console.presenters.rows import AuditRow, Fact, Filter, named, object_words, result_status
from console.rights import role_titles
from workspaces import access
from workspaces.audit import hashed_members, is_in_place
from workspaces.models import AuditEntry
from workspaces.paging import page
from workspaces.selectors.audit import (
    AuditFilter,
    chain_head,
    entries,
    known_acts,
    known_object_kinds,
    neighbours,
)
from workspaces.selectors.people import members
from workspaces.services.audit import export_entries

COUNTED_UP_TO = 1000
YEARS = range(1970, 2200)
COLUMNS = ("at", "actor", "role", "action", "object", "reason", "result")
_COLUMNS = ("number", "time", "actor", "as", "action", "object", "reason", "result")


@require_safe
@workspace_page("view_audit")
def audit(request: Any) -> HttpResponseBase:
    """List the entries that pass the filters, newest first."""
    rows = entries(_filter(request))
    listed = page(rows, by="seq", older=request.GET.get("older"), newer=request.GET.get("newer"))
    counted = rows[: COUNTED_UP_TO + 1].count()
    count = f"{COUNTED_UP_TO:,}+" if counted > COUNTED_UP_TO else counted
    shown = [_row(request, entry) for entry in listed.rows]
    context = {
        "filters": _filters(request),
        "entries": shown,
        "page": {"newer": listed.newer, "older": listed.older, "count": count},
        "whole": [
            {"label": _("All as CSV"), "url": here(request, "audit_export", "csv")},
            {"label": _("All as JSON Lines"), "url": here(request, "audit_export", "jsonl")},
        ],
        "head": chain_head(),
    }
    return show_list(request, "console/audit.html", context, table=Table("audit", COLUMNS, shown))


@require_safe
@workspace_page("view_audit")
def audit_entry(request: Any, entry_id: UUID) -> HttpResponse:
    """Show one entry: who, what, why, and its place in the chain."""
    entry = access.one(AuditEntry, id=entry_id)
    newer, older = neighbours(entry, _filter(request))
    query = request.GET.dict()
    context = {
        "entry": {
            "number": entry.seq,
            "at": entry.at,
            "action": entry.act,
            "result": result_status(entry.result),
            "reason": entry.reason,
        },
        "facts": _facts(entry),
        "details": [Fact(label=name, value=_words(value)) for name, value in entry.facts.items()],
        "newer_url": here(request, "audit_entry", newer.id, **query) if newer else "",
        "older_url": here(request, "audit_entry", older.id, **query) if older else "",
        "list_url": here(request, "audit", **query),
    }
    return render(request, "console/audit_entry.html", context)


@require_safe
@workspace_page("view_audit")
def audit_export(request: Any, form: str) -> StreamingHttpResponse:
    """Download what passes the filters: the columns of the list as CSV, whole entries as JSON Lines (PR-23)."""
    if form not in TYPES:
        raise Http404
    now = timezone.now()
    rows = export_entries(
        workspace=request.workspace, filters=_filter(request), form=form, actor=actor(request), now=now
    )
    chain = str(request.workspace.id)
    lines = (
        csv_lines(_COLUMNS, map(_cells, rows))
        if form == "csv"
        else json_lines(hashed_members(row, chain=chain) | {"hash": bytes(row.hash).hex()} for row in rows)
    )
    return attachment(lines, name=f"audit-{request.workspace.slug}-{now:%Y%m%dT%H%M%SZ}", form=form)


def _cells(entry: AuditEntry) -> tuple[Any, ...]:
    at = entry.at.astimezone(UTC).isoformat()
    on = f"{entry.object_kind}:{entry.object_id}" if entry.object_id else entry.object_kind
    return entry.seq, at, entry.actor_name, _as(entry), entry.act, on, entry.reason, entry.result


def _filter(request: Any) -> AuditFilter:
    """Read the filters of the address; one that cannot be read does not filter."""
    kind, _separator, object_id = asked(request, "object").partition(":")
    until = _day(asked(request, "to"))
    return AuditFilter(
        act=asked(request, "action"),
        actor=asked(request, "actor"),
        object_kind=kind,
        object_id=object_id,
        since=_day(asked(request, "from")),
        until=until + timedelta(days=1) if until else None,
    )


def _filters(request: Any) -> list[Filter]:
    """Offer choices alone: whatever a person typed here would stand in the address (CO-3)."""
    acts = known_acts()
    groups = sorted({act.split(".")[0] + ".*" for act in acts})
    choices = {
        "actor": [(str(member.id), member.name) for member in members()],
        "action": [(act, act) for act in (*groups, *acts)],
        "object": _objects(asked(request, "object")),
    }
    labels = {"actor": _("Actor"), "action": _("Action"), "object": _("Object")}
    return [
        *(
            Filter(name=name, label=labels[name], kind="select", value=asked(request, name), choices=offered)
            for name, offered in choices.items()
        ),
        Filter(name="from", label=_("From"), kind="date", value=asked(request, "from")),
        Filter(name="to", label=_("To"), kind="date", value=asked(request, "to")),
    ]


def _objects(chosen: str) -> list[tuple[str, str]]:
    """Offer the kinds of objects, and the one object that a link led to."""
    kind, _separator, object_id = chosen.partition(":")
    one = [(chosen, named(kind, object_id))] if object_id else []
    return [*one, *((known, kind_title(known)) for known in known_object_kinds())]


def _day(text: str) -> datetime | None:
    """Read the beginning of a day in the person's zone."""
    try:
        day = parse_date(text)
    except ValueError:
        return None
    if day is None or day.year not in YEARS:
        return None
    return datetime.combine(day, time(), timezone.get_current_timezone())


def _row(request: Any, entry: AuditEntry) -> AuditRow:
    return AuditRow(
        at=entry.at,
        actor=entry.actor_name,
        role=_as(entry),
        action=entry.act,
        object=object_words(entry),
        reason=entry.reason,
        result=result_status(entry.result),
        url=here(request, "audit_entry", entry.id),
    )


def _facts(entry: AuditEntry) -> list[Fact]:
    return [
        Fact(label=_("Who"), value=entry.actor_name),
        Fact(label=_("As"), value=_as(entry)),
        Fact(label=_("From"), value=entry.address, mono=True),
        Fact(label=_("Object"), value=f"{entry.object_kind} {entry.object_id}".strip(), mono=True),
        Fact(label=_("Reason"), value=entry.reason),
        Fact(label=_("Request"), value=entry.request_id, mono=True, copy=_("Copy the request id")),
        Fact(label=_("Place in the chain"), status="verified" if is_in_place(entry) else "broken"),
        Fact(label=_("Hash"), value=bytes(entry.hash).hex(), mono=True, copy=_("Copy the hash")),
        Fact(label=_("Hash before"), value=bytes(entry.previous_hash).hex(), mono=True),
    ]


def _as(entry: AuditEntry) -> str:
    """Say as what somebody acted: the roles held then, or the kind of actor."""
    roles = ", ".join(role_titles(entry.actor_roles))
    return roles or kind_title(entry.actor_kind)


def _words(value: Any) -> str:
    return ", ".join(str(item) for item in value) if isinstance(value, list) else str(value)
