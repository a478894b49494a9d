"""Setting up an authenticator app, its recovery codes, and doing without it again (PL-4)."""

from datetime import datetime
from typing import Any
from uuid import UUID

import pyotp
import segno
from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from console.forms.sign_ins import ProofForm, ResetForm, SetUpForm
from console.pages import (
    SECOND_FACTOR,
    actor,
    dialog,
    done,
    here,
    personal_page,
    see_other,
    signed_in_page,
    workspace_page,
)
from console.refusals import in_words
from console.sign_ins import is_own_password, proof_of
from workspaces.errors import SecondFactorStays
from workspaces.models import Person
from workspaces.selectors.people import members
from workspaces.selectors.sign_ins import (
    codes_left,
    needs_second_factor,
    second_factor,
    unconfirmed_secret,
)
from workspaces.services import second_factors as services

QR_MODULE_PIXELS = 4


# Not a personal page: who must set it up gets no further than here.
@require_http_methods(["GET", "POST"])
@signed_in_page
def second_factor_page(request: Any) -> HttpResponse:
    """Show whether the person has an app; begin with a secret, and take a first code for it."""
    person, now = request.user, timezone.now()
    if request.method == "POST" and "begin" in request.POST:
        services.begin_setup(person=person, now=now)
        return see_other(reverse("console:second_factor"))
    form = SetUpForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and is_own_password(request, form, now=now):
        codes = _set_up(request, form, now)
        if codes:
            return _shown_once(request, codes)
    return render(request, "console/second_factor.html", _state(person, form), status=_status(request))


@require_http_methods(["GET", "POST"])
@personal_page
def second_factor_off(request: Any) -> HttpResponse:
    """Do without the app again, after password and code."""
    if request.method == "GET" and not _may_do_without(request.user):
        raise Http404
    form, back = ProofForm(request.POST or None), reverse("console:second_factor")
    if request.method == "POST" and form.is_valid() and _is_proven(request, form):
        try:
            services.disable(person=request.user, origin=request.origin, now=timezone.now())
        except SecondFactorStays as error:
            form.add_error(None, in_words(error))
        else:
            request.session[SECOND_FACTOR] = False
            return done(request, back, said=_("The second factor is off."))
    context = {"form": form}
    return dialog(request, "console/second_factor_off.html", context, back=back, status=_status(request))


@require_http_methods(["GET", "POST"])
@personal_page
def second_factor_codes(request: Any) -> HttpResponse:
    """Give new recovery codes, after password and code."""
    if second_factor(request.user.id) is None:
        raise Http404
    form = ProofForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _is_proven(request, form):
        codes = services.renew_codes(person=request.user, origin=request.origin, now=timezone.now())
        return _shown_once(request, codes)
    return render(request, "console/second_factor_codes.html", {"form": form}, status=_status(request))


@require_http_methods(["GET", "POST"])
@workspace_page("manage_people")
def person_second_factor(request: Any, person_id: UUID) -> HttpResponse:
    """Take the second factor from a member who has lost it: another one is set up at the next sign-in."""
    member = next((member for member in members() if member.id == person_id), None)
    if member is None:
        raise Http404
    person, back = Person.objects.get(id=person_id), here(request, "people")
    services.require_may_reset(person=person, by=request.user)
    form = ResetForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        services.reset(
            person=person,
            by=request.user,
            reason=form.cleaned_data["reason"],
            actor=actor(request),
            now=timezone.now(),
        )
        return done(request, back, said=_("The second factor of %(name)s is reset.") % {"name": member.name})
    context = {"someone": member, "form": form}
    return dialog(request, "console/person_second_factor.html", context, back=back, status=_status(request))


def _set_up(request: Any, form: SetUpForm, now: datetime) -> list[str]:
    """Take the first code, or say at the form that it is none."""
    codes = services.finish_setup(
        person=request.user,
        code=form.cleaned_data["code"].replace(" ", ""),
        session_key=request.session.session_key,
        origin=request.origin,
        now=now,
    )
    if not codes:
        form.add_error("code", _("This is not the app's code now. Is the clock of the device right?"))
    return codes


def _is_proven(request: Any, form: ProofForm) -> bool:
    now = timezone.now()
    return is_own_password(request, form, now=now) and bool(proof_of(request, form, request.user, now=now))


def _may_do_without(person: Person) -> bool:
    is_needed = settings.SECOND_FACTOR_REQUIRED and needs_second_factor(person)
    return second_factor(person.id) is not None and not is_needed


def _shown_once(request: Any, codes: list[str]) -> HttpResponse:
    """Show recovery codes in the answer to the form itself, so that no address leads to them again."""
    request.session[SECOND_FACTOR] = True
    context = {"codes": codes, "as_text": "\n".join(codes)}
    return render(request, "console/recovery_codes.html", context)


def _state(person: Person, form: SetUpForm) -> dict[str, Any]:
    secret = unconfirmed_secret(person.id)
    return {
        "form": form,
        "factor": second_factor(person.id),
        "codes_left": codes_left(person.id),
        "is_needed": settings.SECOND_FACTOR_REQUIRED and needs_second_factor(person),
        "may_do_without": _may_do_without(person),
        "secret": secret,
        "qr": _qr(secret, person) if secret else "",
    }


def _qr(secret: str, person: Person) -> SafeString:
    """Draw what an app reads, as a part of the page: a picture with an address of its own would be the secret's."""
    issuer = f"Lastro ({settings.LASTRO_ENVIRONMENT})"
    uri = pyotp.TOTP(secret).provisioning_uri(name=person.email, issuer_name=issuer)
    drawn = segno.make(uri, error="m").svg_inline(
        scale=QR_MODULE_PIXELS, dark="#000", light="#fff", svgclass="qr", title=_("QR code for your app")
    )
    # All of it is segno's: of ours it holds black and white squares, and a title that it escapes.
    return mark_safe(drawn)  # noqa: S308


def _status(request: Any) -> int:
    return 422 if request.method == "POST" else 200
