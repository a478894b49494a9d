"""Every page as everybody: who gets in, what is around it, and what is never in it (PL-2, CO-2, CO-8, CO-12)."""

import pytest
from django.http.response import HttpResponseBase
from django.test import Client
from django.urls import resolve

from tests import factories
from tests.api import InProcess
from tests.console.conftest import SignedIn
from tests.console.house import (
    CANARY,
    EVERY_ROLE,
    EVERYBODY,
    MEMBERS,
    NOBODY,
    SCOPE_ID,
    SECRETS,
    STRANGER,
    WITHOUT_ROLE,
    House,
    page_names,
)
from tests.tables.rights import HELD, OPEN_PAGES, OPERATORS, PAGES, PERSONAL, Page
from workspaces.rules.rights import PERMISSIONS

POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
}
FORMS = [row.name.removeprefix("console:") for row in PAGES if "POST" in row.methods]
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

each_page = pytest.mark.parametrize("row", PAGES, ids=lambda row: row.name)
as_everybody = pytest.mark.parametrize("who", EVERYBODY)


@pytest.fixture
def client_of(house: House, signed_in: SignedIn) -> dict[str, Client]:
    """Clients by the word for who uses them."""
    clients = {name: signed_in(person) for name, person in house.people.items()}
    return clients | {NOBODY: Client()}


def expected(row: Page, who: str) -> int:
    """Give the status that the table of rights gives a person."""
    if who in {NOBODY, STRANGER}:
        return 302 if who == NOBODY else 404
    return row.status_for("" if who == WITHOUT_ROLE else who)


@each_page
@as_everybody
def test_every_page_as_everybody(house: House, signed_in: SignedIn, row: Page, who: str) -> None:
    """PL-2: a page opens to the roles of its row; 403 to other members, 404 to strangers, the sign-in to nobody."""
    client = Client() if who == NOBODY else signed_in(house.people[who])
    address = house.address(row.name.removeprefix("console:"), who)
    answer = client.generic(row.methods[0], address)
    assert answer.status_code == expected(row, who)
    if "POST" in row.methods and answer.status_code in {302, 403, 404}:
        assert client.post(address, {"reason": "For a test"}).status_code == answer.status_code


@each_page
def test_every_page_refuses_other_methods(house: House, signed_in: SignedIn, row: Page) -> None:
    """PL-2: a page takes the methods of its row and no other, so that none of them is a way around it."""
    client = signed_in(house.people["owner"])
    address = house.address(row.name.removeprefix("console:"), "owner")
    others = [method for method in METHODS if method not in row.methods and row.name != "console:workspace"]
    assert {client.generic(method, address).status_code for method in others} <= {405}


@pytest.mark.parametrize("name", PERSONAL)
def test_pages_of_a_person_are_for_who_is_signed_in(house: House, signed_in: SignedIn, name: str) -> None:
    """PL-2: what belongs to a person is theirs, whatever their role, and leads anybody else to the sign-in."""
    address = house.address(name.removeprefix("console:"))
    statuses = {who: signed_in(person).get(address).status_code for who, person in house.people.items()}
    assert set(statuses.values()) == {200}
    away = Client().get(address)
    assert (away.status_code, away["Location"]) == (302, f"/console/sign-in/?next={address}")


@pytest.mark.parametrize("name", OPERATORS)
def test_pages_of_the_deployment_are_for_who_operates_it(
    house: House, signed_in: SignedIn, name: str
) -> None:
    """PL-2, CO-8: one of the permissions in any workspace opens them; others learn which, and who can give it."""
    address = house.address(name.removeprefix("console:"))
    for who in MEMBERS:
        answer = signed_in(house.people[who]).get(address)
        opens = any(who in HELD[each] for each in OPERATORS[name])
        assert answer.status_code == (200 if opens else 403), who
        assert opens or "These people can give it to you: Eva, Owner." in answer.content.decode()
    assert Client().get(address).status_code == 302


@each_page
def test_forbidden_page_names_the_permission_and_who_can_give_it(
    house: House, signed_in: SignedIn, row: Page
) -> None:
    """CO-8: a deep link without permission says which one is missing and which people can give it."""
    if not row.any_of:
        return
    client = signed_in(house.people[WITHOUT_ROLE])
    answer = client.generic(row.methods[0], house.address(row.name.removeprefix("console:")))
    text = answer.content.decode()
    assert "You may not open this page" in text
    assert PERMISSIONS[row.any_of[0]] in text
    assert f"<code>{row.any_of[0]}</code>" in text
    assert "These people can give it to you: Eva, Owner." in text


@pytest.mark.parametrize("who", MEMBERS)
def test_navigation_leads_only_where_a_person_may_go(house: House, signed_in: SignedIn, who: str) -> None:
    """PL-2: what a person may not open is absent from the navigation, and everything in it opens."""
    client = signed_in(house.people[who])
    groups = client.get(house.address("features")).context["nav"]
    items = {item.url for group in groups for item in group.items}
    assert {client.get(url).status_code for url in items} == {200}
    offered = {f"console:{resolve(url).url_name}" for url in items}
    opened = {row.name for row in PAGES if expected(row, who) == 200}
    operated = {name for name, any_of in OPERATORS.items() if any(who in HELD[each] for each in any_of)}
    assert offered <= opened | operated | {"console:home"}


@pytest.mark.parametrize(
    "name",
    [
        "types_draft",
        "document_draft",
        "type",
        "document",
        "key_new",
        "audit_entry",
        "profile",
        "approval",
        "four_eyes",
        "package",
        "erasure",
        "hold_new",
        "retention",
        "assembly",
        "assembly_why",
        "assembly_compare",
        "profile_assemblies",
        "usage",
        "jobs",
        "job",
    ],
)
def test_navigation_shows_where_one_is(house: House, signed_in: SignedIn, name: str) -> None:
    """CO-11: exactly one place of the navigation is the current one, on the pages below it too."""
    groups = signed_in(house.people[EVERY_ROLE]).get(house.address(name)).context["nav"]
    current = [str(item.title) for group in groups for item in group.items if item.current]
    places = {
        "type": "Object types",
        "docu": "Documents",
        "key_": "API keys",
        "audi": "Audit log",
        "prof": "Profiles",
        "eras": "Erasure requests",
        "hold": "Legal holds",
        "rete": "Retention",
        "appr": "Approvals",
        "four": "Approvals",
        "pack": "Subject packages",
        "asse": "Assemblies",
        "usag": "Usage",
        "jobs": "Jobs",
        "job": "Jobs",
    }
    assert current == [places[name[:4]]]


def test_overview_leads_into_the_only_workspace(house: House, signed_in: SignedIn) -> None:
    """CO-3: who has one workspace finds its navigation and its find box on the overview too; who has two chooses."""
    one = signed_in(house.people["support"]).get(house.address("home"))
    assert f'action="{house.address("find")}"' in one.content.decode()
    assert [str(item.title) for group in one.context["nav"] for item in group.items][1:] == [
        "Profiles",
        "Features",
    ]
    two = signed_in(house.people[EVERY_ROLE]).get(house.address("home"))
    assert len(two.context["nav"]) == 1


def assert_guarded(answer: HttpResponseBase) -> None:
    """Check what is around each page: the policy, exactly, and no cache (CO-2)."""
    directives = answer["Content-Security-Policy"].split("; ")
    assert len(directives) == len(POLICY)
    assert set(directives) == POLICY
    assert "no-store" in answer["Cache-Control"]
    assert answer["X-Frame-Options"] == "DENY"


def every_answer(house: House, client: Client, who: str) -> dict[str, bytes]:
    """Ask for every page there is, and for every form as a dialog and unfilled; give what came back."""
    asked = [(name, client.get(house.address(name, who))) for name in page_names()]
    for name in FORMS:
        address = house.address(name, who)
        asked.append((f"{name} in a dialog", client.get(address, headers={"HX-Target": "dlg"})))
        asked.append((f"{name} unfilled", client.post(address)))
    return {name: str(answer.headers).encode() + answer.getvalue() for name, answer in asked}


MOST_CURIOUS = ("privacy", "support", NOBODY)


@pytest.mark.parametrize(
    "who",
    [name if name in MOST_CURIOUS else pytest.param(name, marks=pytest.mark.long) for name in EVERYBODY],
)
def test_no_page_shows_content(house: House, client_of: dict[str, Client], who: str) -> None:
    """CO-12, WM-24: nobody finds a stored value, a scope id, a handle or a key in any answer of any page."""
    secrets = [*SECRETS, house.key_text, house.key_text.rpartition("_")[2][12:]]
    for name, body in every_answer(house, client_of[who], who).items():
        found = [secret for secret in secrets if secret.encode() in body]
        assert not found, name


def test_canary_would_be_found(house: House, db: None) -> None:
    """CO-12: what the test searches for is what is stored."""
    read = InProcess(house.key_text).read(factories.scope(f"{SCOPE_ID}-0"))
    assert read.body["body"]["remark"] == CANARY


def test_every_page_has_the_policy_and_stays_out_of_caches(
    house: House, client_of: dict[str, Client]
) -> None:
    """CO-2: the exact policy, no framing and no caching, on every page for everybody."""
    for who in ("security", "support", NOBODY):
        for name in page_names():
            assert_guarded(client_of[who].get(house.address(name, who)))


@pytest.mark.parametrize("path", ["/console/nowhere/", "/nowhere", "/console/w/nowhere/features/", "/v2/"])
def test_page_that_does_not_exist_has_the_policy_too(
    house: House, client_of: dict[str, Client], path: str
) -> None:
    """CO-2: an unknown address is answered with a page of ours under the policy."""
    answer = client_of["security"].get(path)
    assert answer.status_code == 404
    assert "There is no such page" in answer.content.decode()
    assert_guarded(answer)


def test_request_that_cannot_be_read_has_the_policy_too(house: House, client_of: dict[str, Client]) -> None:
    """CO-2, PL-19: a foreign host name and a form with too many fields are refused with a page of ours."""
    too_many = {f"field{number}": "" for number in range(1001)}
    answers = [
        client_of["security"].get("/console/", headers={"Host": "elsewhere.example"}),
        client_of["security"].post(house.address("key_new"), too_many),
    ]
    for answer in answers:
        assert answer.status_code == 400
        assert "This request could not be read" in answer.content.decode()
        assert_guarded(answer)


def test_page_that_fails_has_the_policy_and_says_nothing_of_why(
    house: House, client_of: dict[str, Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """CO-2, PL-19: an error nobody expected is answered with a page of ours, without its text."""
    monkeypatch.setattr("console.views.features.changes_of", lambda *_, **__: 1 / 0)
    answer = client_of["security"].get(house.address("features"))
    assert answer.status_code == 500
    assert_guarded(answer)
    text = answer.content.decode()
    assert "Something went wrong here" in text
    assert "division" not in text


def test_what_is_no_page_meets_no_session(db: None) -> None:
    """PL-10: the API and the health checks are answered without session, cookie or policy for pages."""
    for path in ("/healthz", "/readyz", "/v1/nowhere"):
        answer = Client().get(path)
        assert not answer.cookies
        assert "Content-Security-Policy" not in answer


def test_open_pages_are_open(house: House, db: None) -> None:
    """PL-2: who is not signed in gets the sign-in, an invitation and a new password, and nothing else."""
    statuses = {
        name: Client().get(house.address(name.removeprefix("console:"))).status_code for name in OPEN_PAGES
    }
    only_post = {"console:sign_out", "console:theme", "console:language"}
    assert statuses.pop("console:sign_in_code") == 303
    # There is no provider unless the settings name one.
    assert {statuses.pop(name) for name in ("console:openid", "console:openid_done")} == {404}
    assert {name for name, status in statuses.items() if status == 405} == only_post
    # The link for a new password goes on without its token in the address.
    assert {name for name, status in statuses.items() if status == 302} == {"console:password_reset_confirm"}
    opened = {name for name, status in statuses.items() if status == 200}
    assert opened == statuses.keys() - only_post - {"console:password_reset_confirm"}
