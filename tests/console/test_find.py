"""Finding a customer: by POST, led on to an opaque address, and never a handle anywhere else (CO-3, PL-6)."""

from collections.abc import Callable
from urllib.parse import unquote

import pytest
from django.test import Client

from tests import factories
from tests.console.conftest import SignedIn
from workspaces import access
from workspaces.models import AuditEntry, Person, Profile
from workspaces.rules.handles import canonical
from workspaces.services.profiles import handle_of
from workspaces.types import WorkspaceRef

PHONE = "+55 11 91234-5678"
EMAIL = "Marta@Example.com"


@pytest.fixture
def customer(aurora: WorkspaceRef) -> Profile:
    """Somebody about whom an agent stored something."""
    factories.make_state(aurora, subject={"type": "phone_e164", "value": PHONE})
    with access.bound(aurora.id):
        return Profile.objects.get()


@pytest.fixture
def client(support: Person, signed_in: SignedIn) -> Client:
    return signed_in(support)


def find(client: Client, workspace: WorkspaceRef, handle: str, **more: str) -> str:
    """Search; give where it leads."""
    answer = client.post(f"/console/w/{workspace.slug}/find/", {"handle": handle, **more})
    assert answer.status_code == 303
    assert answer.content == b""
    return answer["Location"]


def last_entry(workspace: WorkspaceRef) -> AuditEntry:
    with access.bound(workspace.id):
        return AuditEntry.objects.latest("seq")


@pytest.mark.parametrize(
    "handle", ["+5511912345678", "+55 (11) 91234-5678", " +55 11 9 1234 5678 ", "+55.11.91234.5678"]
)
def test_customer_is_found_in_any_spelling(
    aurora: WorkspaceRef, customer: Profile, client: Client, handle: str
) -> None:
    """CO-3, PL-6: however a number is written it leads to the same profile, whose address names nobody."""
    expected = f"/console/w/{aurora.slug}/profiles/{customer.id}/"
    assert find(client, aurora, handle) == expected
    assert find(client, aurora, handle, kind="phone_e164") == expected
    assert client.get(expected).status_code == 200


def test_customer_is_found_by_pseudonym(aurora: WorkspaceRef, customer: Profile, client: Client) -> None:
    """CO-3: what one page shows, another finds."""
    for pseudonym in (customer.pseudonym, customer.pseudonym.upper(), f" {customer.pseudonym} "):
        assert find(client, aurora, pseudonym).endswith(f"/profiles/{customer.id}/")


@pytest.mark.parametrize(
    ("handle", "more", "found"),
    [
        ("+55 11 90000-0000", {}, "none"),
        ("nobody@example.com", {}, "none"),
        ("p_00000000000000000000", {}, "none"),
        ("a" * 300, {}, "none"),
        ("", {}, "invalid"),
        ("   ", {}, "invalid"),
        ("x" * 513, {}, "invalid"),
        ("a\x00b", {}, "invalid"),
        ("12-34-56", {"kind": "phone_e164"}, "invalid"),
        ("marta", {"kind": "email"}, "invalid"),
        ("crm-7731", {"kind": "system_id"}, "invalid"),
        ("crm-7731", {"kind": "system_id", "namespace": "crm"}, "none"),
        ("crm-7731", {"kind": "unheard"}, "invalid"),
    ],
)
def test_search_that_finds_nobody_says_why_without_the_handle(
    aurora: WorkspaceRef, customer: Profile, client: Client, handle: str, more: dict[str, str], found: str
) -> None:
    """CO-3: a search without a result leads to the list, which says so and never repeats what was typed."""
    target = find(client, aurora, handle, **more)
    assert target == f"/console/w/{aurora.slug}/profiles/?found={found}"
    page = client.get(target)
    assert page.context["found"] == found
    if handle.strip():
        assert handle.strip() not in page.content.decode()


def test_customer_of_another_workspace_is_nobody_here(
    aurora: WorkspaceRef, boreal: WorkspaceRef, customer: Profile, signed_in: SignedIn
) -> None:
    """PL-1: the same search in another workspace finds nobody, and the profile's page is not there."""
    client = signed_in(factories.make_person(boreal, "support"))
    assert find(client, boreal, PHONE).endswith("?found=none")
    for tab in ("", "working-memory/"):
        assert client.get(f"/console/w/{boreal.slug}/profiles/{customer.id}/{tab}").status_code == 404


def test_search_is_audited_without_what_was_searched(
    aurora: WorkspaceRef, customer: Profile, client: Client, support: Person
) -> None:
    """PR-21: who searched, and whom it found, stands in the log; the handle does not."""
    find(client, aurora, PHONE)
    hit = last_entry(aurora)
    assert (hit.act, hit.actor_id, hit.object_id) == ("profile.find", str(support.id), str(customer.id))
    find(client, aurora, "nobody@example.com")
    miss = last_entry(aurora)
    assert (miss.act, miss.object_id, miss.facts) == ("profile.find", "", {"found": False})


def test_views_of_a_profile_are_audited(
    aurora: WorkspaceRef, customer: Profile, client: Client, support: Person
) -> None:
    """CO-7, WM-23: opening a tab of a profile is an entry, whether the feature is on or off."""
    address = f"/console/w/{aurora.slug}/profiles/{customer.id}/"
    seen = []
    for tab in ("", "working-memory/"):
        client.get(f"{address}{tab}")
        seen.append(last_entry(aurora))
    factories.switch(aurora, "agent_state", on=False)
    client.get(f"{address}working-memory/")
    seen.append(last_entry(aurora))
    assert [(entry.act, entry.facts["what"]) for entry in seen] == [
        ("profile.view", "overview"),
        ("profile.view", "agent_state"),
        ("profile.view", "agent_state"),
    ]
    assert {(entry.actor_id, entry.object_id) for entry in seen} == {(str(support.id), str(customer.id))}


def test_handle_is_in_no_address_header_and_log(
    aurora: WorkspaceRef, customer: Profile, client: Client, written_log: Callable[[], str]
) -> None:
    """CO-3: the way from the box to the metadata leaves the handle nowhere."""
    target = find(client, aurora, PHONE)
    pages = [client.get(target), client.get(f"{target}working-memory/")]
    find(client, aurora, "+55 11 90000-0000")
    sent = [unquote(str(page.headers)) + page.content.decode() for page in pages]
    for trace in ("91234", "912345678", "90000"):
        assert not any(trace in text for text in [written_log(), unquote(target), *sent])


def test_working_memory_tab_shows_metadata(aurora: WorkspaceRef, customer: Profile, client: Client) -> None:
    """WM-23: agent, scope kind, type, size, version and dates are there."""
    page = client.get(f"/console/w/{aurora.slug}/profiles/{customer.id}/working-memory/")
    (state,) = page.context["states"]
    assert (state.agent, state.scope_kind, state.type, state.version, state.fields) == (
        "order-taker",
        "conversation",
        "order",
        1,
        1,
    )
    text = page.content.decode()
    assert "Only metadata is shown." in text
    assert "order-taker" in text


def test_working_memory_tab_of_an_empty_profile_says_so(aurora: WorkspaceRef, client: Client) -> None:
    """CO-8: a profile without states says that there are none."""
    with access.bound(aurora.id):
        known = handle_of(workspace=aurora, value=canonical("email", EMAIL), now=factories.LATELY)
    profile = known.profile
    page = client.get(f"/console/w/{aurora.slug}/profiles/{profile.id}/working-memory/").content.decode()
    assert "No agent has stored state about this profile." in page


def test_working_memory_tab_says_when_the_feature_is_off_and_by_whom(
    aurora: WorkspaceRef, customer: Profile, client: Client
) -> None:
    """CO-8: "off" looks unlike "empty": since when, by whom, and who can switch it on."""
    factories.switch(aurora, "agent_state", on=False)
    page = client.get(f"/console/w/{aurora.slug}/profiles/{customer.id}/working-memory/").content.decode()
    assert "Working memory is off in this workspace" in page
    assert "has been off since" in page
    assert "(tests)" in page
    assert "The security role can switch it on." in page
