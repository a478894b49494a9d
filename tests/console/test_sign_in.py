"""Signing in, being locked out, being idle, and going back to where one was (PL-4, PL-19)."""

import re
from datetime import timedelta

import pytest
from django.http.response import HttpResponseBase
from django.test import Client
from django.utils import timezone

from tests import factories
from tests.console.conftest import SignedIn
from workspaces.models import DeploymentAuditEntry, Person, StaffSession
from workspaces.services.lockouts import FAILURES_BEFORE_LOCK
from workspaces.types import WorkspaceRef

SIGN_IN = "/console/sign-in/"
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="[^"]+"')
FOREIGN = (
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example",
    "\\\\evil.example",
    "http:evil.example",
    "javascript:alert(1)",
    "\thttps://evil.example",
    "console/me/",
    "http://testserver.evil.example/",
)


def try_to_sign_in(person: Person | str, password: str = factories.PASSWORD, **more: str) -> HttpResponseBase:
    """Send the sign-in form of a browser that has no session."""
    email = person if isinstance(person, str) else person.email
    return Client().post(SIGN_IN, {"username": email, "password": password, **more})


def text_of(answer: HttpResponseBase) -> str:
    """Give a page without what differs each time."""
    page = TOKEN.sub("", answer.content.decode())  # type: ignore[attr-defined]
    return re.sub(r'value="[^"]*@[^"]*"', "", page)


def test_sign_in_leads_to_the_overview_and_is_audited(security: Person) -> None:
    """PL-4, PR-21: address (in whatever case) and password open a session, and the deployment's chain says so."""
    client = Client()
    answer = client.post(SIGN_IN, {"username": security.email.upper(), "password": factories.PASSWORD})
    assert (answer.status_code, answer["Location"]) == (303, "/console/")
    assert client.get("/console/").status_code == 200
    entry = DeploymentAuditEntry.objects.latest("seq")
    assert (entry.act, entry.actor_id, entry.result) == ("person.sign_in", str(security.id), "done")


def test_sign_in_starts_a_session_of_its_own(security: Person) -> None:
    """PL-19: a session that somebody planted before is not the one that is signed in."""
    client = Client()
    client.session.save()
    planted = client.session.session_key
    client.post(SIGN_IN, {"username": security.email, "password": factories.PASSWORD})
    assert client.session.session_key != planted


def test_session_cookie_is_for_this_site_alone(security: Person) -> None:
    """PL-19: no script reads the session's cookie, and no other site's form is sent with it."""
    cookie = try_to_sign_in(security).cookies["lastro_session"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


def test_refused_sign_in_never_tells_why(security: Person) -> None:
    """PL-4: an unknown address, a wrong password and a locked account get the same answer, byte for byte."""
    unknown = try_to_sign_in("nobody@example.com")
    wrong = try_to_sign_in(security, "wrong")
    Person.objects.filter(id=security.id).update(locked_until=timezone.now() + timedelta(minutes=1))
    locked = try_to_sign_in(security)
    assert {answer.status_code for answer in (unknown, wrong, locked)} == {422}
    assert text_of(unknown) == text_of(wrong) == text_of(locked)
    assert "address or the password is wrong" in text_of(unknown)


def test_account_is_locked_after_repeated_failures_and_opens_again(security: Person) -> None:
    """PL-4: after ten wrong passwords the right one is refused too, until the lock is over."""
    for _ in range(FAILURES_BEFORE_LOCK):
        assert try_to_sign_in(security, "wrong").status_code == 422
    assert try_to_sign_in(security).status_code == 422
    Person.objects.filter(id=security.id).update(locked_until=timezone.now() - timedelta(seconds=1))
    assert try_to_sign_in(security).status_code == 303


def test_success_forgets_earlier_failures(security: Person) -> None:
    """PL-4: only failures in a row lock an account."""
    for _ in range(FAILURES_BEFORE_LOCK - 1):
        try_to_sign_in(security, "wrong")
    assert try_to_sign_in(security).status_code == 303
    assert try_to_sign_in(security, "wrong").status_code == 422
    assert try_to_sign_in(security).status_code == 303


@pytest.mark.parametrize("known", [True, False])
def test_failed_sign_in_is_audited_with_a_hashed_name(security: Person, known: bool) -> None:  # noqa: FBT001
    """PR-21: who failed stands in the deployment's chain as a keyed hash alone, the same for one name each time."""
    email = security.email if known else "somebody.else@example.com"
    entries = []
    for _ in range(2):
        try_to_sign_in(email, "wrong")
        entries.append(DeploymentAuditEntry.objects.latest("seq"))
    first, second = entries
    assert (first.act, first.result, first.object_kind) == ("person.sign_in", "refused", "name_hash")
    assert first.object_id == second.object_id
    written = (first.actor_id, first.actor_name, first.object_id, first.reason, str(first.facts))
    assert not any(email in text or "@" in text or str(security.id) in text for text in written)


def test_inactive_person_does_not_sign_in(security: Person) -> None:
    """PL-4: an account that was closed opens nothing."""
    Person.objects.filter(id=security.id).update(is_active=False)
    assert try_to_sign_in(security).status_code == 422


@pytest.mark.parametrize("target", FOREIGN)
def test_sign_in_leads_to_no_other_site(security: Person, target: str) -> None:
    """PL-19: no open redirect, from the address or from the form."""
    answer = try_to_sign_in(security, next=target)
    assert (answer.status_code, answer["Location"]) == (303, "/console/")
    assert target not in Client().get(SIGN_IN, {"next": target}).context["next"]
    themed = Client().post("/console/theme/", {"theme": "dark", "next": target})
    assert themed["Location"] == "/console/"


def test_sign_in_leads_back_to_the_page_that_was_asked_for(aurora: WorkspaceRef, security: Person) -> None:
    """PL-4: a deep link, its filters included, survives the sign-in."""
    wanted = f"/console/w/{aurora.slug}/audit/?action=feature.*"
    away = Client().get(wanted)
    assert away.status_code == 302
    shown = Client().get(away["Location"])
    assert shown.context["next"] == wanted
    assert try_to_sign_in(security, next=wanted)["Location"] == wanted


def test_session_ends_after_half_an_hour_of_rest_and_not_before(
    aurora: WorkspaceRef, security: Person, signed_in: SignedIn
) -> None:
    """PL-4: each request keeps the session for 30 minutes more; one that rested longer is over."""
    client = signed_in(security)
    now = timezone.now()
    StaffSession.objects.update(expire_date=now + timedelta(minutes=1))
    assert client.get("/console/").status_code == 200
    kept_until = StaffSession.objects.get(session_key=client.session.session_key).expire_date
    assert timedelta(minutes=29) < kept_until - now <= timedelta(minutes=31)
    StaffSession.objects.update(expire_date=now - timedelta(seconds=1))
    assert client.get("/console/").status_code == 302


def test_form_of_an_ended_session_leads_back_to_its_page(aurora: WorkspaceRef) -> None:
    """PL-4: after a search that came too late, the sign-in leads back to the page with the box, not to the search."""
    page = f"/console/w/{aurora.slug}/profiles/"
    answer = Client().post(
        f"/console/w/{aurora.slug}/find/",
        {"handle": "+5511912345678"},
        headers={"Referer": f"http://testserver{page}"},
    )
    assert (answer.status_code, answer["Location"]) == (302, f"/console/sign-in/?next={page}")


def test_dialog_of_an_ended_session_leads_the_whole_page_to_the_sign_in(aurora: WorkspaceRef) -> None:
    """PL-4: the sign-in is never drawn inside a dialog."""
    page = f"/console/w/{aurora.slug}/features/"
    headers = {"HX-Request": "true", "HX-Target": "dlg", "HX-Current-URL": f"http://testserver{page}?a=1"}
    answer = Client().get(f"{page}agent_state/change/", headers=headers)
    assert answer.status_code == 204
    assert answer["HX-Redirect"] == f"/console/sign-in/?next={page}%3Fa%3D1"


@pytest.mark.parametrize("name", ["HX-Current-URL", "Referer"])
def test_page_whose_address_is_none_leads_to_the_overview(db: None, name: str) -> None:
    """PL-4: what a browser says of where it is may be anything."""
    headers = {"HX-Request": "true", name: "http://[not-an-address"}
    answer = Client().get("/console/me/", headers=headers)
    assert (answer.status_code, answer["HX-Redirect"]) == (204, f"{SIGN_IN}?next=/console/")


def test_sign_out_ends_the_session_and_is_audited(security: Person, signed_in: SignedIn) -> None:
    """PL-4, PR-21: after signing out the cookie opens nothing, even if it was kept."""
    client = signed_in(security)
    kept = client.cookies["lastro_session"].value
    assert client.post("/console/sign-out/")["Location"] == SIGN_IN
    assert DeploymentAuditEntry.objects.latest("seq").act == "person.sign_out"
    again = Client()
    again.cookies["lastro_session"] = kept
    assert again.get("/console/").status_code == 302


@pytest.mark.parametrize("chosen", ["light", "dark", "auto"])
def test_theme_is_kept_in_a_cookie_and_drawn_by_the_server(db: None, chosen: str) -> None:
    """CO-11: the theme comes with the page itself, so that nothing flashes; without JavaScript too."""
    client = Client()
    answer = client.post("/console/theme/", {"theme": chosen, "next": SIGN_IN})
    assert (answer.status_code, answer["Location"]) == (303, SIGN_IN)
    assert client.cookies["theme"]["samesite"] == "Lax"
    assert f'<html lang="en" data-theme="{chosen}">' in client.get(SIGN_IN).content.decode()


@pytest.mark.parametrize("chosen", ["", "pink", '"><script>'])
def test_theme_that_does_not_exist_is_not_kept(db: None, chosen: str) -> None:
    """CO-11, PL-19: whatever the cookie or the form says, the page has one of three themes."""
    client = Client()
    client.post("/console/theme/", {"theme": chosen})
    assert "theme" not in client.cookies or client.cookies["theme"].value == "auto"
    client.cookies["theme"] = chosen
    assert 'data-theme="auto"' in client.get(SIGN_IN).content.decode()
