"""People and roles: now and after shown before anything changes, and nobody changes their own (PL-2, CO-5)."""

from typing import Any

import pytest
from django.test import Client

from tests import factories
from tests.console.conftest import SignedIn
from workspaces import access
from workspaces.models import AuditEntry, Person
from workspaces.selectors.people import roles_of
from workspaces.types import WorkspaceRef


@pytest.fixture
def client(owner: Person, signed_in: SignedIn) -> Client:
    return signed_in(owner)


def roles_page(workspace: WorkspaceRef, person: Person) -> str:
    return f"/console/w/{workspace.slug}/people/{person.id}/roles/"


def held(workspace: WorkspaceRef, person: Person) -> tuple[str, ...]:
    with access.bound(workspace.id):
        return roles_of(person)


def test_roles_change_in_two_steps(aurora: WorkspaceRef, client: Client, support: Person) -> None:
    """CO-5, PL-2: the first step changes nothing and shows what is gained and lost; the second does it, audited."""
    address, wish = (
        roles_page(aurora, support),
        {"roles": ["engineer"], "reason": "Moves to the platform team"},
    )
    shown: Any = client.post(address, {**wish, "step": "choose"})
    assert held(aurora, support) == ("support",)
    text = shown.content.decode()
    assert "Gains: Propose a version of a document" in text
    assert "Loses: Find a profile by a handle or a pseudonym" in text
    assert "btn-danger" in text
    hidden = shown.context["form"]
    assert [field.name for field in hidden if field.is_hidden] == ["roles", "reason", "step"]
    form = {field.name: field.value() for field in hidden}
    assert form["step"] == "confirm"
    assert client.post(address, form)["Location"] == f"/console/w/{aurora.slug}/people/"
    assert held(aurora, support) == ("engineer",)
    with access.bound(aurora.id):
        entry = AuditEntry.objects.latest("seq")
    assert (entry.act, entry.reason) == ("role.change", "Moves to the platform team")
    assert (entry.facts["before"], entry.facts["after"]) == (["support"], ["engineer"])


def test_new_roles_hold_at_the_next_request(
    aurora: WorkspaceRef, client: Client, support: Person, signed_in: SignedIn
) -> None:
    """PL-2: a session that was open before has the new rights and has lost the old ones."""
    theirs = signed_in(support)
    page = f"/console/w/{aurora.slug}/profiles/"
    assert theirs.get(page).status_code == 200
    form = {"roles": [], "reason": "Leaves the team", "step": "confirm"}
    assert client.post(roles_page(aurora, support), form).status_code == 303
    assert theirs.get(page).status_code == 403
    assert theirs.get(f"/console/w/{aurora.slug}/features/").status_code == 200


def test_nobody_changes_their_own_roles(aurora: WorkspaceRef, client: Client, owner: Person) -> None:
    """PL-2: not by the page, not by either step of its form; and the list offers no way to it."""
    address = roles_page(aurora, owner)
    answers = [
        client.get(address),
        client.post(address, {"roles": ["owner", "security"], "reason": "x", "step": "choose"}),
        client.post(address, {"roles": ["owner", "security"], "reason": "x", "step": "confirm"}),
    ]
    assert {answer.status_code for answer in answers} == {403}
    assert all("Nobody changes their own roles" in answer.content.decode() for answer in answers)
    assert held(aurora, owner) == ("owner",)
    rows = client.get(f"/console/w/{aurora.slug}/people/").context["people"]
    assert {row.name: bool(row.roles_url) for row in rows} == {owner.name: False}


def test_person_of_another_workspace_is_not_there(
    aurora: WorkspaceRef, boreal: WorkspaceRef, client: Client
) -> None:
    """PL-1: who is no member here has no roles page here."""
    stranger = factories.make_person(boreal, "support")
    form = {"roles": ["owner"], "reason": "x", "step": "confirm"}
    assert client.get(roles_page(aurora, stranger)).status_code == 404
    assert client.post(roles_page(aurora, stranger), form).status_code == 404
    assert held(boreal, stranger) == ("support",)


def test_people_page_says_what_each_role_may(aurora: WorkspaceRef, client: Client) -> None:
    """PL-2: the table of roles stands where roles are given."""
    table = client.get(f"/console/w/{aurora.slug}/people/").context["role_table"]
    assert [row.role for row in table] == ["Owner", "Security", "Privacy", "Support", "Engineer", "Auditor"]
    assert "See size, version and dates of states, never their content" in table[3].may


def test_auditor_reads_who_is_here_and_changes_nobody(
    aurora: WorkspaceRef, support: Person, signed_in: SignedIn
) -> None:
    """PL-2: reading the people is not managing them."""
    auditor = signed_in(factories.make_person(aurora, "auditor", name="Alba"))
    page = auditor.get(f"/console/w/{aurora.slug}/people/")
    assert page.context["invite_url"] == ""
    assert not any(row.roles_url for row in page.context["people"])
