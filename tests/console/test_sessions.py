"""Where a person is signed in: shown, ended, kept, and over (PL-4)."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from console.sessions import id_of
from tests.console.conftest import SignedIn
from tests.console.test_sign_in import SIGN_IN
from tests.factories import PASSWORD
from tests.tables.rights import PERSONAL_ACTS
from workspaces.models import DeploymentAuditEntry, Person, StaffSession
from workspaces.services import sessions

ME, STAY = "/console/me/", "/console/stay/"


def signed_in_from(person: Person, address: str, browser: str) -> Client:
    """Give a browser that signed in from an address."""
    client = Client(REMOTE_ADDR=address, headers={"User-Agent": browser})
    client.post(SIGN_IN, {"username": person.email, "password": PASSWORD})
    return client


@pytest.fixture(autouse=True)
def _no_other_sessions(db: None) -> None:
    """Begin without the sessions that browsers of other tests left."""
    StaffSession.objects.all().delete()


@pytest.fixture
def here(security: Person) -> Client:
    return signed_in_from(security, "192.0.2.1", "Firefox")


@pytest.fixture
def there(security: Person) -> Client:
    return signed_in_from(security, "192.0.2.2", "x" * 300)


def end_address(client: Client) -> str:
    return f"/console/me/sessions/{id_of(client.session.session_key or '')}/end/"


def test_page_says_where_since_when_and_when_last(here: Client, there: Client) -> None:
    """PL-4: each session with its address, its browser and its times; never its key."""
    page = here.get(ME)
    rows = {row.address: row for row in page.context["sessions"]}
    assert set(rows) == {"192.0.2.1", "192.0.2.2"}
    assert (rows["192.0.2.1"].is_this, rows["192.0.2.2"].is_this) == (True, False)
    assert (rows["192.0.2.1"].browser, rows["192.0.2.2"].browser) == ("Firefox", "x" * 200)
    text, now = page.content.decode(), timezone.now()
    assert all(row.began_at <= row.seen_at <= now for row in rows.values())
    assert not any(str(client.session.session_key) in text for client in (here, there))


def test_last_seen_moves_and_the_beginning_stays(here: Client) -> None:
    """PL-4: each request is seen."""
    (first,) = here.get(ME).context["sessions"]
    (second,) = here.get(ME).context["sessions"]
    assert first.began_at == second.began_at
    assert first.seen_at < second.seen_at


def test_one_session_is_ended_and_audited(here: Client, there: Client) -> None:
    """PL-4, PR-21: the other browser is signed out at once."""
    assert here.post(end_address(there))["Location"] == ME
    assert there.get(ME).status_code == 302
    assert here.get(ME).status_code == 200
    entry = DeploymentAuditEntry.objects.latest("seq")
    assert (entry.act, entry.object_kind) == ("session.end", "session")


def test_all_others_are_ended_at_once(security: Person, here: Client, there: Client) -> None:
    """PL-4, PR-21: the browser that asks stays; the entry says how many there were."""
    third = signed_in_from(security, "192.0.2.3", "")
    here.post("/console/me/sessions/end/")
    assert [client.get(ME).status_code for client in (here, there, third)] == [200, 302, 302]
    assert DeploymentAuditEntry.objects.latest("seq").facts == {"sessions": 2}


def test_session_of_somebody_else_is_not_there(support: Person, here: Client, signed_in: SignedIn) -> None:
    """PL-19: no session is ended by guessing its name."""
    other = signed_in(support)
    for address in (end_address(here), f"/console/me/sessions/{uuid4()}/end/"):
        assert other.post(address).status_code == 404
    assert here.get(ME).status_code == 200


@pytest.mark.parametrize("name", PERSONAL_ACTS)
def test_acts_on_what_is_ones_own_are_for_who_is_signed_in(db: None, name: str) -> None:
    """PL-2: anybody else is led to the sign-in."""
    paths = {
        "console:stay": STAY,
        "console:session_end": f"/console/me/sessions/{uuid4()}/end/",
        "console:sessions_end": "/console/me/sessions/end/",
        "console:second_factor_off": "/console/me/second-factor/off/",
        "console:second_factor_codes": "/console/me/second-factor/codes/",
    }
    answer = Client().post(paths[name])
    assert answer.status_code == 302
    assert answer["Location"].startswith(SIGN_IN)


def test_staying_keeps_the_session_and_nothing_else(here: Client) -> None:
    """PL-4, CO-11: what the warning's button sends; only a form with the token of this site can."""
    StaffSession.objects.update(expire_date=timezone.now() + timedelta(minutes=1))
    assert here.post(STAY).status_code == 204
    assert StaffSession.objects.get().expire_date > timezone.now() + timedelta(minutes=29)
    assert here.get(STAY).status_code == 405


def test_page_of_an_ended_session_says_why_one_signs_in_again(here: Client) -> None:
    """CO-11: without JavaScript too; who comes for the first time is told nothing of the kind."""
    StaffSession.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    away = here.get(ME)
    assert away["Location"] == f"{SIGN_IN}?next={ME}&ended=1"
    assert "You were signed out" in here.get(away["Location"]).content.decode()
    assert "You were signed out" not in Client().get(SIGN_IN).content.decode()
    assert Client().get(ME)["Location"] == f"{SIGN_IN}?next={ME}"


def test_sessions_that_are_over_are_removed(here: Client, there: Client) -> None:
    """PL-4: no list of addresses is kept for longer than the sessions."""
    StaffSession.objects.filter(address="192.0.2.2").update(expire_date=timezone.now())
    assert sessions.forget_expired(now=timezone.now()) == 1
    assert StaffSession.objects.get().address == "192.0.2.1"
