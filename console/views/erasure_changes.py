"""Asking for an erasure, and what people decide about a request: each a dialog with a reason (PR-9, PR-17, CO-5)."""

import re
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from console.forms.base import ReasonForm
from console.forms.erasures import EraseForm, EraseScopeForm, ErasureForm, RefuseForm, WhomForm
from console.pages import actor, asked, dialog, done, here, see_other, workspace_page
from console.refusals import in_words
from console.views.erasures import READERS, hold_lines, longer_due, row_of, url_of, why_not
from privacy.models import ErasureRequest
from privacy.selectors import erasures as selectors
from privacy.selectors.approvals import needs_approval
from privacy.services import erasures as services
from privacy.services.erasures import Asker
from privacy.types import Target
from workspaces import access
from workspaces.errors import InvalidInput
from workspaces.models import Profile
from workspaces.selectors.profiles import profiles
from workspaces.services import profiles as finding

OF_SCOPES = ("conversation", "task", "object")
SCOPE_HASH = re.compile("[0-9a-f]{64}")


@require_http_methods(["GET", "POST"])
@workspace_page("request_erasure")
def erasure_new(request: Any) -> HttpResponse:
    """Find whom or what an erasure is to be about; what names it is sent by POST and not kept (CO-3)."""
    form = WhomForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        find = _what if form.cleaned_data["what"] in OF_SCOPES else _whom
        found = find(request, form)
        if found is not None:
            return see_other(found)
    status = 422 if request.method == "POST" else 200
    return render(request, "console/erasure_new.html", {"form": form}, status=status)


@require_http_methods(["GET", "POST"])
@workspace_page("request_erasure")
def profile_erase(request: Any, profile_id: UUID) -> HttpResponse:
    """Show what an erasure would remove, and ask for it once the pseudonym is typed (CO-5)."""
    profile, now = access.one(profiles(), id=profile_id), timezone.now()
    target = _target(request, profile)
    planned = selectors.planned(request.workspace, target)
    form = EraseForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        if form.cleaned_data["typed"].strip() == profile.pseudonym:
            return _ask(request, form, target, now=now)
        form.add_error("typed", _("This is not the pseudonym."))
    dry_run = selectors.dry_run(planned, now=now)
    context = {
        "form": form,
        "pseudonym": profile.pseudonym,
        "hints": [handle.hint for handle in profile.handles.all() if handle.id in planned.handle_ids],
        "only_handle": target.kind == "handle",
        "dry_run": dry_run,
        "holds": hold_lines(request, dry_run, now),
        "needs_approval": needs_approval("erasure"),
        "action": request.get_full_path(),
    }
    status = 422 if request.method == "POST" else 200
    back = here(request, "profile", profile.id)
    return dialog(request, "console/profile_erase.html", context, back=back, status=status)


@require_http_methods(["GET", "POST"])
@workspace_page("request_erasure")
def scope_erase(request: Any, target: str, scope: str) -> HttpResponse:
    """Show what the erasure of a conversation, task or object would remove, and ask for it once its id is typed again.

    The address names it by its keyed hash, as its request does: the id is in no address (CO-3, CO-5).
    """
    named, now = _hash(target, scope), timezone.now()
    form = EraseScopeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        wanted = Target(kind=target, scope_id=form.cleaned_data["typed"])
        if _is_scope(request, wanted, named):
            return _ask(request, form, wanted, now=now)
        form.add_error("typed", _("This is not its id."))
    dry_run = selectors.dry_run(selectors.planned_scope(request.workspace, target, named), now=now)
    context = {
        "form": form,
        "target": target,
        "scope": scope,
        "dry_run": dry_run,
        "holds": hold_lines(request, dry_run, now),
        "needs_approval": needs_approval("erasure"),
    }
    status = 422 if request.method == "POST" else 200
    back = here(request, "erasures")
    return dialog(request, "console/scope_erase.html", context, back=back, status=status)


@require_http_methods(["GET", "POST"])
@workspace_page(*READERS)
def erasure_verify(request: Any, erasure_id: UUID) -> HttpResponse:
    """Note that who asks is who they say (PR-17)."""
    found = access.one(selectors.requests(), id=erasure_id)
    form = ReasonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        services.verify_identity(request_id=found.id, **_deed(request, form))
        return done(request, url_of(request, found), said=_("The identity is noted as verified."))
    return _change(request, found, form, "erasure_verify")


@require_http_methods(["GET", "POST"])
@workspace_page("approve_erasure")
def erasure_approve(request: Any, erasure_id: UUID) -> HttpResponse:
    """Approve a request: from then on nothing of it is read (PR-11); it cannot be undone."""
    found = access.one(selectors.requests(), id=erasure_id)
    form = ReasonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        services.approve(workspace=request.workspace, request_id=found.id, **_deed(request, form))
        return done(request, url_of(request, found), said=_("%s is approved.") % found.reference)
    dry_run = selectors.dry_run(found, now=timezone.now())
    beside = {
        "dry_run": dry_run,
        "holds": hold_lines(request, dry_run, timezone.now()),
        "why_not": why_not(request, found),
    }
    return _change(request, found, form, "erasure_approve", **beside)


@require_http_methods(["GET", "POST"])
@workspace_page("approve_erasure")
def erasure_refuse(request: Any, erasure_id: UUID) -> HttpResponse:
    """Refuse a request with a reason that a machine can read (PR-17)."""
    found = access.one(selectors.requests(), id=erasure_id)
    form = RefuseForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        refusal = form.cleaned_data["refusal"]
        services.refuse(request_id=found.id, refusal=refusal, **_deed(request, form))
        return done(request, url_of(request, found), said=_("%s is refused.") % found.reference)
    return _change(request, found, form, "erasure_refuse")


@require_http_methods(["GET", "POST"])
@workspace_page(*READERS)
def erasure_extend(request: Any, erasure_id: UUID) -> HttpResponse:
    """Extend the deadline once, where the regime allows it (PR-17)."""
    found = access.one(selectors.requests(), id=erasure_id)
    form = ReasonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        services.extend(request_id=found.id, **_deed(request, form))
        return done(request, url_of(request, found), said=_("The deadline is extended."))
    return _change(request, found, form, "erasure_extend", longer=longer_due(found))


def _deed(request: Any, form: ReasonForm | RefuseForm) -> dict[str, Any]:
    return {"actor": actor(request), "reason": form.cleaned_data["reason"], "now": timezone.now()}


def _change(request: Any, found: ErasureRequest, form: Any, template: str, **beside: Any) -> HttpResponse:
    status = 422 if request.method == "POST" else 200
    context = {"erasure": row_of(request, found, timezone.now().date()), "form": form, **beside}
    return dialog(request, f"console/{template}.html", context, back=url_of(request, found), status=status)


def _ask(request: Any, form: ErasureForm, target: Target, *, now: datetime) -> HttpResponse:
    made = services.request_erasure(
        workspace=request.workspace,
        target=target,
        asker=Asker(actor(request), is_verified=form.cleaned_data["verified"]),
        reason=form.cleaned_data["reason"],
        now=now,
    )
    return done(request, url_of(request, made), said=_("%s is taken.") % made.reference)


def _what(request: Any, form: WhomForm) -> str | None:
    """Hash the id that a form names; give where to go on, or note in the form why it cannot be one."""
    target = Target(kind=form.cleaned_data["what"], scope_id=form.cleaned_data["handle"])
    try:
        scope = selectors.resolved(request.workspace, target).scope_hash
    except InvalidInput as error:
        form.add_error("handle", in_words(error))
        return None
    return here(request, "scope_erase", target.kind, bytes(scope or b"").hex())


def _hash(target: str, scope: str) -> bytes:
    """Read what an address names; what no address can name is not there."""
    if target not in OF_SCOPES or not SCOPE_HASH.fullmatch(scope):
        raise Http404
    return bytes.fromhex(scope)


def _is_scope(request: Any, target: Target, named: bytes) -> bool:
    """Tell whether an id is that of the scope that the address names."""
    try:
        return selectors.resolved(request.workspace, target).scope_hash == named
    except InvalidInput:
        return False


def _whom(request: Any, form: WhomForm) -> str | None:
    """Find the person that a form names; give where to go on, or note in the form why nobody was found."""
    values = form.cleaned_data
    found = finding.find(
        workspace=request.workspace,
        query=values["handle"],
        type=values["kind"] or None,
        namespace=values["namespace"] or None,
        actor=actor(request),
        now=timezone.now(),
    )
    if len(found) != 1:
        several = _("More than one kind of handle fits: choose the kind.")
        form.add_error("handle", several if found else _("No profile has this handle or pseudonym."))
        return None
    if values["what"] == "profile":
        return here(request, "profile_erase", found[0].id)
    handle = selectors.handle_named(
        request.workspace, values["handle"], type=values["kind"], namespace=values["namespace"]
    )
    if handle is None:
        form.add_error("handle", _("For one handle alone, give the handle itself."))
        return None
    return here(request, "profile_erase", found[0].id, handle=str(handle.id))


def _target(request: Any, profile: Profile) -> Target:
    """Read what is to go: one of the person's handles where the address names it, else the whole person."""
    wanted = asked(request, "handle")
    if not wanted:
        return Target(kind="profile", profile_id=profile.id)
    own = {str(handle.id): handle.id for handle in profile.handles.all()}
    if wanted not in own:
        raise Http404
    return Target(kind="handle", handle_id=own[wanted])
