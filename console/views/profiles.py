"""Finding a customer and seeing that an agent holds state about them, never what it says (CO-3, WM-23)."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from agentstate.selectors.states import memory_of, state_filters, states_by_profile
from agentstate.services.profiles import show_states
from assembly.selectors.metadata import graphs_of
from assembly.services.metadata import show_assemblies
from console.forms.profiles import FindForm
from console.kinds import kind_title
from console.pages import actor, asked, forbidden, here, see_other, workspace_page
from console.presenters.assemblies import asked_filters, row_of, table_of
from console.presenters.assemblies import filters_of as assembly_filters
from console.presenters.changes import changes_of
from console.presenters.features import title_of
from console.presenters.lists import Table, show_list
from console.presenters.rows import Fact, Filter, Tab
from console.views.features import described
from console.views.reservations import filters_of
from history.selectors.metadata import SESSION_FILTERS, history_of, sessions_of_profile
from history.services.profiles import show_sessions
from privacy.selectors.holds import held_profiles, hold_on_profile
from workspaces import access
from workspaces.models import Profile
from workspaces.paging import page
from workspaces.selectors import profiles as selectors
from workspaces.selectors.audit import AuditFilter
from workspaces.services import profiles as services
from workspaces.services.profiles import note_view

METADATA = frozenset({"view_state_metadata"})
COLUMNS = ("pseudonym", "hints", "states", "first_seen", "last_seen", "status")
STATE_COLUMNS = (
    "agent",
    "source",
    "scope_kind",
    "type",
    "schema_version",
    "fields",
    "bytes",
    "version",
    "created_at",
    "updated_at",
    "valid_until",
)
SESSION_COLUMNS = (
    "source",
    "provider",
    "model",
    "status",
    "items",
    "bytes",
    "created_at",
    "touched_at",
    "valid_until",
)
TAKES = {"profile": frozenset[str](), "profile_assemblies": METADATA | {"view_assemblies"}}
"""The permissions that the tabs of a profile take, where they are not those of its metadata."""


class ProfileRow(msgspec.Struct, frozen=True):
    """A profile as lists and tabs show it: a pseudonym and hints, never a handle."""

    pseudonym: str
    hints: list[str]
    first_seen: datetime
    last_seen: datetime
    url: str
    states: int = 0
    held: "Held | bool | None" = None

    @property
    def status(self) -> str:
        """Give the status word."""
        return "held" if self.held else "active"


class Held(msgspec.Struct, frozen=True):
    """A legal hold that stands on a profile, as its banner says it (PR-16)."""

    since: datetime
    until: datetime
    reason: str
    by: str
    url: str


class History(msgspec.Struct, frozen=True):
    """How much conversation history names a profile."""

    sessions: int
    messages: int
    bytes: int
    last_change: datetime | None
    url: str


class Memory(msgspec.Struct, frozen=True):
    """How much working memory names a profile."""

    states: int
    bytes: int
    agents: int
    last_write: datetime | None
    url: str


@require_safe
@workspace_page("find_profiles")
def profiles(request: Any) -> HttpResponseBase:
    """List the profiles seen last, and say what became of a search that found none."""
    found = request.GET.get("found")
    listed = page(
        selectors.profiles(),
        by="last_seen_at",
        older=request.GET.get("older"),
        newer=request.GET.get("newer"),
    )
    may_see = "view_state_metadata" in request.may
    states = states_by_profile([profile.id for profile in listed.rows]) if may_see else {}
    held = held_profiles([profile.id for profile in listed.rows], now=timezone.now())
    rows = [
        _row(request, profile, states.get(profile.id, 0), held=profile.id in held) for profile in listed.rows
    ]
    context = {"found": found if found in {"none", "invalid", "many"} else None, "form": FindForm()}
    return show_list(
        request,
        "console/profiles.html",
        {**context, "profiles": rows, "page": listed},
        table=Table("profiles", COLUMNS, rows),
    )


@require_POST
@workspace_page("find_profiles")
def find(request: Any) -> HttpResponse:
    """Look a handle or pseudonym up and lead to the opaque address; the search is audited without it (CO-3)."""
    form = FindForm(request.POST)
    if not form.is_valid():
        return see_other(here(request, "profiles", found="invalid"))
    found = services.find(
        workspace=request.workspace,
        query=form.cleaned_data["handle"],
        type=form.cleaned_data["kind"] or None,
        namespace=form.cleaned_data["namespace"] or None,
        actor=actor(request),
        now=timezone.now(),
    )
    if len(found) == 1:
        return see_other(here(request, "profile", found[0].id))
    return see_other(here(request, "profiles", found="many" if found else "none"))


@require_safe
@workspace_page("find_profiles")
def profile(request: Any, profile_id: UUID) -> HttpResponse:
    """Show what is known of a profile: hints, dates and how much is held; the view is audited."""
    found = access.one(selectors.profiles(), id=profile_id)
    note_view(profile=found, what="overview", actor=actor(request), now=timezone.now())
    may_see = "view_state_metadata" in request.may
    facts = [
        Fact(label=_("Profile id"), value=str(found.id), mono=True, copy=_("Copy the profile id")),
        Fact(label=_("First seen"), at=found.created_at),
        Fact(label=_("Last seen"), at=found.last_seen_at),
    ]
    beside = changes_of(
        request, AuditFilter(object_kind="profile", object_id=str(found.id)), object=f"profile:{found.id}"
    )
    context = {
        "memory": _memory(request, found) if may_see else None,
        "history": _history(request, found) if may_see else None,
        "graph": graphs_of(found.id) if may_see else None,
        "facts": facts,
        **beside,
    }
    return render(request, "console/profile.html", {**_head(request, found, "profile"), **context})


@require_safe
@workspace_page("view_state_metadata")
def working_memory(request: Any, profile_id: UUID) -> HttpResponseBase:
    """List size, version and dates of the states that name a profile; the view is audited (WM-23)."""
    found = access.one(selectors.profiles(), id=profile_id)
    feature = described(request, title_of("agent_state"))
    head = _head(request, found, "profile_working_memory")
    change_url = here(request, "features") if feature.change_url else ""
    context: dict[str, Any] = {"feature": feature, "change_url": change_url}
    if not feature.enabled:
        note_view(profile=found, what="agent_state", actor=actor(request), now=timezone.now())
        return render(request, "console/profile_working_memory.html", {**head, **context})
    chosen = {name: asked(request, name) for name in ("agent", "scope", "type")}
    listed = show_states(
        profile_id=found.id,
        chosen=chosen,
        older=request.GET.get("older"),
        newer=request.GET.get("newer"),
        actor=actor(request),
        now=timezone.now(),
    )
    context |= {"states": listed.rows, "page": listed, "filters": _filters(found, chosen)}
    return show_list(
        request,
        "console/profile_working_memory.html",
        {**head, **context},
        table=Table("working-memory", STATE_COLUMNS, listed.rows),
    )


@require_safe
@workspace_page("view_state_metadata")
def profile_history(request: Any, profile_id: UUID) -> HttpResponseBase:
    """List counts, bytes, dates and status of the sessions that name a profile; the view is audited (HI-23)."""
    found = access.one(selectors.profiles(), id=profile_id)
    feature = described(request, title_of("history"))
    change_url = here(request, "features") if feature.change_url else ""
    context: dict[str, Any] = {"feature": feature, "change_url": change_url, "sessions": []}
    if not feature.enabled:
        note_view(profile=found, what="history", actor=actor(request), now=timezone.now())
    else:
        chosen = {name: asked(request, name) for name in SESSION_FILTERS}
        listed = show_sessions(
            profile_id=found.id,
            chosen=chosen,
            older=request.GET.get("older"),
            newer=request.GET.get("newer"),
            actor=actor(request),
            now=timezone.now(),
        )
        filters = filters_of(sessions_of_profile(found.id), chosen)
        context |= {"sessions": listed.rows, "page": listed, "filters": filters}
    return show_list(
        request,
        "console/profile_history.html",
        {**_head(request, found, "profile_history"), **context},
        table=Table("history", SESSION_COLUMNS, context["sessions"]),
    )


@require_safe
@workspace_page("view_assemblies")
def profile_assemblies(request: Any, profile_id: UUID) -> HttpResponseBase:
    """List the assemblies of the conversations that name a profile; the view is audited (CA-17).

    It says whom a conversation is with, so that it takes the metadata of profiles too.
    """
    if "view_state_metadata" not in request.may:
        return forbidden(request, "view_state_metadata")
    found, now = access.one(selectors.profiles(), id=profile_id), timezone.now()
    feature = described(request, title_of("context"))
    change_url = here(request, "features") if feature.change_url else ""
    context: dict[str, Any] = {"feature": feature, "change_url": change_url, "assemblies": []}
    if not feature.enabled:
        note_view(profile=found, what="context", actor=actor(request), now=now)
    else:
        chosen = asked_filters(request)
        listed = show_assemblies(
            profile_id=found.id,
            chosen=chosen,
            older=request.GET.get("older"),
            newer=request.GET.get("newer"),
            actor=actor(request),
            now=now,
        )
        rows = [row_of(request, each, now=now) for each in listed.rows]
        context |= {"assemblies": rows, "page": listed, "filters": assembly_filters(chosen)}
    return show_list(
        request,
        "console/profile_assemblies.html",
        {**_head(request, found, "profile_assemblies"), **context},
        table=table_of(context["assemblies"]),
    )


def _filters(profile: Profile, chosen: dict[str, str]) -> list[Filter]:
    labels = {"agent": _("Agent"), "scope": _("Scope"), "type": _("Type")}
    values = state_filters(profile.id)
    return [
        Filter(
            name=name,
            label=label,
            kind="select",
            value=chosen[name],
            choices=[(value, kind_title(value) if name == "scope" else value) for value in values[name]],
        )
        for name, label in labels.items()
    ]


def _head(request: Any, profile: Profile, current: str) -> dict[str, Any]:
    pages = [
        ("profile", _("Overview")),
        ("profile_working_memory", _("Working memory")),
        ("profile_history", _("History")),
        ("profile_assemblies", _("Assemblies")),
    ]
    tabs = [
        Tab(title=title, url=here(request, name, profile.id), current=name == current)
        for name, title in pages
        if TAKES.get(name, METADATA) <= request.may
    ]
    may = request.may
    return {
        "profile": _row(request, profile, held=_held(request, profile)),
        "tabs": tabs,
        "package_url": here(request, "package_new", profile.id) if "build_package" in may else "",
        "erase_url": here(request, "profile_erase", profile.id) if "request_erasure" in may else "",
        "hold_url": here(request, "profile_hold", profile.id) if "place_hold" in may else "",
    }


def _held(request: Any, profile: Profile) -> Held | None:
    hold = hold_on_profile(profile.id, now=timezone.now())
    if hold is None:
        return None
    return Held(
        since=hold.placed_at,
        until=hold.ends_at,
        reason=hold.reason,
        by=hold.placed_by.name if hold.placed_by else _("the server"),
        url=here(request, "hold_lift", hold.id) if "lift_hold" in request.may else "",
    )


def _row(request: Any, profile: Profile, states: int = 0, *, held: Held | bool | None = None) -> ProfileRow:
    return ProfileRow(
        pseudonym=profile.pseudonym,
        hints=[handle.hint for handle in profile.handles.all() if handle.hint],
        first_seen=profile.created_at,
        last_seen=profile.last_seen_at,
        url=here(request, "profile", profile.id),
        states=states,
        held=held,
    )


def _memory(request: Any, profile: Profile) -> Memory:
    held = memory_of(profile.id)
    return Memory(
        states=held.states,
        bytes=held.bytes,
        agents=held.agents,
        last_write=held.last_write,
        url=here(request, "profile_working_memory", profile.id),
    )


def _history(request: Any, profile: Profile) -> History:
    kept = history_of(profile.id)
    return History(
        sessions=kept.sessions,
        messages=kept.messages,
        bytes=kept.bytes,
        last_change=kept.last_change,
        url=here(request, "profile_history", profile.id),
    )
