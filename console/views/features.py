"""Switching features, by security alone (PR-1, CO-5)."""

from datetime import datetime
from typing import Any

import msgspec
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from console.forms.features import FeatureForm
from console.pages import actor, dialog, here, workspace_page
from console.presenters.approvals import carried_out, waiting_for
from console.presenters.changes import changes_of
from console.presenters.features import TITLES, FeatureTitle, title_of
from console.presenters.lists import Table, show_list
from privacy.selectors.approvals import needs_approval
from privacy.selectors.documents import feature_effects
from privacy.services.approvals import change_document
from privacy.services.documents import feature_wish
from workspaces import documents
from workspaces.errors import WrongVersion
from workspaces.selectors.audit import AuditFilter, last_change

COUNTED_UP_TO = 10_000
COLUMNS = ("name", "key", "description", "state", "changed_at", "changed_by")


class Feature(msgspec.Struct, frozen=True):
    """A feature as its page shows it."""

    key: str
    name: Any
    description: Any
    enabled: bool
    changed_at: datetime | None
    changed_by: str
    change_url: str = ""

    @property
    def state(self) -> str:
        """Give the status word."""
        return "on" if self.enabled else "off"


@require_safe
@workspace_page()
def features(request: Any) -> HttpResponseBase:
    """List the features, with their last changes beside them."""
    rows = [described(request, title) for title in TITLES]
    beside = changes_of(request, AuditFilter(act="feature.*"), action="feature.*")
    return show_list(
        request,
        "console/features.html",
        {"features": rows, "waiting": waiting_for(request, "features"), **beside},
        table=Table("features", COLUMNS, rows),
    )


@require_http_methods(["GET", "POST"])
@workspace_page("change_features")
def feature_change(request: Any, key: str) -> HttpResponse:
    """Confirm and make a change: now and after, what it touches, a reason; refused when somebody was faster."""
    title, live = title_of(key), documents.live("features")["features"]
    turn_on, back = not documents.is_on(live, key), here(request, "features")
    form = FeatureForm(request.POST or None, initial={"version": live.version})
    moved = False
    if request.method == "POST" and form.is_valid():
        try:
            asked_for = change_document(
                wish=feature_wish(
                    feature=key,
                    on=turn_on,
                    reason=form.cleaned_data["reason"],
                    replaces=form.cleaned_data["version"],
                ),
                person_id=request.user.id,
                actor=actor(request),
                now=timezone.now(),
            )
            said = _("%(name)s is on.") if turn_on else _("%(name)s is off.")
            return carried_out(request, asked_for, back, said=said % {"name": title.name})
        except WrongVersion:
            moved, form = True, _again(form, live.version)
    effects = feature_effects(up_to=COUNTED_UP_TO)
    context = {
        "feature": title,
        "turn_on": turn_on,
        "counted_up_to": COUNTED_UP_TO,
        "effect": effects[key] if key == "agent_state" else None,
        "history": effects[key] if key == "history" else None,
        "graph": effects[key] if key == "context" else None,
        "moved": moved,
        "needs_approval": needs_approval("features"),
        "form": form,
    }
    status = 409 if moved else 422 if request.method == "POST" else 200
    return dialog(request, "console/feature_change.html", context, back=back, status=status)


def described(request: Any, title: FeatureTitle) -> Feature:
    """Say whether a feature is on, and since when by whom."""
    change = last_change("feature", title.key)
    may_change = "change_features" in request.may
    return Feature(
        key=title.key,
        name=title.name,
        description=title.description,
        enabled=documents.is_on(documents.live("features")["features"], title.key),
        changed_at=change.at if change else None,
        changed_by=change.actor_name if change else "",
        change_url=here(request, "feature_change", title.key) if may_change else "",
    )


def _again(form: FeatureForm, version: int) -> FeatureForm:
    """Show the reason again over the newest version."""
    return FeatureForm(initial={"version": version, "reason": form.cleaned_data["reason"]})
