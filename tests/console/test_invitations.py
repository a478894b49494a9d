"""People join by a link that works once (PL-4)."""

from datetime import timedelta

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from tests import factories
from tests.console.conftest import SignedIn
from workspaces import access
from workspaces.models import Invitation, Person
from workspaces.selectors.people import roles_of
from workspaces.services import people
from workspaces.types import WorkspaceRef

PASSWORD = "a long and quiet sentence"
NEW = {"name": "Inga", "password1": PASSWORD, "password2": PASSWORD}


@pytest.fixture
def link(
    aurora: WorkspaceRef, owner: Person, signed_in: SignedIn, django_capture_on_commit_callbacks: object
) -> str:
    """Invite inga@example.com by the page; give the link from the mail."""
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        answer = signed_in(owner).post(
            f"/console/w/{aurora.slug}/people/invite/",
            {"email": "Inga@example.com", "roles": ["support", "privacy"], "reason": "A new colleague"},
        )
    assert answer.status_code == 303
    (message,) = mail.outbox
    assert message.to == ["Inga@example.com"]
    return str(message.body).split("/console/")[1].split()[0]


def open_link(link: str, **fields: str) -> tuple[Client, object]:
    client = Client()
    return client, client.post(f"/console/{link}", fields)


def test_invited_person_makes_an_account_and_is_in(aurora: WorkspaceRef, link: str) -> None:
    """PL-4: the link says who invites to what as what; a name and a password later the person is signed in."""
    page = Client().get(f"/console/{link}").content.decode()
    assert "Join Aurora" in page
    assert "Privacy, Support" in page
    client = Client()
    answer = client.post(f"/console/{link}", NEW)
    assert (answer.status_code, answer["Location"]) == (303, "/console/")
    assert b"Aurora" in client.get("/console/").content
    with access.bound(aurora.id):
        assert roles_of(Person.objects.get(email="inga@example.com")) == ("privacy", "support")


def test_invited_person_with_an_account_joins_with_its_password(
    aurora: WorkspaceRef, boreal: WorkspaceRef
) -> None:
    """PL-4: an account is asked for its password, keeps its name, and then belongs to both workspaces."""
    person = factories.make_person(boreal, "auditor", name="Bo")
    link = invited(aurora, person.email)
    assert "name" not in Client().get(link).context["form"].fields
    client = Client()
    refused = client.post(link, {"password1": "not the password"})
    assert refused.status_code == 422
    assert "use its password" in refused.content.decode()
    assert client.post(link, {"password1": factories.PASSWORD}).status_code == 303
    assert [each.name for each in access.workspaces_of(person)] == ["Aurora", "Boreal"]


def invited(workspace: WorkspaceRef, email: str) -> str:
    with access.bound(workspace.id):
        token = people.invite(
            workspace=workspace,
            email=email,
            roles=["support"],
            inviter=None,
            actor=factories.SYSTEM,
            now=timezone.now(),
        )
    return f"/console/invitation/{token}/"


def test_link_works_once(link: str) -> None:
    """PL-4: a spent link opens nothing, by GET or by POST, and does not say what it was for."""
    assert Client().post(f"/console/{link}", NEW).status_code == 303
    for answer in (Client().get(f"/console/{link}"), Client().post(f"/console/{link}", NEW)):
        assert answer.status_code == 404
        assert b"This invitation is no longer valid" in answer.content
        assert b"Aurora" not in answer.content


def test_link_ends_after_a_week(aurora: WorkspaceRef, link: str) -> None:
    """PL-4: an old link opens nothing."""
    with access.bound(aurora.id):
        Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert Client().get(f"/console/{link}").status_code == 404


@pytest.mark.parametrize("token", ["nothing", "x" * 500, "%00", "é"])
def test_link_that_nobody_made_opens_nothing(db: None, token: str) -> None:
    """PL-19: no invitation is found by guessing."""
    assert Client().get(f"/console/invitation/{token}/").status_code == 404


def test_link_for_who_joined_meanwhile_says_so(aurora: WorkspaceRef, boreal: WorkspaceRef) -> None:
    """PL-2: a second link for one person changes no roles of theirs."""
    person = factories.make_person(boreal, "auditor", name="Bo")
    first, second = invited(aurora, person.email), invited(aurora, person.email)
    assert Client().post(first, {"password1": factories.PASSWORD}).status_code == 303
    answer = Client().post(second, {"password1": factories.PASSWORD})
    assert answer.status_code == 422
    assert "a member already" in answer.content.decode()


def test_invitation_can_be_withdrawn(
    aurora: WorkspaceRef, link: str, owner: Person, signed_in: SignedIn
) -> None:
    """PL-4: an owner ends an invitation with a reason; the link opens nothing, and it is no longer listed."""
    client, people_page = signed_in(owner), f"/console/w/{aurora.slug}/people/"
    address = client.get(people_page).context["invitations"][0].withdraw_url
    assert "Withdraw the invitation of inga@example.com to Aurora?" in client.get(address).content.decode()
    assert client.post(address, {"reason": "Sent to the wrong address"})["Location"] == people_page
    assert Client().post(f"/console/{link}", NEW).status_code == 404
    assert client.get(people_page).context["invitations"] == []
    assert {client.get(address).status_code, client.post(address, {"reason": "x"}).status_code} == {404}


def test_invitation_of_another_workspace_is_not_there(
    aurora: WorkspaceRef, boreal: WorkspaceRef, link: str, signed_in: SignedIn
) -> None:
    """PL-1: an id of elsewhere is no id here."""
    with access.bound(aurora.id):
        foreign = Invitation.objects.get().id
    client = signed_in(factories.make_person(boreal, "owner", name="Otto"))
    address = f"/console/w/{boreal.slug}/people/invitations/{foreign}/withdraw/"
    assert {client.get(address).status_code, client.post(address, {"reason": "x"}).status_code} == {404}
    assert Client().get(f"/console/{link}").status_code == 200


def test_people_page_lists_open_invitations(
    aurora: WorkspaceRef, link: str, owner: Person, signed_in: SignedIn
) -> None:
    """PL-4: an owner sees who was invited and has not come yet."""
    page = signed_in(owner).get(f"/console/w/{aurora.slug}/people/").content.decode()
    assert "inga@example.com" in page
    Client().post(f"/console/{link}", NEW)
    assert signed_in(owner).get(f"/console/w/{aurora.slug}/people/").context["invitations"] == []
