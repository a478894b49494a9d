"""People join by invitation, hold roles and sign in (PL-2, PL-4)."""

from datetime import datetime, timedelta
from io import StringIO
from uuid import uuid4

import pytest
from django.core import mail
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks

from tests import factories
from tests.parallel import at_once, raised
from workspaces import access, deployment
from workspaces.errors import InvitationInvalid, NotFound, RoleNotAllowed
from workspaces.models import AuditEntry, DeploymentAuditEntry, Invitation, Membership, Person
from workspaces.selectors.people import permissions_of, roles_of
from workspaces.services import people
from workspaces.services.lockouts import FAILURES_BEFORE_LOCK, LOCKED_FOR
from workspaces.types import Origin, WorkspaceRef

HERE = Origin(address="192.0.2.7", request_id="req-1")
GUESS = "not the password at all"


def invite(
    workspace: WorkspaceRef, email: str = "Ana@Example.com", *roles: str, now: datetime | None = None
) -> str:
    with access.bound(workspace.id):
        return people.invite(
            workspace=workspace,
            email=email,
            roles=roles or ("support",),
            inviter=None,
            actor=factories.SYSTEM,
            now=now or timezone.now(),
        )


def accept(token: str, *, password: str = factories.PASSWORD, now: datetime | None = None) -> Person:
    return people.accept_invitation(
        token=token, name="Ana", password=password, origin=HERE, now=now or timezone.now()
    )


def held(workspace: WorkspaceRef, person: Person) -> tuple[str, ...]:
    with access.bound(workspace.id):
        return roles_of(person)


def test_an_invitation_makes_a_member_once(aurora: WorkspaceRef) -> None:
    """PL-4: the link makes an account with the invited roles; it works once."""
    token = invite(aurora, "Ana@Example.com", "support", "auditor")
    person = accept(token)
    assert (person.email, person.name, person.is_active) == ("ana@example.com", "Ana", True)
    assert person.check_password(factories.PASSWORD)
    assert person.password.startswith("argon2")
    assert held(aurora, person) == ("auditor", "support")
    assert access.workspaces_of(person) == [aurora]
    with pytest.raises(InvitationInvalid):
        accept(token)


def test_an_invitation_expires(aurora: WorkspaceRef) -> None:
    """PL-4: a link is good for seven days, to the moment."""
    sent = timezone.now()
    token = invite(aurora, now=sent)
    with pytest.raises(InvitationInvalid):
        accept(token, now=sent + people.INVITATION_LIFE)
    assert accept(token, now=sent + people.INVITATION_LIFE - timedelta(microseconds=1))


@pytest.mark.parametrize("token", ["", "x", "a" * 43, "\x00", "é"])
def test_an_unknown_link_is_refused_like_an_old_one(aurora: WorkspaceRef, token: str) -> None:
    """PL-4: what is no invitation, was one, and is out of date answer alike."""
    used = invite(aurora)
    accept(used)
    refusals = []
    for link in (token, used, invite(aurora, "b@example.com", now=timezone.now() - timedelta(days=8))):
        with pytest.raises(InvitationInvalid) as refused:
            people.open_invitation(link, now=timezone.now())
        refusals.append((refused.value.status, refused.value.detail, refused.value.errors))
    assert len(set(refusals)) == 1


def test_the_token_of_an_invitation_is_stored_hashed(aurora: WorkspaceRef) -> None:
    """PL-4: nobody who reads the table can join by it."""
    token = invite(aurora)
    with access.bound(aurora.id), connection.cursor() as cursor:
        cursor.execute(
            "SELECT t::text FROM workspaces_invitation t WHERE workspace_id = %s", [str(aurora.id)]
        )
        (row,) = cursor.fetchall()
    assert "ana@example.com" in row[0]
    assert token not in row[0]
    assert token.encode().hex() not in row[0]


def test_the_link_goes_by_mail_after_the_commit(
    aurora: WorkspaceRef, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    """PL-4: one mail with the link goes to the invited address, and only when the invitation is stored."""
    with django_capture_on_commit_callbacks(execute=False) as waiting:
        token = invite(aurora)
    assert not mail.outbox
    for send in waiting:
        send()
    (sent,) = mail.outbox
    assert sent.to == ["Ana@Example.com"]
    assert people.invitation_link(token) in sent.body
    assert aurora.name in sent.subject


def test_an_invitation_that_is_rolled_back_sends_nothing(
    aurora: WorkspaceRef, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    """PL-4, PR-24: a refused invitation leaves no mail, no row and no entry."""
    with django_capture_on_commit_callbacks(execute=True), pytest.raises(RoleNotAllowed):
        invite(aurora, "ana@example.com", "superuser")
    assert not mail.outbox
    with access.bound(aurora.id):
        assert not Invitation.objects.exists()
        assert not AuditEntry.objects.filter(act="person.invite").exists()


def test_an_account_joins_a_second_workspace_with_its_password(
    aurora: WorkspaceRef, boreal: WorkspaceRef
) -> None:
    """PL-4: an address that has an account keeps it: its name and password stay."""
    person = accept(invite(aurora))
    with pytest.raises(InvitationInvalid):
        accept(invite(boreal), password=GUESS)
    joined = people.accept_invitation(
        token=invite(boreal, "ana@example.com", "auditor"),
        name="Somebody Else",
        password=factories.PASSWORD,
        origin=HERE,
        now=timezone.now(),
    )
    assert (joined.id, joined.name) == (person.id, "Ana")
    assert (held(aurora, person), held(boreal, person)) == (("support",), ("auditor",))


def test_a_link_is_no_way_to_guess_a_password(aurora: WorkspaceRef, boreal: WorkspaceRef) -> None:
    """PL-4: a wrong password at an invitation counts as a failed sign-in, and a locked account does not join."""
    person = accept(invite(aurora))
    link = invite(boreal)
    for _ in range(FAILURES_BEFORE_LOCK):
        with pytest.raises(InvitationInvalid):
            accept(link, password=GUESS)
    person.refresh_from_db()
    assert person.is_locked(timezone.now())
    with pytest.raises(InvitationInvalid):
        accept(link)
    assert accept(link, now=timezone.now() + LOCKED_FOR).id == person.id


def test_a_closed_account_does_not_join(aurora: WorkspaceRef, boreal: WorkspaceRef) -> None:
    """PL-4: an account that was closed is not opened by an invitation."""
    person = accept(invite(aurora))
    Person.objects.filter(id=person.id).update(is_active=False)
    with pytest.raises(InvitationInvalid):
        accept(invite(boreal))
    assert held(boreal, person) == ()


def test_an_invitation_is_no_way_to_other_roles(aurora: WorkspaceRef) -> None:
    """PL-2: who is a member gets no other roles by inviting themselves, before or after they joined."""
    early, late = invite(aurora, "ana@example.com", "security"), invite(aurora)
    person = accept(late)
    with pytest.raises(RoleNotAllowed):
        invite(aurora, "ANA@example.com", "owner")
    with pytest.raises(RoleNotAllowed):
        accept(early)
    assert held(aurora, person) == ("support",)


def test_two_acceptances_at_once_make_one_member(committed: None) -> None:
    """PL-4: of ten people who open one link at the same moment one joins; the others are refused."""
    workspace = factories.make_workspace()
    email = f"ana-{uuid4().hex}@example.com"
    token = invite(workspace, email)
    results = at_once(4, lambda _: accept(token))
    assert raised(results) == ["InvitationInvalid"] * 3
    with access.bound(workspace.id):
        assert Membership.objects.count() == Person.objects.filter(email=email).count() == 1
        assert AuditEntry.objects.filter(act="person.join").count() == 1


def change(workspace: WorkspaceRef, person: Person, *roles: str, by: Person) -> None:
    with access.bound(workspace.id):
        people.change_roles(
            person=person,
            roles=roles,
            changer=by,
            reason="A new job",
            actor=factories.SYSTEM,
            now=timezone.now(),
        )


def test_roles_are_changed_to_exactly_those(aurora: WorkspaceRef) -> None:
    """PL-2: a change gives exactly the chosen roles, at once, and the audit has what was and what is."""
    owner, person = (
        factories.make_person(aurora, "owner"),
        factories.make_person(aurora, "support", "auditor"),
    )
    change(aurora, person, "engineer", "support", by=owner)
    assert held(aurora, person) == ("engineer", "support")
    assert "view_audit" not in permissions_of(person, aurora)
    with access.bound(aurora.id):
        entry = AuditEntry.objects.filter(act="role.change").get()
    assert entry.facts["before"] == ["auditor", "support"]
    assert entry.facts["after"] == ["engineer", "support"]
    assert (entry.object_id, entry.reason) == (str(person.id), "A new job")


def test_nobody_changes_their_own_roles(aurora: WorkspaceRef) -> None:
    """PL-2: not even an owner gives themselves a role; another owner may."""
    owner, other = factories.make_person(aurora, "owner"), factories.make_person(aurora, "owner")
    with pytest.raises(RoleNotAllowed):
        change(aurora, owner, "owner", "security", by=owner)
    assert held(aurora, owner) == ("owner",)
    change(aurora, owner, "owner", "security", by=other)
    assert held(aurora, owner) == ("owner", "security")


def test_roles_are_of_members_and_of_the_table(aurora: WorkspaceRef, boreal: WorkspaceRef) -> None:
    """PL-2: who is no member is not found, and a role that does not exist is refused."""
    owner, stranger = factories.make_person(aurora, "owner"), factories.make_person(boreal, "support")
    with pytest.raises(NotFound):
        change(aurora, stranger, "owner", by=owner)
    with pytest.raises(RoleNotAllowed):
        change(aurora, factories.make_person(aurora, "support"), "superuser", by=owner)
    assert (held(aurora, stranger), held(boreal, stranger)) == ((), ("support",))


def test_a_role_counts_in_its_own_workspace(aurora: WorkspaceRef, boreal: WorkspaceRef) -> None:
    """PL-2: a change in one workspace leaves the roles in another as they are."""
    person = factories.make_person(aurora, "owner", "security")
    with access.bound(boreal.id):
        people.join(person=person, roles=["support"], actor=factories.SYSTEM, now=timezone.now())
    change(boreal, person, by=factories.make_person(boreal, "owner"))
    assert (held(aurora, person), held(boreal, person)) == (("owner", "security"), ())


# Signing in


def outside(act: str) -> list[DeploymentAuditEntry]:
    return list(DeploymentAuditEntry.objects.filter(act=act).order_by("seq"))


def fail(email: str, *, now: datetime) -> None:
    people.note_failed_sign_in(email=email, origin=HERE, now=now)


def test_repeated_failures_lock_the_account_for_a_while(aurora: WorkspaceRef) -> None:
    """PL-4: the tenth failure in a row locks for a quarter of an hour; the ninth does not."""
    person, now = factories.make_person(aurora, "owner"), timezone.now()
    for _ in range(FAILURES_BEFORE_LOCK - 1):
        fail(person.email.upper(), now=now)
    person.refresh_from_db()
    assert (person.failed_sign_ins, person.locked_until) == (9, None)
    fail(person.email, now=now)
    person.refresh_from_db()
    assert person.locked_until == now + timedelta(minutes=15)
    assert person.is_locked(now + timedelta(minutes=15, microseconds=-1))
    assert not person.is_locked(now + timedelta(minutes=15))


def test_a_sign_in_forgets_earlier_failures(aurora: WorkspaceRef) -> None:
    """PL-4: failures count in a row; a sign-in starts the count again."""
    person, now = factories.make_person(aurora, "owner"), timezone.now()
    for _ in range(FAILURES_BEFORE_LOCK - 1):
        fail(person.email, now=now)
    people.note_sign_in(person=person, origin=HERE, now=now)
    fail(person.email, now=now)
    person.refresh_from_db()
    assert (person.failed_sign_ins, person.locked_until) == (1, None)


def test_failures_at_once_all_count(committed: None) -> None:
    """PL-4: guesses sent in parallel are counted like guesses sent one by one."""
    person, now = factories.make_person(factories.make_workspace(), "owner"), timezone.now()
    assert not raised(at_once(FAILURES_BEFORE_LOCK, lambda _: fail(person.email, now=now)))
    person.refresh_from_db()
    assert person.is_locked(now)


def test_a_failed_sign_in_is_kept_with_a_hashed_name(aurora: WorkspaceRef) -> None:
    """PR-21: the deployment's chain has every failure, the name as a keyed hash, known account or not."""
    person, now = factories.make_person(aurora, "owner"), timezone.now()
    before = len(outside("person.sign_in"))
    for email in (person.email, person.email.upper(), "nobody@example.com"):
        fail(email, now=now)
    mine, same, other = outside("person.sign_in")[before:]
    assert mine.object_id == same.object_id != other.object_id
    assert mine.object_id == deployment.hashed("sign-in-name", person.email).hex()
    for entry in (mine, same, other):
        assert (entry.result, entry.actor_name, entry.address) == ("refused", "", HERE.address)
        # Without the hashes, of which any byte may be an @.
        assert "@" not in str(
            {name: value for name, value in vars(entry).items() if not name.endswith("hash")}
        )


def test_signing_in_and_out_is_kept(aurora: WorkspaceRef) -> None:
    """PR-21: the deployment's chain says who came and went, and from where; no workspace's chain does."""
    person, now = factories.make_person(aurora, "owner"), timezone.now()
    with access.bound(aurora.id):
        before = AuditEntry.objects.count()
    people.note_sign_in(person=person, origin=HERE, now=now)
    people.note_sign_out(person=person, origin=HERE, now=now)
    for act in ("person.sign_in", "person.sign_out"):
        entry = outside(act)[-1]
        assert (entry.actor_id, entry.actor_name, entry.address) == (
            str(person.id),
            person.email,
            HERE.address,
        )
        assert (entry.request_id, entry.result) == (HERE.request_id, "done")
    with access.bound(aurora.id):
        assert AuditEntry.objects.count() == before
    call_command("verify_audit", verbosity=0, stdout=StringIO())
