"""Legal holds: placed on a person, a conversation or a task, and lifted (PR-16)."""

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

from console.forms.base import ProblemForm, ReasonForm
from console.forms.holds import HoldForm, ProfileHoldForm
from console.pages import actor, asked, dialog, done, here, see_other, workspace_page
from console.presenters.changes import changes_of
from console.presenters.lists import Table, show_list
from console.presenters.rows import Filter
from console.refusals import in_words
from privacy.selectors import holds as selectors
from privacy.services import holds as services
from privacy.services.holds import HoldWish
from privacy.types import Target
from workspaces import access
from workspaces.errors import InvalidInput
from workspaces.models import Hold
from workspaces.paging import page
from workspaces.selectors.audit import AuditFilter
from workspaces.selectors.profiles import profiles
from workspaces.services import profiles as finding

COUNTED_UP_TO = 9_999
COLUMNS = (
    "on",
    "on_id",
    "reason",
    "lift_reason",
    "placed_at",
    "placed_by",
    "ends_at",
    "status",
    "lifted_at",
    "lifted_by",
    "id",
)


class HoldRow(msgspec.Struct, frozen=True):
    """A hold as its list shows it: on whom by a pseudonym, on what by the beginning of a keyed hash."""

    id: str
    on: str
    on_id: str
    on_url: str
    reason: str
    placed_by: str
    placed_at: datetime
    ends_at: datetime
    status: str
    lifted_by: str
    lifted_at: datetime | None
    lift_reason: str
    lift_url: str


@require_safe
@workspace_page("place_hold", "lift_hold")
def holds(request: Any) -> HttpResponseBase:
    """List the holds, newest first."""
    now, state = timezone.now(), asked(request, "state")
    rows = selectors.in_state(selectors.holds(), state, now=now)
    listed = page(rows, by="placed_at", older=request.GET.get("older"), newer=request.GET.get("newer"))
    choices = [("standing", _("standing")), ("ended", _("lifted or ended"))]
    value = state if state in dict(choices) else ""
    shown = _rows(request, listed.rows, now)
    context = {
        "filters": [Filter(name="state", label=_("State"), kind="select", value=value, choices=choices)],
        "holds": shown,
        "page": listed,
        "new_url": here(request, "hold_new") if "place_hold" in request.may else "",
        **changes_of(request, AuditFilter(act="hold.*"), action="hold.*"),
    }
    return show_list(request, "console/holds.html", context, table=Table("holds", COLUMNS, shown))


@require_http_methods(["GET", "POST"])
@workspace_page("place_hold")
def hold_new(request: Any) -> HttpResponse:
    """Place a hold on what is named in the form; the name is sent by POST and kept only as a keyed hash."""
    form = HoldForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        target = _target(request, form)
        if target is not None and _place(request, form, target):
            return see_other(here(request, "holds"))
    status = 422 if request.method == "POST" else 200
    return render(request, "console/hold_new.html", {"form": form}, status=status)


@require_http_methods(["GET", "POST"])
@workspace_page("place_hold")
def profile_hold(request: Any, profile_id: UUID) -> HttpResponse:
    """Place a hold on a person whose page is open."""
    profile = access.one(profiles(), id=profile_id)
    form, back = ProfileHoldForm(request.POST or None), here(request, "profile", profile.id)
    if request.method == "POST" and form.is_valid():
        target = Target(kind="profile", profile_id=profile.id)
        if _place(request, form, target):
            return done(request, back, said=_("A legal hold is on %s.") % profile.pseudonym)
    context = {"form": form, "pseudonym": profile.pseudonym}
    status = 422 if request.method == "POST" else 200
    return dialog(request, "console/profile_hold.html", context, back=back, status=status)


@require_http_methods(["GET", "POST"])
@workspace_page("lift_hold")
def hold_lift(request: Any, hold_id: UUID) -> HttpResponse:
    """Lift a hold before its end: what it kept is deleted then (PR-16)."""
    hold, back = access.one(selectors.holds(), id=hold_id), here(request, "holds")
    form = ReasonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        services.lift_hold(
            hold_id=hold.id,
            reason=form.cleaned_data["reason"],
            person_id=request.user.id,
            actor=actor(request),
            now=timezone.now(),
        )
        return done(request, back, said=_("The hold is lifted."))
    (row,) = _rows(request, [hold], timezone.now())
    kept = selectors.kept_count(hold, up_to=COUNTED_UP_TO + 1)
    context = {
        "form": form,
        "hold": row,
        "kept": f"{COUNTED_UP_TO:,}+" if kept > COUNTED_UP_TO else kept,
        "waiting": selectors.waiting_for(hold),
    }
    status = 422 if request.method == "POST" else 200
    return dialog(request, "console/hold_lift.html", context, back=back, status=status)


def _place(request: Any, form: ProblemForm, target: Target) -> bool:
    values = form.cleaned_data
    wish = HoldWish(target=target, reason=values["reason"], ends_at=values["ends_at"])
    try:
        services.place_hold(
            workspace=request.workspace,
            wish=wish,
            person_id=request.user.id,
            actor=actor(request),
            now=timezone.now(),
        )
    except InvalidInput as error:
        form.add_problems(error.errors, otherwise=in_words(error))
        return False
    return True


def _target(request: Any, form: HoldForm) -> Target | None:
    """Read on what a hold is to be; note in the form why nobody was found."""
    kind, named = form.cleaned_data["target"], form.cleaned_data["named"]
    if kind != "profile":
        return Target(kind=kind, scope_id=named)
    found = finding.find(workspace=request.workspace, query=named, actor=actor(request), now=timezone.now())
    if len(found) == 1:
        return Target(kind="profile", profile_id=found[0].id)
    several = _("More than one kind of handle fits: use the pseudonym.")
    form.add_error("named", several if found else _("No profile has this handle or pseudonym."))
    return None


def _rows(request: Any, found: list[Hold], now: datetime) -> list[HoldRow]:
    known = profiles().filter(id__in=[hold.profile_id for hold in found if hold.profile_id])
    pseudonyms = dict(known.values_list("id", "pseudonym"))
    return [
        _row(request, hold, pseudonyms.get(hold.profile_id) if hold.profile_id else None, now)
        for hold in found
    ]


def _row(request: Any, hold: Hold, pseudonym: str | None, now: datetime) -> HoldRow:
    status = selectors.status_of(hold, now=now)
    may_lift = status == "standing" and "lift_hold" in request.may
    scope = bytes(hold.scope_hash).hex() if hold.scope_hash is not None else ""
    return HoldRow(
        id=str(hold.id),
        on=hold.scope_kind or "profile",
        on_id=scope or pseudonym or str(hold.profile_id),
        on_url=here(request, "profile", hold.profile_id)
        if pseudonym and "find_profiles" in request.may
        else "",
        reason=hold.reason,
        placed_by=hold.placed_by.name if hold.placed_by else "",
        placed_at=hold.placed_at,
        ends_at=hold.ends_at,
        status=status,
        lifted_by=hold.lifted_by.name if hold.lifted_by else "",
        lifted_at=hold.lifted_at,
        lift_reason=hold.lift_reason,
        lift_url=here(request, "hold_lift", hold.id) if may_lift else "",
    )
