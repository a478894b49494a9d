"""Signing in by the provider of OpenID Connect that the settings name (PL-4)."""

import logging
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from console.env import OpenId
from console.openid import OpenIdRefused, claims_of, lead_there, was_asked
from console.pages import see_other
from console.sign_ins import begin, safe_target
from workspaces.services.openid import OpenIdClaims, person_of
from workspaces.services.people import note_failed_sign_in

log = logging.getLogger("lastro.console")

_NEXT = "openid_next"


# By a link and not by a form: the policy lets no form lead to another site (CO-2).
@require_safe
def openid(request: Any) -> HttpResponse:
    """Lead to the provider, and remember where to go afterwards."""
    provider = _provider()
    request.session[_NEXT] = safe_target(request)
    try:
        return lead_there(provider, settings.LASTRO_BASE_URL + reverse("console:openid_done"), request)
    except OpenIdRefused as error:
        return _refused(request, provider, error)


@require_safe
def openid_done(request: Any) -> HttpResponse:
    """Take what the provider sent back; sign in who is known, and refuse anybody else without saying why."""
    provider = _provider()
    now, target = timezone.now(), request.session.get(_NEXT, reverse("console:home"))
    if not was_asked(provider, request):
        # Not what this browser began. It counts for no lock, or any page could lock out who looks at it.
        return _refused(request, provider, OpenIdRefused("unasked"))
    try:
        claims = claims_of(provider, request)
    except OpenIdRefused as error:
        note_failed_sign_in(email="", origin=request.origin, now=now)
        return _refused(request, provider, error)
    person = person_of(claims=claims, origin=request.origin, now=now)
    if person is None or person.is_locked(now):
        note_failed_sign_in(email=_name(claims), origin=request.origin, now=now)
        return _refused(request, provider, None)
    is_proven = provider.has_second_factor
    return begin(request, person, target=target, now=now, by="openid", is_proven=is_proven)


def _provider() -> OpenId:
    if settings.OPENID is None:
        raise Http404
    return settings.OPENID


def _name(claims: OpenIdClaims) -> str:
    """Name who failed, for the hash that the audit keeps: never by an address, whose account would be locked by it."""
    return f"{claims.issuer} {claims.subject}"


def _refused(request: Any, provider: OpenId, error: OpenIdRefused | None) -> HttpResponse:
    """Lead back to the sign-in, which says that it did not work; what was wrong stands in the log, by its kind."""
    if error is not None:
        log.warning("openid.refused", extra={"kind": str(error)})
    messages.error(
        request,
        _("%(provider)s did not sign you in. Ask an owner of your workspace whether your address is invited.")
        % {"provider": provider.title},
    )
    return see_other(reverse("console:sign_in"))
