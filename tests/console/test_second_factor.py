"""The second factor: set up, asked for, used once, made up for, reset, and required (PL-3, PL-4)."""

import re
from datetime import timedelta
from typing import Any

import pyotp
import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import call_command
from django.test import Client, RequestFactory
from django.utils import timezone
from pytest_django import Settings

from console.admin import site
from console.sessions import SessionStore
from tests import factories
from tests.console.apps import App, app_of
from tests.console.conftest import SignedIn
from tests.console.test_sign_in import SIGN_IN, text_of, try_to_sign_in
from workspaces import access
from workspaces.models import (
    AuditEntry,
    DeploymentAuditEntry,
    Person,
    RecoveryCode,
    SecondFactor,
    StaffSession,
)
from workspaces.selectors.sign_ins import second_factor, unconfirmed_secret
from workspaces.services import people
from workspaces.services.lockouts import FAILURES_BEFORE_LOCK
from workspaces.types import WorkspaceRef

CODE, FACTOR = "/console/sign-in/code/", "/console/me/second-factor/"
OFF, NEW_CODES = f"{FACTOR}off/", f"{FACTOR}codes/"
SHOWN = re.compile(r"<li><code>([a-z2-7]{4}(?:-[a-z2-7]{4}){3})</code></li>")


@pytest.fixture
def app(security: Person) -> App:
    return app_of(security)


@pytest.fixture
def half_way(app: App) -> Client:
    """A browser in which the password was right."""
    client = Client()
    answer = client.post(SIGN_IN, credentials(app.person))
    assert (answer.status_code, answer["Location"]) == (303, CODE)
    return client


def credentials(person: Person, **more: str) -> dict[str, str]:
    return {"username": person.email, "password": factories.PASSWORD, **more}


def newest() -> DeploymentAuditEntry:
    return DeploymentAuditEntry.objects.latest("seq")


def fully_in(app: App) -> Client:
    """Give a browser that is signed in by password and code."""
    client = Client()
    client.post(SIGN_IN, credentials(app.person))
    assert client.post(CODE, {"code": app.fresh_code()})["Location"] == "/console/"
    return client


def test_an_app_is_set_up_and_its_codes_are_shown_once(security: Person, signed_in: SignedIn) -> None:
    """PL-4: a QR code and a key, a first code and the password; then ten codes, stored hashed; other sessions end."""
    client, elsewhere = signed_in(security), signed_in(security)
    assert client.post(FACTOR, {"begin": "1"})["Location"] == FACTOR
    page, secret = client.get(FACTOR).content.decode(), unconfirmed_secret(security.id)
    assert secret in page
    assert 'class="qr"' in page
    assert second_factor(security.id) is None
    form = {"code": pyotp.TOTP(secret).now(), "password": factories.PASSWORD}
    shown = SHOWN.findall(client.post(FACTOR, form).content.decode())
    assert len(set(shown)) == 10
    assert (newest().act, newest().actor_id) == ("second_factor.enable", str(security.id))
    stored = str(list(RecoveryCode.objects.values_list("code_hash", flat=True)))
    assert not any(code in stored for code in shown)
    kept = [client.get(path).content.decode() for path in (FACTOR, "/console/me/")]
    kept += [str(session.get_decoded()) for session in StaffSession.objects.all()]
    assert not any(code in text for text in kept for code in [*shown, secret])
    assert elsewhere.get("/console/").status_code == 302
    assert bytes(SecondFactor.objects.get().sealed_secret).find(secret.encode()) == -1


@pytest.mark.parametrize(
    ("why", "field"), [("a wrong code", "code"), ("a wrong password", "password"), ("no code", "code")]
)
def test_setting_up_takes_a_code_and_the_password(
    security: Person, signed_in: SignedIn, why: str, field: str
) -> None:
    """PL-4: whoever finds a browser open sets up no app of theirs."""
    client = signed_in(security)
    client.post(FACTOR, {"begin": "1"})
    good = {"code": pyotp.TOTP(unconfirmed_secret(security.id)).now(), "password": factories.PASSWORD}
    bad = {"code": "" if why == "no code" else "12345x", "password": "wrong"}
    answer = client.post(FACTOR, good | {field: bad[field]})
    assert (answer.status_code, list(answer.context["form"].errors)) == (422, [field])
    assert second_factor(security.id) is None
    assert client.post(FACTOR, good).status_code == 200


def test_password_alone_opens_nothing_and_the_code_does(app: App, half_way: Client) -> None:
    """PL-4, PR-21: between password and code no page opens; the entry of the sign-in says what proved it."""
    assert half_way.get("/console/").status_code == 302
    assert newest().act != "person.sign_in"
    answer = half_way.post(CODE, {"code": app.code()})
    assert (answer.status_code, answer["Location"]) == (303, "/console/")
    assert half_way.get("/console/").status_code == 200
    assert (newest().act, newest().facts) == ("person.sign_in", {"by": "password+app"})


def test_code_is_taken_once(app: App, half_way: Client) -> None:
    """PL-4: whoever looked over the shoulder signs in with it no more."""
    code = app.code()
    assert half_way.post(CODE, {"code": code}).status_code == 303
    other = Client()
    other.post(SIGN_IN, credentials(app.person))
    assert other.post(CODE, {"code": code}).status_code == 422
    assert other.post(CODE, {"code": app.fresh_code()}).status_code == 303


def test_each_recovery_code_works_once_however_it_is_typed(app: App) -> None:
    """PL-4: for who has lost the phone; in capitals, with spaces or without the dashes."""
    first, second = app.codes[0].upper().replace("-", " "), app.codes[1].replace("-", "")
    for code in (first, second):
        client = Client()
        client.post(SIGN_IN, credentials(app.person))
        assert client.post(CODE, {"code": code}).status_code == 303
        assert newest().facts == {"by": "password+recovery_code"}
    again = Client()
    again.post(SIGN_IN, credentials(app.person))
    assert again.post(CODE, {"code": app.codes[0]}).status_code == 422
    assert again.get(FACTOR).status_code == 302


def test_codes_cannot_be_guessed(app: App, half_way: Client) -> None:
    """PL-4: wrong codes lock the account like wrong passwords do, the right code included."""
    for _ in range(FAILURES_BEFORE_LOCK):
        assert half_way.post(CODE, {"code": app.wrong_code()}).status_code == 422
    assert half_way.post(CODE, {"code": app.code()}).status_code == 422
    Person.objects.filter(id=app.person.id).update(locked_until=None)
    assert half_way.post(CODE, {"code": app.fresh_code()}).status_code == 303


def test_right_password_forgets_no_wrong_code(app: App) -> None:
    """PL-4: who knows the password cannot begin the count of wrong codes anew by typing it again."""
    for _ in range(FAILURES_BEFORE_LOCK):
        client = Client()
        client.post(SIGN_IN, credentials(app.person))
        client.post(CODE, {"code": app.wrong_code()})
    assert text_of(try_to_sign_in(app.person)) == text_of(try_to_sign_in(app.person, "wrong"))


@pytest.mark.parametrize("why", ["nobody began", "too long ago", "a new password", "closed meanwhile"])
def test_code_without_a_password_before_it_leads_back(app: App, half_way: Client, why: str) -> None:
    """PL-4: the step in between holds for ten minutes and for the password that was typed."""
    client, now = Client() if why == "nobody began" else half_way, timezone.now()
    if why == "too long ago":
        session = client.session
        then = (now - timedelta(minutes=11)).isoformat()
        session["half_way"] = re.sub(r'"since":"[^"]+"', f'"since":"{then}"', session["half_way"])
        session.save()
    elif why == "a new password":
        app.person.set_password("another long sentence")
        app.person.save()
    elif why == "closed meanwhile":
        Person.objects.filter(id=app.person.id).update(is_active=False)
    answer = client.post(CODE, {"code": app.code()})
    assert (answer.status_code, answer["Location"]) == (303, SIGN_IN)


def test_deep_link_survives_the_code(app: App) -> None:
    """PL-4: and it leads to no other site (PL-19)."""
    for target, led in (("/console/me/?a=1", "/console/me/?a=1"), ("https://evil.example/", "/console/")):
        client = Client()
        client.post(SIGN_IN, credentials(app.person, next=target))
        assert client.post(CODE, {"code": app.fresh_code()})["Location"] == led


def test_invitation_to_a_second_workspace_asks_for_the_code_too(boreal: WorkspaceRef, app: App) -> None:
    """PL-4: an invitation is no way around the app."""
    with access.bound(boreal.id):
        token = people.invite(
            workspace=boreal,
            email=app.person.email,
            roles=["support"],
            inviter=None,
            actor=factories.SYSTEM,
            now=timezone.now(),
        )
    client = Client()
    answer = client.post(f"/console/invitation/{token}/", {"password1": factories.PASSWORD})
    assert answer["Location"] == CODE
    assert client.get("/console/").status_code == 302


@pytest.mark.parametrize("field", ["password", "code"])
def test_turning_it_off_takes_password_and_code(app: App, field: str) -> None:
    """PL-4, PR-21: a wrong one of either changes nothing; both end it, the codes too, with an entry."""
    client = fully_in(app)
    good = {"password": factories.PASSWORD, "code": app.fresh_code()}
    refused = client.post(OFF, good | {field: "123"})
    assert (refused.status_code, list(refused.context["form"].errors)) == (422, [field])
    assert second_factor(app.person.id) is not None
    assert client.post(OFF, good)["Location"] == FACTOR
    assert newest().act == "second_factor.disable"
    assert not RecoveryCode.objects.exists()
    assert try_to_sign_in(app.person)["Location"] == "/console/"


def test_new_recovery_codes_replace_the_old(app: App) -> None:
    """PL-4, PR-21: those before stop."""
    client = fully_in(app)
    answer = client.post(NEW_CODES, {"password": factories.PASSWORD, "code": app.fresh_code()})
    shown = SHOWN.findall(answer.content.decode())
    assert len(shown) == 10
    assert newest().act == "second_factor.new_codes"
    other = Client()
    other.post(SIGN_IN, credentials(app.person))
    assert other.post(CODE, {"code": app.codes[5]}).status_code == 422
    assert other.post(CODE, {"code": shown[5]}).status_code == 303


def test_pages_of_an_app_are_not_there_without_one(security: Person, signed_in: SignedIn) -> None:
    """PL-4: there is nothing to turn off, and nothing to make codes for."""
    assert {signed_in(security).get(path).status_code for path in (OFF, NEW_CODES)} == {404}


def new_token(client: Client, workspace: WorkspaceRef, **more: str) -> Any:
    form = {"name": "n", "permissions": ["view_audit"], "expires": 1, "password": factories.PASSWORD}
    return client.post(f"/console/w/{workspace.slug}/tokens/new/", form | more)


def test_token_takes_a_fresh_code(aurora: WorkspaceRef, app: App) -> None:
    """PL-3: a token is made only after a fresh second factor, where the person has one."""
    client = fully_in(app)
    for more in ({}, {"code": app.wrong_code()}):
        answer = new_token(client, aurora, **more)
        assert (answer.status_code, list(answer.context["form"].errors)) == (422, ["code"])
    assert new_token(client, aurora, code=app.fresh_code()).status_code == 200


@pytest.mark.parametrize(("role", "needs"), [("security", True), ("privacy", True), ("support", False)])
def test_role_that_needs_it_opens_nothing_else_until_it_is_set_up(
    aurora: WorkspaceRef,
    settings: Settings,
    role: str,
    needs: bool,  # noqa: FBT001
) -> None:
    """PL-4: required for security and privacy; every page and dialog leads to the setting up, which then opens all."""
    settings.SECOND_FACTOR_REQUIRED = True
    person, client = factories.make_person(aurora, role), Client()
    client.post(SIGN_IN, credentials(person))
    pages = ("/console/", "/console/me/", f"/console/w/{aurora.slug}/features/")
    assert {client.get(page).get("Location") for page in pages} == ({FACTOR} if needs else {None})
    if not needs:
        return
    dialog = client.get(f"/console/w/{aurora.slug}/features/", headers={"HX-Request": "true"})
    assert (dialog.status_code, dialog["HX-Redirect"]) == (204, FACTOR)
    client.post(FACTOR, {"begin": "1"})
    code = pyotp.TOTP(unconfirmed_secret(person.id)).now()
    assert client.post(FACTOR, {"code": code, "password": factories.PASSWORD}).status_code == 200
    assert {client.get(page).status_code for page in pages} == {200}


def test_the_admin_waits_for_it_too(security: Person, settings: Settings, rf: RequestFactory) -> None:
    """PL-4, PL-20: where a deployment serves Django's admin, that is no way around it."""
    request: Any = rf.get("/admin/")
    request.user, request.session = security, SessionStore()
    settings.SECOND_FACTOR_REQUIRED = True
    answer = site.admin_view(site.index)(request)
    assert (answer.status_code, answer["Location"]) == (302, FACTOR)
    request.user = AnonymousUser()
    assert site.admin_view(site.index)(request)["Location"] == f"{SIGN_IN}?next=/admin/"


def test_required_second_factor_is_not_turned_off(app: App, settings: Settings) -> None:
    """PL-4: the page does not offer it, and the form is refused."""
    client = fully_in(app)
    settings.SECOND_FACTOR_REQUIRED = True
    assert client.get(OFF).status_code == 404
    refused = client.post(OFF, {"password": factories.PASSWORD, "code": app.fresh_code()})
    assert refused.status_code == 422
    assert "One of your roles needs it" in refused.content.decode()
    assert second_factor(app.person.id) is not None


def reset_address(workspace: WorkspaceRef, person: Person) -> str:
    return f"/console/w/{workspace.slug}/people/{person.id}/second-factor/"


def test_owner_resets_it_for_who_lost_it(
    aurora: WorkspaceRef, app: App, owner: Person, signed_in: SignedIn
) -> None:
    """PL-4, PR-21: with a reason; the person's sessions end, and the password alone signs in to set up another."""
    theirs, client = fully_in(app), signed_in(owner)
    address = reset_address(aurora, app.person)
    assert address in client.get(f"/console/w/{aurora.slug}/people/").content.decode()
    assert client.post(address, {"reason": " "}).status_code == 422
    assert client.post(address, {"reason": "Lost the phone"}).status_code == 303
    assert theirs.get("/console/").status_code == 302
    assert try_to_sign_in(app.person)["Location"] == "/console/"
    with access.bound(aurora.id):
        entry = AuditEntry.objects.latest("seq")
    assert (entry.act, entry.object_id, entry.reason) == (
        "second_factor.reset",
        str(app.person.id),
        "Lost the phone",
    )


def test_nobody_resets_their_own_or_that_of_who_works_elsewhere_too(
    aurora: WorkspaceRef, boreal: WorkspaceRef, app: App, owner: Person, signed_in: SignedIn
) -> None:
    """PL-4: an owner of one workspace opens no other; the operator's command helps, with an entry."""
    client = signed_in(owner)
    assert client.post(reset_address(aurora, owner), {"reason": "Mine"}).status_code == 403
    with access.bound(boreal.id):
        people.join(person=app.person, roles=["support"], actor=factories.SYSTEM, now=timezone.now())
    assert client.post(reset_address(aurora, app.person), {"reason": "Lost"}).status_code == 403
    assert second_factor(app.person.id) is not None
    call_command("reset_second_factor", app.person.email)
    assert second_factor(app.person.id) is None
    assert (newest().act, newest().actor_kind) == ("second_factor.reset", "system")
