"""Signing in and out, joining by invitation (PL-4)."""

from typing import Any

from django.contrib.auth import authenticate, login, logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from console.forms.session import JoinAgainForm, JoinForm, SignInForm
from console.pages import see_other
from workspaces.errors import InvitationInvalid, RoleNotAllowed
from workspaces.models import Person
from workspaces.services import people

THEME_SECONDS = 365 * 24 * 3600


@require_http_methods(["GET", "POST"])
def sign_in(request: Any) -> HttpResponse:
    """Sign a person in; a refusal never says whether the address has an account."""
    form = SignInForm(request.POST or None)
    target = _safe_target(request)
    if request.method == "POST" and form.is_valid():
        person = _authenticated(request, form)
        if person is not None:
            login(request, person)
            people.note_sign_in(person=person, origin=request.origin, now=timezone.now())
            return see_other(target)
        form.add_error(
            None,
            _(
                "The address or the password is wrong, or the account is locked after too many tries. Wait 15 minutes."
            ),
        )
    status = 422 if request.method == "POST" else 200
    return render(request, "console/sign_in.html", {"form": form, "next": target}, status=status)


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
            form.add_error(None, error.detail or error.title)
        else:
            login(request, person, backend="django.contrib.auth.backends.ModelBackend")
            people.note_sign_in(person=person, origin=request.origin, now=now)
            return see_other(reverse("console:home"))
    status = 422 if request.method == "POST" else 200
    return render(request, "console/invitation.html", {"invitation": shown, "form": form}, status=status)


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Keep the theme in a cookie, for who has no JavaScript."""
    response = see_other(_safe_target(request))
    chosen = request.POST.get("theme", "auto")
    if chosen in {"auto", "light", "dark"}:
        response.set_cookie(
            "theme", chosen, max_age=THEME_SECONDS, samesite="Lax", secure=request.is_secure()
        )
    return response


def _authenticated(request: Any, form: SignInForm) -> Person | None:
    """Check address and password; a locked account is refused like a wrong password."""
    email, now = form.cleaned_data["username"], timezone.now()
    found = authenticate(request, username=email, password=form.cleaned_data["password"])
    if isinstance(found, Person) and not found.is_locked(now):
        return found
    people.note_failed_sign_in(email=email, origin=request.origin, now=now)
    return None


def _safe_target(request: HttpRequest) -> str:
    """Give where to go next: an address of this site, or the overview (PL-19)."""
    target = request.POST.get("next") or request.GET.get("next") or ""
    is_ours = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return target if is_ours and target.startswith("/") else reverse("console:home")
