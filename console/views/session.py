"""Signing in and out, joining by invitation (PL-4)."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import authenticate, logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from console.forms.session import JoinAgainForm, JoinForm, SignInForm
from console.forms.sign_ins import CodeForm
from console.pages import see_other, signed_in_page
from console.refusals import in_words
from console.sign_ins import begin, finish, half_way, proof_of, safe_target
from workspaces.errors import InvitationInvalid, RoleNotAllowed
from workspaces.models import Person
from workspaces.services import people
from workspaces.services.lockouts import is_network_locked

KEPT_SECONDS = 365 * 24 * 3600


@require_http_methods(["GET", "POST"])
def sign_in(request: Any) -> HttpResponse:
    """Sign a person in; a refusal never says whether the address has an account."""
    form = SignInForm(request.POST or None)
    target, now = safe_target(request), timezone.now()
    if request.method == "POST" and form.is_valid():
        person = _authenticated(request, form, now)
        if person is not None:
            return begin(request, person, target=target, now=now)
        form.add_error(
            None,
            _(
                "The address or the password is wrong, or the account is locked after too many tries. Wait 15 minutes."
            ),
        )
    status = 422 if request.method == "POST" else 200
    context = {"form": form, "next": target, "ended": "ended" in request.GET, "openid": settings.OPENID}
    return render(request, "console/sign_in.html", context, status=status)


@require_http_methods(["GET", "POST"])
def sign_in_code(request: Any) -> HttpResponse:
    """Ask who has an app for its code, after the password; whoever is at no such step begins again."""
    form, now = CodeForm(request.POST or None), timezone.now()
    found = half_way(request, now=now)
    if found is None:
        return see_other(reverse("console:sign_in"))
    person, step = found
    if request.method == "POST" and form.is_valid() and not _is_network_locked(request, form, now):
        proof = proof_of(request, form, person, now=now)
        if proof:
            by = f"{step.by}+{proof}"
            return finish(request, person, target=step.target, now=now, by=by, is_proven=True)
    status = 422 if request.method == "POST" else 200
    return render(request, "console/sign_in_code.html", {"form": form}, status=status)


@require_POST
@signed_in_page
def stay(_: Any) -> HttpResponse:
    """Keep the session for as long again: every request does, and this one does nothing else."""
    return HttpResponse(status=204)


@require_POST
def sign_out(request: Any) -> HttpResponse:
    """Sign the person out."""
    if isinstance(request.user, Person):
        people.note_sign_out(person=request.user, origin=request.origin, now=timezone.now())
    logout(request)
    return see_other(reverse("console:sign_in"))


@require_http_methods(["GET", "POST"])
def invitation(request: Any, token: str) -> HttpResponse:
    """Join a workspace by an invitation that works once."""
    now = timezone.now()
    try:
        shown = people.invitation_of(token, now=now)
    except InvitationInvalid:
        return render(request, "console/invitation.html", {"invitation": None}, status=404)
    form = (JoinAgainForm if shown.has_account else JoinForm)(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            person = people.accept_invitation(
                token=token,
                name=form.cleaned_data.get("name", ""),
                password=form.cleaned_data["password1"],
                origin=request.origin,
                now=now,
            )
        except (InvitationInvalid, RoleNotAllowed) as error:
            form.add_error(None, in_words(error))
        else:
            return begin(request, person, target=reverse("console:home"), now=now)
    status = 422 if request.method == "POST" else 200
    return render(request, "console/invitation.html", {"invitation": shown, "form": form}, status=status)


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Keep the theme in a cookie, for who has no JavaScript."""
    response = see_other(safe_target(request))
    chosen = request.POST.get("theme", "auto")
    if chosen in {"auto", "light", "dark"}:
        response.set_cookie("theme", chosen, max_age=KEPT_SECONDS, samesite="Lax", secure=request.is_secure())
    return response


@require_POST
def language(request: Any) -> HttpResponse:
    """Keep the language in a cookie, and with the person where somebody is signed in (CO-11)."""
    response = see_other(safe_target(request))
    chosen = request.POST.get("language", "")
    if chosen in dict(settings.LANGUAGES):
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            chosen,
            max_age=KEPT_SECONDS,
            samesite="Lax",
            secure=request.is_secure(),
        )
        if isinstance(request.user, Person):
            people.change_language(person=request.user, language=chosen)
    return response


def _authenticated(request: Any, form: SignInForm, now: datetime) -> Person | None:
    """Check address and password; a locked account and a locked network are refused like a wrong password."""
    email = form.cleaned_data["username"]
    # Before the lock is looked at, so that a refusal takes as long either way.
    found = authenticate(request, username=email, password=form.cleaned_data["password"])
    is_open = not is_network_locked(request.origin.address, now=now)
    if is_open and isinstance(found, Person) and not found.is_locked(now):
        return found
    people.note_failed_sign_in(email=email, origin=request.origin, now=now)
    return None


def _is_network_locked(request: Any, form: CodeForm, now: datetime) -> bool:
    if is_network_locked(request.origin.address, now=now):
        form.add_error("code", _("There were too many tries from your network. Wait 15 minutes."))
    return not form.is_valid()
