"""The inbox of changes that wait for a second person, each change, and where four eyes hold (PR-2b, CO-5, CO-6)."""

from typing import Any
from uuid import UUID

import msgspec
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from console.forms.approvals import DecisionForm, FourEyesForm
from console.pages import asked, dialog, done, here, workspace_page
from console.presenters.approvals import (
    ACTS,
    KIND_TITLES,
    READERS,
    author_of,
    carried_out,
    decider,
    row_of,
    shown_effects,
    status_of,
    why_not,
)
from console.presenters.changes import changes_of
from console.presenters.lists import Table, show_list
from console.presenters.rows import Fact, Tab
from privacy.selectors.approvals import four_eyes as setting_of
from privacy.services import approvals as gate
from workspaces import access
from workspaces.errors import WrongVersion
from workspaces.models import ChangeRequest
from workspaces.rules import approvals as rules
from workspaces.rules.documents import KINDS
from workspaces.selectors.approvals import (
    approvals_of,
    closed_requests,
    content_digest,
    counting_approvals,
    open_requests,
)
from workspaces.selectors.audit import AuditFilter
from workspaces.services.approvals import deny_request, withdraw_request

DECIDERS = READERS[:-1]
SETTERS = rules.needed("propose", rules.FOUR_EYES)
SHOWN = 50
COLUMNS = ("title", "about", "author", "asked_at", "reason", "status")


class Setting(msgspec.Struct, frozen=True):
    title: Any
    on: bool


class ApprovalRow(msgspec.Struct, frozen=True):
    person: str
    approved_at: Any
    reason: str
    counts: bool


class Button(msgspec.Struct, frozen=True):
    act: str
    title: Any
    tone: str
    url: str


class Words(msgspec.Struct, frozen=True):
    """What the dialog of an act says."""

    heading: Any
    submit: Any
    said: Any
    effect: Any
    tone: str = "primary"


WORDS = {
    "approve": Words(
        gettext_lazy("Approve this change?"),
        gettext_lazy("Approve"),
        gettext_lazy("The change is approved."),
        gettext_lazy("You approve exactly what is shown here; any edit voids it."),
    ),
    "publish": Words(
        gettext_lazy("Publish this change?"),
        gettext_lazy("Publish"),
        gettext_lazy("The change is published."),
        gettext_lazy("It holds within one second, on every process."),
    ),
    "deny": Words(
        gettext_lazy("Deny this change?"),
        gettext_lazy("Deny"),
        gettext_lazy("The change is denied."),
        gettext_lazy("It is closed and changes nothing; its author can ask again."),
        "danger",
    ),
    "withdraw": Words(
        gettext_lazy("Withdraw this change?"),
        gettext_lazy("Withdraw"),
        gettext_lazy("The change is withdrawn."),
        gettext_lazy("It is closed and changes nothing; you can ask again."),
        "danger",
    ),
    "break-glass": Words(
        gettext_lazy("Publish without approval?"),
        gettext_lazy("Publish without approval"),
        gettext_lazy("The change is published, and every security person is told."),
        gettext_lazy(
            "It holds at once. Every security person gets an e-mail, and the audit log keeps your reason."
        ),
        "danger",
    ),
}


@require_safe
@workspace_page(*READERS)
def approvals(request: Any) -> HttpResponseBase:
    """List what waits, or what is closed, and where four eyes hold."""
    closed = asked(request, "show") == "closed"
    found = (closed_requests() if closed else open_requests())[:SHOWN]
    rows = [row_of(request, change) for change in found]
    url, setting = here(request, "approvals"), setting_of()
    context = {
        "requests": rows,
        "closed": closed,
        "tabs": [
            Tab(title=_("Waiting"), url=url, current=not closed),
            Tab(title=_("Closed"), url=here(request, "approvals", show="closed"), current=closed),
        ],
        "settings": [Setting(KIND_TITLES[kind], kind in setting.kinds) for kind in rules.GUARDED],
        "settings_url": here(request, "four_eyes") if request.may & set(SETTERS) else "",
        **changes_of(request, AuditFilter(act="four_eyes.*"), action="four_eyes.*"),
    }
    return show_list(request, "console/approvals.html", context, table=Table("approvals", COLUMNS, rows))


@require_safe
@workspace_page(*READERS)
def approval(request: Any, request_id: UUID) -> HttpResponse:
    """Show a change with all that an approval approves, who approved it, and what the person may do with it."""
    change = _found(request_id)
    refusals = {act: why_not(request, change, act) for act in ACTS}
    counting = {row.pk for row in counting_approvals(change)}
    kind, name = ("document", change.kind) if change.kind in KINDS else ("change", str(change.id))
    context = {
        "change": row_of(request, change),
        "check": shown_effects(change),
        "facts": _facts(change),
        "why_not": refusals["approve"] if change.status in ("proposed", "scheduled") else "",
        "buttons": [
            Button(act, WORDS[act].submit, WORDS[act].tone, here(request, "approval_act", change.id, act))
            for act in ACTS
            if not refusals[act]
        ],
        "approvals": [
            ApprovalRow(row.person.name, row.approved_at, row.reason, row.pk in counting)
            for row in approvals_of(change)
        ],
        **changes_of(request, AuditFilter(object_kind=kind, object_id=name), object=kind),
    }
    return render(request, "console/approval.html", context)


@require_http_methods(["GET", "POST"])
@workspace_page(*DECIDERS)
def approval_act(request: Any, request_id: UUID, act: str) -> HttpResponse:
    """Confirm an act on a change, over exactly what is shown, with a reason."""
    if act not in ACTS:
        raise Http404
    change, back = _found(request_id), here(request, "approval", request_id)
    form = DecisionForm(request.POST or None, initial={"seen": content_digest(change)})
    moved, refusal = False, why_not(request, change, act)
    if request.method == "POST" and form.is_valid() and not refusal:
        try:
            decided = _decide(request, change, act, form)
            return done(request, back, said=_said(act, decided))
        except WrongVersion:
            change, moved = change.refresh(), True
            form = DecisionForm(
                initial={"seen": content_digest(change), "reason": form.cleaned_data["reason"]}
            )
    context = {
        "words": WORDS[act],
        "change": row_of(request, change),
        "check": shown_effects(change),
        "publish_at": change.publish_at,
        "refusal": refusal,
        "moved": moved,
        "form": form,
    }
    status = 409 if moved else 403 if request.method == "POST" and refusal else 422
    return dialog(
        request,
        "console/approval_act.html",
        context,
        back=back,
        status=status if request.method == "POST" else 200,
    )


@require_http_methods(["GET", "POST"])
@workspace_page(*SETTERS)
def four_eyes(request: Any) -> HttpResponse:
    """Change where four eyes hold: stronger at once, weaker by a request that another person approves (PR-2b)."""
    setting, back = setting_of(), here(request, "approvals")
    form = FourEyesForm(request.POST or None, initial={"version": setting.version, "kinds": setting.kinds})
    moved = False
    if request.method == "POST" and form.is_valid():
        try:
            asked_for = gate.change_four_eyes(
                kinds=form.cleaned_data["kinds"],
                replaces=form.cleaned_data["version"],
                reason=form.cleaned_data["reason"],
                by=decider(request),
                now=timezone.now(),
            )
        except WrongVersion:
            moved = True
            initial = {**form.cleaned_data, "version": setting.version, "kinds": setting.kinds}
            form = FourEyesForm(initial=initial)
        else:
            return carried_out(request, asked_for, back, said=_("Four eyes hold where you said."))
    status = 409 if moved else 422 if request.method == "POST" else 200
    return dialog(request, "console/four_eyes.html", {"form": form, "moved": moved}, back=back, status=status)


def _found(request_id: UUID) -> ChangeRequest:
    return access.one(
        ChangeRequest.objects.select_related("author", "publisher", "settled_by"), id=request_id
    )


def _decide(request: Any, change: ChangeRequest, act: str, form: DecisionForm) -> ChangeRequest:
    reason, seen = form.cleaned_data["reason"], form.cleaned_data["seen"]
    by, now = decider(request), timezone.now()
    if act == "approve":
        return gate.approve(change_id=change.id, reason=reason, seen=seen, by=by, now=now)
    if act == "publish":
        return gate.publish(change_id=change.id, reason=reason, seen=seen, by=by, now=now)
    if act == "break-glass":
        return gate.break_glass(change_id=change.id, reason=reason, seen=seen, by=by, now=now)
    settle = deny_request if act == "deny" else withdraw_request
    return settle(request_id=change.id, reason=reason, by=by, now=now)


def _said(act: str, decided: ChangeRequest) -> str:
    if act == "approve" and decided.status == "published":
        return _("The change is approved and published.")
    if decided.status == "scheduled":
        return _("The change is scheduled.")
    return str(WORDS[act].said)


def _facts(change: ChangeRequest) -> list[Fact]:
    facts = [
        Fact(_("Status"), status=status_of(change)),
        Fact(_("Asked by"), author_of(change)),
        Fact(_("Asked"), at=change.proposed_at),
        Fact(_("Reason"), change.reason),
    ]
    if change.kind in KINDS:
        facts.append(Fact(_("Replaces version"), str(change.replaces)))
    if change.drop:
        facts.append(Fact(_("Drop"), ", ".join(change.drop), mono=True))
    if change.publish_at:
        facts.append(Fact(_("To be published"), at=change.publish_at))
    if change.publisher:
        facts.append(Fact(_("Published by"), change.publisher.name))
    if change.failure:
        facts.append(Fact(_("Why it failed"), change.failure, mono=True))
    if change.settled_by:
        title = _("Published without approval by") if change.is_glass_broken else _("Closed by")
        facts += [Fact(title, change.settled_by.name), Fact(_("Their reason"), change.settled_reason)]
    return facts
