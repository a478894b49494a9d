"""Why a model saw what it saw: the list of assemblies, each one with its decisions, and two side by side (CA-17)."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from assembly.models import ContextAssembly
from assembly.selectors.answers import record_of
from assembly.selectors.assemblies import assembly_row, compared
from assembly.selectors.explanations import explain
from assembly.selectors.listed import (
    is_recorded,
    listed_assemblies,
    neighbours_in,
    others_of_the_conversation,
)
from assembly.types import AssemblyRecord, NamedRecord
from console.forms.assemblies import WhyForm
from console.pages import asked, here, see_other, workspace_page
from console.presenters.assemblies import (
    asked_filters,
    facts_of,
    filters_of,
    row_of,
    set_filters,
    table_of,
    took_of,
)
from console.presenters.budgets import budget_of
from console.presenters.comparisons import comparison_of, sides_of
from console.presenters.explanations import Answer, answer_of, decision_rows
from console.presenters.exports import attachment
from console.presenters.features import title_of
from console.presenters.lists import PARAMETER, show_list
from console.presenters.outcomes import candidates_of, reason_row, reason_rows, why_url
from console.presenters.rows import Tab
from console.views.documents import changes_of_document
from console.views.features import described
from lastro.assembly.records import Reference
from workspaces import documents
from workspaces.paging import Page, page

RIGHT = "view_assemblies"


@require_safe
@workspace_page(RIGHT)
def assemblies(request: Any) -> HttpResponseBase:
    """List the assemblies that pass the filters, newest first (CO-4)."""
    feature = described(request, title_of("context"))
    change_url = here(request, "features") if feature.change_url else ""
    context: dict[str, Any] = {"feature": feature, "change_url": change_url, "assemblies": []}
    if feature.enabled:
        context |= _listed(request)
    return show_list(
        request,
        "console/assemblies.html",
        context | changes_of_document(request, "assembly-policy"),
        table=table_of(context["assemblies"]),
    )


@require_safe
@workspace_page(RIGHT)
def assembly(request: Any, assembly_id: UUID) -> HttpResponseBase:
    """Show one assembly: who asked, what was shown in which form, what was left out and why (CA-15, CA-16).

    As a file it is the record that the API gives.
    """
    now = timezone.now()
    found = assembly_row(assembly_id, now=now)
    told = record_of(found, found.policy_decisions.order_by("rule", "outcome"), now=now)
    if asked(request, PARAMETER) == "json":
        return attachment(iter([msgspec.json.encode(told)]), name=f"assembly-{found.id}", form="json")
    context = {
        **_head(request, found, now),
        "facts": facts_of(request, found),
        "took": took_of(found),
        "budget": budget_of(found, told.selected),
        "left_out": reason_rows(found),
        "branches": reason_row("other_branch", found.branch_exclusions) if found.branch_exclusions else None,
        "decisions": decision_rows(request, found, told.decisions),
        "others": _others(request, found, now),
        "form": WhyForm(),
        "json_url": here(request, "assembly", found.id, **{PARAMETER: "json"}),
        **_candidates(request, found, told),
    }
    return render(request, "console/assembly.html", context)


@require_http_methods(["GET", "POST"])
@workspace_page(RIGHT)
def assembly_why(request: Any, assembly_id: UUID) -> HttpResponse:
    """Say of any record why the model saw it, or did not: each rule in its order, evaluated again (CA-17)."""
    now = timezone.now()
    found = assembly_row(assembly_id, now=now)
    form = WhyForm(request.POST if request.method == "POST" else _asked_record(request))
    context = {**_head(request, found, now), "form": form, "answer": None}
    if form.is_valid():
        record = NamedRecord(form.cleaned_data["type"], form.cleaned_data["id"])
        # What was typed gets into the address only where it names a record (CO-3).
        if request.method == "POST" and is_recorded(found, type=record.type, id=record.id):
            return see_other(why_url(request, found, record.type, record.id))
        context |= {"record": record, "answer": _answer(request, found, record, now)}
    is_refused = form.is_bound and not form.is_valid()
    return render(request, "console/assembly_why.html", context, status=422 if is_refused else 200)


@require_safe
@workspace_page(RIGHT)
def assembly_compare(request: Any, assembly_id: UUID, other_id: UUID) -> HttpResponse:
    """Put two assemblies side by side: what both showed, what one alone did, what changed its form."""
    now = timezone.now()
    one, other = assembly_row(assembly_id, now=now), assembly_row(other_id, now=now)
    context = {
        "one": row_of(request, one, now=now),
        "other": row_of(request, other, now=now),
        "sides": sides_of(one, other),
        "is_same": one.digest == other.digest,
        "turned_url": here(request, "assembly_compare", other.id, one.id),
        "list_url": here(request, "assemblies"),
        "compared": comparison_of(request, one, other, compared(one, other)),
    }
    return render(request, "console/assembly_compare.html", context)


def _answer(request: Any, found: ContextAssembly, record: NamedRecord, now: datetime) -> Answer:
    told = explain(
        workspace=request.workspace,
        assembly_id=found.id,
        reference=Reference(record.type, record.id),
        live=documents.live("assembly-policy", "retention"),
        now=now,
    )
    return answer_of(request, found, record, told)


def _listed(request: Any) -> dict[str, Any]:
    now, chosen = timezone.now(), asked_filters(request)
    listed, kept = _page(request, now), set_filters(chosen)
    return {
        "filters": filters_of(chosen),
        "assemblies": [row_of(request, found, now=now, **kept) for found in listed.rows],
        "page": listed,
    }


def _page(request: Any, now: datetime) -> Page:
    return page(
        listed_assemblies(asked_filters(request), now=now),
        by="created_at",
        older=request.GET.get("older"),
        newer=request.GET.get("newer"),
    )


def _head(request: Any, found: ContextAssembly, now: datetime) -> dict[str, Any]:
    """Give what every page of one assembly shows, with its neighbours in the filtered list (CO-4)."""
    kept = set_filters(asked_filters(request))
    newer, older = neighbours_in(listed_assemblies(kept, now=now), found)
    return {
        "assembly": row_of(request, found, now=now, **kept),
        "newer_url": here(request, "assembly", newer.id, **kept) if newer else "",
        "older_url": here(request, "assembly", older.id, **kept) if older else "",
        "list_url": here(request, "assemblies", **kept),
        "why_url": here(request, "assembly_why", found.id),
    }


def _candidates(request: Any, found: ContextAssembly, told: AssemblyRecord) -> dict[str, Any]:
    """List what was shown, and of a full trace what was left out too."""
    shown, left = candidates_of(request, found, told)
    views = {"": [*shown, *left], "shown": shown, "left_out": left}
    wanted = asked(request, "show")
    kept = set_filters(asked_filters(request))
    titles = {"": _("All"), "shown": _("Shown"), "left_out": _("Left out")}
    tabs = [
        Tab(
            title=title,
            url=here(request, "assembly", found.id, **kept, **({"show": name} if name else {}))
            + "#candidates",
            current=name == (wanted if wanted in views else ""),
            count=len(views[name]),
        )
        for name, title in titles.items()
    ]
    is_traced = told.trace is not None
    return {
        "candidates": views.get(wanted, views[""]) if is_traced else shown,
        "candidate_tabs": tabs if is_traced else [],
        "is_traced": is_traced,
    }


def _others(request: Any, found: ContextAssembly, now: datetime) -> list[dict[str, Any]]:
    return [
        {
            "row": row_of(request, other, now=now),
            "compare_url": here(request, "assembly_compare", found.id, other.id),
        }
        for other in others_of_the_conversation(found, now=now)
    ]


def _asked_record(request: Any) -> dict[str, str] | None:
    """Read the record that a link asks about; none: the page shows the form alone."""
    named = {name: asked(request, name) for name in ("type", "id")}
    return named if any(named.values()) else None
