"""What every way to sign in ends with: a code where the person has an app, and then a session (PL-4)."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from django.contrib.auth import login, update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from console.forms.base import ProblemForm
from console.pages import SECOND_FACTOR, see_other
from console.sessions import ADDRESS, BEGAN, BROWSER
from workspaces.models import Person
from workspaces.selectors.sign_ins import second_factor
from workspaces.services import people
from workspaces.services.second_factors import Proof, is_own_code

HALF_WAY = "half_way"
HALF_WAY_FOR = timedelta(minutes=10)
MAX_BROWSER_LENGTH = 200
_BACKEND = "django.contrib.auth.backends.ModelBackend"


class HalfWay(msgspec.Struct, frozen=True):
    """Somebody whose password, or whose provider, was right, and whose code is asked for."""

    person: UUID
    session_hash: str
    since: datetime
    target: str
    by: str


def begin(
    request: Any, person: Person, *, target: str, now: datetime, by: str = "password", is_proven: bool = False
) -> HttpResponse:
    """Sign somebody in, or ask for their code first; `is_proven` where a second factor has been seen elsewhere."""
    if is_proven or second_factor(person.id) is None:
        return finish(request, person, target=target, now=now, by=by, is_proven=is_proven)
    half_way = HalfWay(person.id, person.get_session_auth_hash(), now, target, by)
    request.session.cycle_key()
    request.session[HALF_WAY] = msgspec.json.encode(half_way).decode()
    return see_other(reverse("console:sign_in_code"))


def half_way(request: Any, *, now: datetime) -> tuple[Person, HalfWay] | None:
    """Give who is asked for a code in this browser; nobody after ten minutes, or after a new password."""
    text = request.session.get(HALF_WAY)
    found = msgspec.json.decode(text, type=HalfWay) if text else None
    if found is None or now - found.since > HALF_WAY_FOR:
        return None
    person = Person.objects.filter(id=found.person, is_active=True).first()
    if person is None or not constant_time_compare(person.get_session_auth_hash(), found.session_hash):
        return None
    return person, found


def finish(
    request: Any, person: Person, *, target: str, now: datetime, by: str, is_proven: bool
) -> HttpResponse:
    """Open a session that says where it is from, and write it to the audit."""
    request.session.pop(HALF_WAY, None)
    login(request, person, backend=_BACKEND)
    request.session[BEGAN] = now.isoformat()
    request.session[ADDRESS] = request.origin.address
    request.session[BROWSER] = request.headers.get("User-Agent", "")[:MAX_BROWSER_LENGTH]
    request.session[SECOND_FACTOR] = is_proven
    people.note_sign_in(person=person, origin=request.origin, now=now, by=by)
    return see_other(target)


def is_own_password(request: Any, form: ProblemForm, *, now: datetime) -> bool:
    """Check the password of who is signed in, or say at the form that it is wrong."""
    password, kept = form.cleaned_data["password"], request.user.password
    if not people.is_own_password(person=request.user, password=password, origin=request.origin, now=now):
        form.add_error("password", _("This is not your password, or your account is locked for now."))
    if request.user.password != kept:
        # It was hashed again, with today's work: without this the session would end here.
        update_session_auth_hash(request, request.user)
    return not form.errors


def proof_of(request: Any, form: ProblemForm, person: Person, *, now: datetime) -> Proof:
    """Check a code, which this uses up, or say at the form that it is wrong."""
    proof = is_own_code(person=person, code=form.cleaned_data["code"], origin=request.origin, now=now)
    if not proof:
        form.add_error("code", _("This code is wrong or was used before, or your account is locked for now."))
    return proof


def safe_target(request: HttpRequest) -> str:
    """Give where to go next: an address of this site, or the overview (PL-19)."""
    target = request.POST.get("next") or request.GET.get("next") or ""
    is_ours = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return target if is_ours and target.startswith("/") else reverse("console:home")
