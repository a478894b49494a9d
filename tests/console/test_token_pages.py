"""Personal tokens and what a person sets for themselves (PL-3, CO-11)."""

import re
from typing import Any

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.test import Client

from tests import factories
from tests.api import InProcess
from tests.console.conftest import SignedIn
from workspaces import access
from workspaces.models import Person, PersonalToken, StaffSession
from workspaces.services import people
from workspaces.services.lockouts import FAILURES_BEFORE_LOCK
from workspaces.types import WorkspaceRef

SECRET = re.compile(r'<code id="secret">(lsp_\w+)</code>')


@pytest.fixture
def client(security: Person, signed_in: SignedIn) -> Client:
    return signed_in(security)


def new_token(client: Client, workspace: WorkspaceRef, **change: Any) -> Any:
    form = {
        "name": "script",
        "permissions": ["change_features"],
        "expires": 30,
        "password": factories.PASSWORD,
    }
    return client.post(f"/console/w/{workspace.slug}/tokens/new/", form | change)


def secret_in(answer: Any) -> str:
    found = SECRET.search(answer.content.decode())
    assert found
    return found[1]


def test_token_is_shown_once_and_acts_as_its_owner(aurora: WorkspaceRef, client: Client) -> None:
    """PL-3: the answer to the form holds the token; it may what was chosen; no other page and no session has it."""
    secret = secret_in(new_token(client, aurora))
    assert InProcess(secret).get("/v1/config/features").status == 200
    pages = [client.get("/console/me/").content.decode(), client.get("/console/").content.decode()]
    sessions = [str(session.get_decoded()) for session in StaffSession.objects.all()]
    assert not any(part in text for part in (secret, secret[17:-6]) for text in [*pages, *sessions])
    assert "Switch features on and off" in pages[0]


def test_password_is_asked_again_and_cannot_be_guessed(
    aurora: WorkspaceRef, client: Client, security: Person
) -> None:
    """PL-3, PL-4: a wrong password makes no token and counts like a failed sign-in, up to the lock."""
    for _ in range(FAILURES_BEFORE_LOCK):
        assert new_token(client, aurora, password="wrong").status_code == 422
    assert new_token(client, aurora).status_code == 422
    with access.bound(aurora.id):
        assert not PersonalToken.objects.exists()
    Person.objects.filter(id=security.id).update(locked_until=None)
    assert SECRET.search(new_token(client, aurora).content.decode())


def test_session_outlives_a_password_that_is_hashed_again(
    aurora: WorkspaceRef, client: Client, security: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PL-4: where the password's hash is renewed on the way, the person stays signed in."""
    monkeypatch.setattr(Argon2PasswordHasher, "time_cost", 2)
    before = security.password
    assert new_token(client, aurora).status_code == 200
    security.refresh_from_db()
    assert security.password != before
    assert client.get("/console/me/").status_code == 200


def test_token_form_offers_what_the_person_may(
    aurora: WorkspaceRef, client: Client, security: Person
) -> None:
    """PL-3: a token has a part of its owner's permissions, and the form offers no other."""
    page = client.get(f"/console/w/{aurora.slug}/tokens/new/")
    offered = {name for name, _ in page.context["form"].fields["permissions"].choices}
    assert offered == page.context["may"]


def test_token_is_revoked_by_its_owner_alone(
    aurora: WorkspaceRef, client: Client, signed_in: SignedIn
) -> None:
    """PL-3: somebody else's token is not there; one's own stops at once."""
    secret = secret_in(new_token(client, aurora))
    with access.bound(aurora.id):
        address = f"/console/w/{aurora.slug}/tokens/{PersonalToken.objects.get().id}/revoke/"
    other = signed_in(factories.make_person(aurora, "security", name="Otto"))
    assert {other.get(address).status_code, other.post(address).status_code} == {404}
    assert InProcess(secret).get("/v1/config/features").status == 200
    assert client.post(address)["Location"] == "/console/me/"
    assert InProcess(secret).get("/v1/config/features").code == "unauthenticated"
    assert client.get("/console/me/").context["tokens"][0].status == "revoked"


def test_person_of_two_workspaces_chooses_where_a_token_belongs(
    aurora: WorkspaceRef, boreal: WorkspaceRef, client: Client, security: Person
) -> None:
    """PL-3: a token names one workspace; the page offers each in which the person may do something."""
    assert [place.title for place in client.get("/console/me/").context["token_urls"]] == ["Aurora"]
    with access.bound(boreal.id):
        people.join(person=security, roles=["auditor"], actor=factories.SYSTEM, now=factories.LATELY)
    page = client.get("/console/me/")
    assert [place.title for place in page.context["token_urls"]] == ["Aurora", "Boreal"]
    assert all(client.get(place.url).status_code == 200 for place in page.context["token_urls"])
    assert [each["roles"] for each in page.context["memberships"]] == [["Security"], ["Auditor"]]


def test_times_are_shown_in_the_zone_that_the_person_chose(aurora: WorkspaceRef, client: Client) -> None:
    """CO-11: one zone on every page, named in the head, with UTC in the title of each time."""
    saved = client.post("/console/me/", {"name": "Ana", "time_zone": "Asia/Kolkata"})
    assert saved["Location"] == "/console/me/"
    text = client.get(f"/console/w/{aurora.slug}/audit/").content.decode()
    assert "Time (Asia/Kolkata)" in text
    found = re.search(
        r'datetime="[^"]*T(\d\d):(\d\d):\d\dZ" title="[^"]* UTC">[^<]* (\d\d):(\d\d):\d\d<', text
    )
    assert found
    utc, shown = (int(found[1]) * 60 + int(found[2]), int(found[3]) * 60 + int(found[4]))
    assert (shown - utc) % (24 * 60) == 5 * 60 + 30


def test_name_that_was_saved_is_shown(client: Client) -> None:
    """CO-11: the page says that it saved, and the head has the new name."""
    page = client.post(
        "/console/me/", {"name": "Ana Souza", "time_zone": "UTC"}, follow=True
    ).content.decode()
    assert "Saved." in page
    assert "Ana Souza" in page
