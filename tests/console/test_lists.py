"""Lists go both ways, keep their filters, and ask the database the same number of questions for any length (CO-4)."""

from datetime import datetime, timedelta
from html import unescape
from urllib.parse import parse_qs, urlsplit
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assembly.models import ContextAssembly
from privacy.services import erasures
from privacy.services.erasures import Asker
from privacy.types import Target
from tests import factories
from tests.console.assembled import keep_assemblies
from tests.console.conftest import SignedIn
from workspaces import access
from workspaces.models import (
    ApiKey,
    FourEyes,
    Hold,
    Invitation,
    Membership,
    Person,
    PersonalToken,
    Profile,
    Source,
)
from workspaces.types import WorkspaceRef

MANY = 30
PAGE = 50
ONE_PHONE = "+5511900000000"
EVERY_ROLE = ("owner", "security", "privacy", "support", "engineer", "auditor")


@pytest.fixture
def everything(aurora: WorkspaceRef) -> Person:
    """Somebody with every role."""
    return factories.make_person(aurora, *EVERY_ROLE, name="Eva")


@pytest.fixture
def client(everything: Person, signed_in: SignedIn) -> Client:
    return signed_in(everything)


def add_keys(count: int, *, expires_at: datetime | None = None) -> None:
    """Make keys of the bound workspace, one a second, the first one the oldest."""
    source, _ = Source.objects.get_or_create(name="kiosk", defaults={"created_at": factories.LATELY})
    ApiKey.objects.bulk_create(
        ApiKey(
            source=source,
            name=f"key {number}",
            scopes=["agent_state"],
            agents=[],
            networks=[],
            key_id=uuid4().hex[:12],
            secret_hash=uuid4().bytes * 2,
            expires_at=expires_at,
            created_at=factories.LATELY + timedelta(seconds=number),
        )
        for number in range(count)
    )


def add_people(count: int) -> None:
    people = Person.objects.bulk_create(
        Person(email=f"{uuid4().hex}@example.com", name=f"Person {number}", joined_at=factories.LATELY)
        for number in range(count)
    )
    Membership.objects.bulk_create(Membership(person=person, joined_at=factories.LATELY) for person in people)
    Invitation.objects.bulk_create(
        Invitation(
            email=person.email,
            roles=["support"],
            token_hash=uuid4().bytes * 2,
            invited_by=person,
            made_at=factories.LATELY,
            expires_at=timezone.now() + timedelta(days=1),
        )
        for person in people
    )


def add_states(workspace: WorkspaceRef, *phones: str) -> None:
    """Store a state about each of these people, by two agents in turn."""
    for number, phone in enumerate(phones):
        factories.make_state(
            workspace,
            agent="order-taker" if number % 2 else "closing",
            subject={"type": "phone_e164", "value": phone},
        )


def two_agents() -> dict[str, object]:
    return factories.order_type(agents=["order-taker", "closing"])


def queries(client: Client, address: str) -> int:
    """Count the questions that a page asks, after one visit that fills what a process keeps."""
    assert client.get(address).status_code == 200
    with CaptureQueriesContext(connection) as captured:
        client.get(address)
    return len(captured)


def test_keys_ask_as_much_for_many_as_for_one(aurora: WorkspaceRef, client: Client) -> None:
    """CO-4, CO-13: no query is run for each key."""
    address = f"/console/w/{aurora.slug}/keys/"
    with access.bound(aurora.id):
        add_keys(1)
        few = queries(client, address)
        add_keys(MANY)
    assert queries(client, address) == few


def test_people_ask_as_much_for_many_as_for_one(aurora: WorkspaceRef, client: Client) -> None:
    """CO-4, CO-13: no query is run for each person or invitation."""
    address = f"/console/w/{aurora.slug}/people/"
    with access.bound(aurora.id):
        add_people(1)
        few = queries(client, address)
        add_people(MANY)
    assert queries(client, address) == few


def test_profiles_ask_as_much_for_many_as_for_one(aurora: WorkspaceRef, client: Client) -> None:
    """CO-4, CO-13: no query is run for each profile, its hints and its states included."""
    address = f"/console/w/{aurora.slug}/profiles/"
    factories.publish_types(aurora, two_agents())
    add_states(aurora, ONE_PHONE)
    few = queries(client, address)
    add_states(aurora, *(f"+55119100000{number:02}" for number in range(MANY)))
    assert queries(client, address) == few
    assert len(client.get(address).context["profiles"]) == MANY + 1


def test_assemblies_ask_as_much_for_many_as_for_one(aurora: WorkspaceRef, client: Client) -> None:
    """CO-4, CO-13: no query is run for each assembly, its conversation and its source."""
    made = keep_assemblies(aurora, {"type": "phone_e164", "value": ONE_PHONE}, word="kept")
    address = f"/console/w/{aurora.slug}/assemblies/"
    few = queries(client, address)
    with access.bound(aurora.id):
        row = ContextAssembly.objects.get(id=made.plain)
        for _ in range(MANY):
            row.pk = None
            row.save(force_insert=True)
    assert queries(client, address) == few
    assert len(client.get(address).context["assemblies"]) == MANY + 2


def test_states_ask_as_much_for_many_as_for_one(aurora: WorkspaceRef, client: Client) -> None:
    """CO-4, CO-13, WM-23: no query is run for each state of a profile."""
    factories.publish_types(aurora, two_agents())
    add_states(aurora, *[ONE_PHONE] * 2)
    with access.bound(aurora.id):
        profile = Profile.objects.get()
    address = f"/console/w/{aurora.slug}/profiles/{profile.id}/working-memory/"
    few = queries(client, address)
    add_states(aurora, *[ONE_PHONE] * MANY)
    assert queries(client, address) == few
    assert len(client.get(address).context["states"]) == MANY + 2


def add_requests(workspace: WorkspaceRef, count: int) -> None:
    """Ask for the erasure of conversations that wait for an approval."""
    FourEyes.objects.update(kinds=["erasure"])
    for _ in range(count):
        erasures.request_erasure(
            workspace=workspace,
            target=Target(kind="conversation", scope_id=uuid4().hex),
            asker=Asker(factories.SYSTEM),
            now=timezone.now(),
        )


def add_holds(count: int, profiles: list[UUID]) -> None:
    now = timezone.now()
    Hold.objects.bulk_create(
        Hold(profile_id=id, reason="Case", placed_at=now, ends_at=now + timedelta(days=1))
        for id in profiles[:count]
    )


def test_erasures_ask_as_much_for_many_as_for_one(aurora: WorkspaceRef, client: Client) -> None:
    """CO-4, CO-13, PR-17: no query is run for each request."""
    address = f"/console/w/{aurora.slug}/erasures/"
    with access.bound(aurora.id):
        add_requests(aurora, 1)
        few = queries(client, address)
        add_requests(aurora, MANY)
    assert queries(client, address) == few
    assert len(client.get(address).context["erasures"]) == MANY + 1


def test_holds_ask_as_much_for_many_as_for_one(aurora: WorkspaceRef, client: Client) -> None:
    """CO-4, CO-13, PR-16: no query is run for each hold, nor for each held profile."""
    address, people = f"/console/w/{aurora.slug}/holds/", f"/console/w/{aurora.slug}/profiles/"
    with access.bound(aurora.id):
        rows = [
            Profile(
                id=uuid4(), pseudonym=f"p_{n}", created_at=factories.LATELY, last_seen_at=factories.LATELY
            )
            for n in range(MANY)
        ]
        Profile.objects.bulk_create(rows)
        add_holds(1, [row.id for row in rows])
        few = queries(client, address), queries(client, people)
        add_holds(MANY, [row.id for row in rows])
    assert (queries(client, address), queries(client, people)) == few
    assert len(client.get(address).context["holds"]) == MANY + 1


def test_types_ask_as_much_for_many_as_for_one(aurora: WorkspaceRef, client: Client) -> None:
    """CO-4, CO-13: no query is run for each object type."""
    addresses = [f"/console/w/{aurora.slug}/types/", f"/console/w/{aurora.slug}/types/order/"]
    few = [queries(client, address) for address in addresses]
    more = [factories.order_type(type=f"type_{number}", agents=[f"agent-{number}"]) for number in range(MANY)]
    factories.publish_types(aurora, factories.order_type(), *more)
    assert [queries(client, address) for address in addresses] == few


def test_audit_asks_as_much_for_many_as_for_one(aurora: WorkspaceRef, client: Client) -> None:
    """CO-4, CO-13: no query is run for each entry."""
    address = f"/console/w/{aurora.slug}/audit/?action=feature.*"
    few = queries(client, address)
    for _ in range(MANY // 2):
        factories.switch(aurora, "history", on=True)
        factories.switch(aurora, "history", on=False)
    assert queries(client, address) <= few + 1  # one more act is known: feature.disable


def test_tokens_ask_as_much_for_many_as_for_one(
    aurora: WorkspaceRef, client: Client, everything: Person
) -> None:
    """CO-4, CO-13: no query is run for each token."""

    def add(count: int) -> None:
        PersonalToken.objects.bulk_create(
            PersonalToken(
                person=everything,
                name="script",
                permissions=["view_audit"],
                key_id=uuid4().hex[:12],
                secret_hash=uuid4().bytes * 2,
                created_at=factories.LATELY,
                expires_at=timezone.now() + timedelta(days=1),
            )
            for _ in range(count)
        )

    with access.bound(aurora.id):
        add(1)
        few = queries(client, "/console/me/")
        add(MANY)
    assert queries(client, "/console/me/") == few


def links(page: str) -> dict[str, str]:
    """Give where the pager leads, by the words on its buttons."""
    found = {}
    for part in page.rsplit('class="pager"', maxsplit=1)[-1].split("<a ")[1:]:
        address = unescape(part.split('href="')[1].split('"')[0])
        found[part.split(">")[1].split("<")[0]] = address
    return {name: found[name] for name in ("Newer", "Older") if name in found}


def names(client: Client, address: str) -> list[str]:
    return [key.name for key in client.get(address).context["keys"]]


def test_list_goes_both_ways_and_keeps_its_filters(aurora: WorkspaceRef, client: Client) -> None:
    """CO-4: older, older, newer, newer shows the same pages again, with the filter kept in each address."""
    with access.bound(aurora.id):
        add_keys(2 * PAGE + 7, expires_at=timezone.now() + timedelta(days=90))
        ApiKey.objects.filter(name="key 50").update(revoked_at=timezone.now())
    start = f"/console/w/{aurora.slug}/keys/?state=active&scope=agent_state"
    first = names(client, start)
    assert first[0] == f"key {2 * PAGE + 6}"
    way = [start]
    for turn in ("Older", "Older", "Newer", "Newer"):
        found = links(client.get(way[-1]).content.decode())
        query = parse_qs(urlsplit(found[turn]).query)
        assert (query["state"], query["scope"]) == (["active"], ["agent_state"])
        assert not {"newer", "older"} <= query.keys()
        way.append(found[turn])
    pages = [names(client, address) for address in way]
    assert pages[0] == pages[4]
    assert pages[1] == pages[3]
    seen = [*pages[0], *pages[1], *pages[2]]
    assert seen == [f"key {number}" for number in range(2 * PAGE + 6, -1, -1) if number != 50]
    assert list(links(client.get(way[0]).content.decode())) == ["Older"]
    assert list(links(client.get(way[2]).content.decode())) == ["Newer"]


def test_list_of_one_page_has_no_pager_buttons(aurora: WorkspaceRef, client: Client) -> None:
    """CO-4: there is nowhere to go where everything is shown."""
    with access.bound(aurora.id):
        add_keys(PAGE)
    assert links(client.get(f"/console/w/{aurora.slug}/keys/").content.decode()) == {}


@pytest.mark.parametrize("cursor", ["x", "AAAA", "ÿ", "\x00", "a" * 4000, "kdlvAAAAAAA="])
@pytest.mark.parametrize("place", ["keys/", "audit/", "profiles/"])
def test_cursor_that_no_list_gave_is_refused_with_a_page(
    aurora: WorkspaceRef, client: Client, place: str, cursor: str
) -> None:
    """CO-4: a torn address is answered with a way back to the list."""
    for name in ("older", "newer"):
        answer = client.get(f"/console/w/{aurora.slug}/{place}", {name: cursor})
        assert answer.status_code == 422
        assert f'href="/console/w/{aurora.slug}/{place}"' in answer.content.decode()


@pytest.mark.parametrize(
    "value", ["x", "\x00", "a" * 4000, "9" * 5000, "9999-12-31", "0001-01-01", "2026-02-31", "%"]
)
def test_filter_that_cannot_be_is_no_error(aurora: WorkspaceRef, client: Client, value: str) -> None:
    """CO-4: whatever an address says of a filter, a page comes."""
    factories.make_state(aurora, subject={"type": "email", "value": "m@example.com"})
    with access.bound(aurora.id):
        profile = Profile.objects.get()
    asked = {
        "keys/": ("state", "scope"),
        "audit/": ("actor", "action", "object", "from", "to"),
        f"profiles/{profile.id}/working-memory/": ("agent", "scope", "type"),
        "profiles/": ("found",),
    }
    for place, filters in asked.items():
        for name in filters:
            answer = client.get(f"/console/w/{aurora.slug}/{place}", {name: value})
            assert answer.status_code == 200, (place, name)


@pytest.mark.parametrize("value", ["0", "99", "9" * 9, "9" * 5000, "x", "٣", "\x00"])
def test_version_that_does_not_exist_is_no_error(aurora: WorkspaceRef, client: Client, value: str) -> None:
    """CO-4: whatever an address says of a version, that one or the live one is shown, or there is no such page."""
    for place in ("documents/masking/", "types/order/"):
        answer = client.get(f"/console/w/{aurora.slug}/{place}", {"version": value})
        assert answer.status_code in {200, 404}, place


def test_filters_of_working_memory_narrow_the_list_and_can_be_taken_back(
    aurora: WorkspaceRef, client: Client
) -> None:
    """CO-4: each filter offers what is there, narrows the list, and has a chip that takes it out again."""
    factories.publish_types(aurora, two_agents())
    add_states(aurora, *[ONE_PHONE] * 3)
    with access.bound(aurora.id):
        profile = Profile.objects.get()
    address = f"/console/w/{aurora.slug}/profiles/{profile.id}/working-memory/"
    page = client.get(f"{address}?agent=closing&scope=conversation")
    offered = {each.name: [value for value, _ in each.choices] for each in page.context["filters"]}
    assert offered == {"agent": ["closing", "order-taker"], "scope": ["conversation"], "type": ["order"]}
    assert [state.agent for state in page.context["states"]] == ["closing", "closing"]
    text = page.content.decode()
    assert f'href="{address}?scope=conversation"' in text
    assert f'href="{address}">Clear all' in text
    nothing = client.get(f"{address}?agent=nobody").content.decode()
    assert "No state fits these filters" in nothing
