"""Signing in by OpenID Connect, against a provider over HTTP (PL-4, PL-19, PR-21)."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from console.openid import _client
from tests.console.apps import app_of
from tests.console.provider import DONE, EXPIRED, STARTS, Provider, running
from tests.console.test_sign_in import SIGN_IN
from workspaces import access
from workspaces.models import DeploymentAuditEntry, FailingNetwork, OpenIdAccount, Person
from workspaces.services.lockouts import LOCKED_FOR
from workspaces.types import WorkspaceRef

# The provider runs in this process, and so does the browser that goes through it.
THEIRS = {"httpx", "httpcore.connection", "httpcore.http11", "werkzeug", "oidc_provider_mock"}


@pytest.fixture(scope="module")
def acme() -> Iterator[Provider]:
    """The provider that the server trusts."""
    with running() as provider:
        yield provider


@pytest.fixture(scope="module")
def other() -> Iterator[Provider]:
    """A provider that it does not."""
    with running() as provider:
        yield provider


@pytest.fixture
def trusting(settings: Settings, acme: Provider) -> Provider:
    """Trust the provider, as a server that has just started."""
    _client.cache_clear()
    settings.OPENID = acme.settings()
    return acme


def known_to(provider: Provider, person: Person, **claims: Any) -> str:
    """Give a person an account at a provider; give its subject."""
    subject = f"s-{person.id}"
    provider.put(subject, **{"email": person.email, "email_verified": True, **claims})
    return subject


def is_in(client: Client) -> bool:
    return client.get("/console/").status_code == 200


def require_led_back(answer: Any, client: Client) -> None:
    """See that one is back at the sign-in, which says so, and that nobody is signed in."""
    assert (answer.status_code, answer["Location"]) == (303, SIGN_IN)
    assert "Acme did not sign you in." in client.get(SIGN_IN).content.decode()
    assert not is_in(client)


def require_refused(answer: Any, client: Client) -> None:
    """See that one is back at the sign-in, and that the failure is written down."""
    require_led_back(answer, client)
    entry = DeploymentAuditEntry.objects.latest("seq")
    assert (entry.act, entry.result, entry.actor_id) == ("person.sign_in", "refused", "")


def test_person_signs_in_by_the_verified_address(trusting: Provider, security: Person) -> None:
    """PL-4, PR-21: whoever is invited already; the first time links the account, with an entry, and each is noted."""
    client = Client()
    assert "Sign in with Acme" in client.get(SIGN_IN).content.decode()
    answer = trusting.walk(client, known_to(trusting, security, email=security.email.upper()))
    assert (answer.status_code, answer["Location"]) == (303, "/console/")
    assert is_in(client)
    linked, entry = DeploymentAuditEntry.objects.order_by("-seq")[:2][::-1]
    assert (linked.act, linked.actor_id) == ("person.link_openid", str(security.id))
    assert (entry.act, entry.facts) == ("person.sign_in", {"by": "openid"})


def test_rights_come_from_roles_and_not_from_claims(
    aurora: WorkspaceRef, trusting: Provider, support: Person
) -> None:
    """PL-2, PL-4: whatever the provider says of groups and roles."""
    client, claims = Client(), {"groups": ["owner"], "roles": ["owner", "security"], "is_superuser": True}
    trusting.walk(client, known_to(trusting, support, **claims))
    assert client.get(f"/console/w/{aurora.slug}/keys/").status_code == 403
    assert client.get(f"/console/w/{aurora.slug}/profiles/").status_code == 200


def test_next_time_the_account_counts_and_not_the_address(trusting: Provider, security: Person) -> None:
    """PL-4: with another address it is the same person; another account that was given the address is nobody."""
    subject = known_to(trusting, security)
    trusting.walk(Client(), subject)
    known_to(trusting, security, email="new@example.com")
    again, heir = Client(), Client()
    trusting.walk(again, subject)
    assert is_in(again)
    trusting.put("heir", email=security.email, email_verified=True)
    require_refused(trusting.walk(heir, "heir"), heir)
    assert OpenIdAccount.objects.get().subject == subject


@pytest.mark.parametrize(
    "claims",
    [
        {"email": "nobody@example.com", "email_verified": True},
        {"email_verified": False},
        {"email_verified": "true"},
        {"email_verified": None},
        {"email": None},
        {"email": ["a@example.com"]},
    ],
    ids=str,
)
def test_whom_nobody_invited_is_refused(trusting: Provider, security: Person, claims: dict[str, Any]) -> None:
    """PL-4: nobody is made by signing in, and an address counts only where the provider has checked it."""
    people, client = Person.objects.count(), Client()
    require_refused(trusting.walk(client, known_to(trusting, security, **claims)), client)
    assert (Person.objects.count(), OpenIdAccount.objects.count()) == (people, 0)
    trusting.walk(client, known_to(trusting, security))
    assert is_in(client)


@pytest.mark.parametrize("change", [{"is_active": False}, {"locked_until": timezone.now() + LOCKED_FOR}])
def test_closed_and_locked_accounts_stay_so(
    trusting: Provider, security: Person, change: dict[str, Any]
) -> None:
    """PL-4: the provider is no way around either."""
    subject = known_to(trusting, security)
    trusting.walk(Client(), subject)
    Person.objects.filter(id=security.id).update(**change)
    client = Client()
    require_refused(trusting.walk(client, subject), client)


@pytest.mark.parametrize("change", [{"state": "another"}, {"state": ""}, {"nonce": "another"}, {"nonce": ""}])
def test_another_state_or_nonce_is_refused(
    trusting: Provider, security: Person, change: dict[str, str]
) -> None:
    """PL-19: an answer that this browser did not ask for, and a token that was made for another sign-in."""
    subject, client = known_to(trusting, security), Client()
    require = require_led_back if "state" in change else require_refused
    require(trusting.walk(client, subject, change=change), client)
    trusting.walk(client, subject)
    assert is_in(client)


def test_answer_counts_once_and_in_its_own_browser(trusting: Provider, security: Person) -> None:
    """PL-19: nobody signs somebody else in with a link, and no answer works twice."""
    client, victim = Client(), Client()
    back = trusting.agree(client.get(STARTS)["Location"], known_to(trusting, security))
    require_led_back(victim.get(back), victim)
    assert client.get(back)["Location"] == "/console/"
    client.post("/console/sign-out/")
    require_led_back(client.get(back), client)


def of_other(acme: Provider, other: Provider, *names: str) -> None:
    """Let the client of the trusted provider take some endpoints of the other one, as if it had been misled."""
    metadata = _client(acme.settings()).load_server_metadata()
    theirs = other.http.get("/.well-known/openid-configuration").json()
    metadata |= {name: theirs[name] for name in names}


ENDPOINTS = ("authorization_endpoint", "token_endpoint")


@pytest.mark.parametrize("misled", [(*ENDPOINTS, "jwks_uri"), ENDPOINTS], ids=["issuer", "signature"])
def test_token_of_another_provider_is_refused(
    trusting: Provider, other: Provider, security: Person, misled: tuple[str, ...]
) -> None:
    """PL-19: one that another issuer signed well, and one whose signature no key of ours made."""
    subject, client = known_to(trusting, security), Client()
    known_to(other, security)
    of_other(trusting, other, *misled)
    answer = client.get(other.agree(client.get(STARTS)["Location"], subject))
    require_refused(answer, client)
    _client.cache_clear()
    trusting.walk(client, subject)
    assert is_in(client)


def test_provider_that_calls_itself_otherwise_is_refused(
    settings: Settings, trusting: Provider, security: Person
) -> None:
    """PL-19: discovery must say the issuer that the settings name, to the letter."""
    settings.OPENID = trusting.settings(issuer=f"{trusting.issuer}/")
    subject, client = known_to(trusting, security), Client()
    require_refused(trusting.walk(client, subject), client)


def test_token_for_another_audience_is_refused(
    settings: Settings, trusting: Provider, security: Person
) -> None:
    """PL-19: a token that the provider made for another of its clients."""
    subject, client = known_to(trusting, security), Client()
    settings.OPENID = trusting.settings(client_id="another")
    _client(settings.OPENID).client_id = "lastro"
    require_refused(trusting.walk(client, subject), client)
    _client(settings.OPENID).client_id = "another"
    trusting.walk(client, subject)
    assert is_in(client)


def test_expired_token_is_refused(settings: Settings, security: Person) -> None:
    """PL-19: a token whose time was over when it came."""
    with running(**EXPIRED) as late:
        settings.OPENID, client = late.settings(), Client()
        require_refused(late.walk(client, known_to(late, security)), client)


def test_provider_that_is_away_is_no_error_of_ours(settings: Settings, acme: Provider, db: None) -> None:
    """PL-4: the sign-in says that it did not work, and the password still does."""
    settings.OPENID = acme.settings(issuer="http://localhost:9")
    client = Client()
    answer = client.get(STARTS)
    assert (answer.status_code, answer["Location"]) == (303, SIGN_IN)
    assert "Acme did not sign you in." in client.get(SIGN_IN).content.decode()


@pytest.mark.parametrize(
    "query", ["", "?error=access_denied&error_description=<b>", "?code=x&state=y", "?code=%00"]
)
def test_what_nobody_asked_for_is_refused(trusting: Provider, security: Person, query: str) -> None:
    """PL-19: no input is an error of ours or shown; what another site makes a browser ask locks nobody out."""
    client = Client()
    require_led_back(client.get(f"{DONE}{query}"), client)
    assert "<b>" not in client.get(SIGN_IN).content.decode()
    # Leading there first is something that a site can do as well.
    client.get(STARTS)
    require_led_back(client.get(f"{DONE}{query}"), client)
    assert not FailingNetwork.objects.exists()


def test_app_is_asked_for_after_the_provider(trusting: Provider, security: Person) -> None:
    """PL-4: the provider stands for the password; a provider that asks for a second factor itself, for both."""
    app, subject, client = app_of(security), known_to(trusting, security), Client()
    assert trusting.walk(client, subject)["Location"] == "/console/sign-in/code/"
    assert not is_in(client)
    assert client.post("/console/sign-in/code/", {"code": app.code()}).status_code == 303
    assert is_in(client)


@pytest.mark.parametrize("has_second_factor", [True, False])
def test_second_factor_of_the_provider_counts_where_the_settings_say_so(
    settings: Settings,
    trusting: Provider,
    security: Person,
    has_second_factor: bool,  # noqa: FBT001
) -> None:
    """PL-4: then nobody sets up an app for a role that needs one."""
    settings.SECOND_FACTOR_REQUIRED = True
    settings.OPENID = trusting.settings(has_second_factor=has_second_factor)
    client = Client()
    trusting.walk(client, known_to(trusting, security))
    assert is_in(client) == has_second_factor


def test_deep_link_survives_the_provider(trusting: Provider, security: Person) -> None:
    """PL-4, PL-19: the way back leads to the page, and to no other site."""
    subject = known_to(trusting, security)
    for target, led in (("/console/me/", "/console/me/"), ("//evil.example/", "/console/")):
        client = Client()
        back = trusting.agree(client.get(STARTS, {"next": target})["Location"], subject)
        assert client.get(back)["Location"] == led


def test_nothing_of_it_is_logged(
    trusting: Provider, security: Person, written_log: Callable[[], str]
) -> None:
    """PL-11: no code, token, verifier, secret or address stands in the log, whatever its level."""
    client = Client()
    back = trusting.agree(client.get(STARTS)["Location"], known_to(trusting, security))
    session = str(dict(client.session.items()))
    assert "code_verifier" in session
    verifier = session.partition("'code_verifier': '")[2].partition("'")[0]
    client.get(back)
    code = back.partition("code=")[2].partition("&")[0]
    lines = [line for line in written_log().splitlines() if json.loads(line)["logger"] not in THEIRS]
    secrets = (verifier, code, security.email, "a secret of the two")
    assert lines
    assert not [line for line in lines if any(secret in line for secret in secrets)]


def test_account_of_the_provider_opens_its_own_workspaces_alone(
    boreal: WorkspaceRef, trusting: Provider, security: Person
) -> None:
    """PL-1: as with a password, a workspace of which the person is no member is not there."""
    client = Client()
    trusting.walk(client, known_to(trusting, security))
    with access.bound(boreal.id):
        assert client.get(f"/console/w/{boreal.slug}/features/").status_code == 404
