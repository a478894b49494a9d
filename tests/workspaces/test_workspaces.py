"""Making a workspace, by the service and by the command (PL-4)."""

from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core import mail
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks

from tests import factories
from tests.parallel import at_once, raised
from workspaces import access, documents, encryption
from workspaces.audit import verify_chain
from workspaces.models import AuditEntry, Invitation, Person, Workspace, WrappedKey
from workspaces.rules.documents import DEFAULTS, KINDS
from workspaces.selectors.people import roles_of
from workspaces.services import people, workspaces
from workspaces.types import Origin, WorkspaceRef


def make(slug: str, name: str = "Aurora") -> WorkspaceRef:
    return workspaces.create_workspace(slug=slug, name=name, actor=factories.SYSTEM, now=timezone.now())


@pytest.mark.usefixtures("aurora")
def test_a_new_workspace_has_everything_and_nothing_is_on(db: None) -> None:
    """PL-4, PR-1: keys, documents, an audit chain and no feature, from the first moment."""
    workspace = make(f"new-{uuid4().hex}")
    with access.bound(workspace.id):
        live = documents.live(*KINDS)
        assert {kind: (found.version, found.body) for kind, found in live.items()} == {
            kind: (1, body) for kind, body in DEFAULTS.items()
        }
        assert live["features"].body == {"enabled": []}
        assert [entry.act for entry in AuditEntry.objects.all()] == ["workspace.create"]
        assert verify_chain().first_bad is None
    with access.bound(workspace.id):
        keys = {key.id for key in WrappedKey.objects.all()}
    assert keys == {workspace.key_id, workspace.hash_key_id}
    assert encryption.workspace_key(workspace).secret != encryption.keyed_hash(workspace, "a", "b")


@pytest.mark.parametrize("slug", ["", "two words", "ação", "a/b", "a.b", "a" * 64, "a\n", "../up", "a?b"])
def test_a_slug_is_letters_digits_and_hyphens(aurora: WorkspaceRef, slug: str) -> None:
    """PL-4: a slug of another form is refused, and nothing of the workspace is left."""
    before = Workspace.objects.count()
    with pytest.raises(ValidationError) as refused:
        make(slug)
    assert set(refused.value.message_dict) == {"slug"}
    assert Workspace.objects.count() == before
    assert make(slug="fine-1").slug == "fine-1"


def test_a_slug_is_taken_once(aurora: WorkspaceRef) -> None:
    """PL-4: a second workspace of one slug is refused."""
    with pytest.raises(ValidationError) as refused:
        make(aurora.slug)
    assert set(refused.value.message_dict) == {"slug"}


def test_a_slug_is_taken_once_even_at_the_same_moment(committed: None) -> None:
    """PL-4: of four workspaces of one slug made at once one is there, whole, and three are refused."""
    slug = f"race-{uuid4().hex}"
    results = at_once(4, lambda _: make(slug))
    (made,) = (found for found in results if isinstance(found, WorkspaceRef))
    assert len(raised(results)) == 3
    assert {"ValidationError", "IntegrityError"} >= set(raised(results))
    with access.bound(made.id):
        assert verify_chain().entries == 1


def command(*arguments: str) -> str:
    out = StringIO()
    call_command("create_workspace", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_makes_the_first_workspace_and_its_owner(
    aurora: WorkspaceRef, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    """PL-4: `create_workspace` prints and mails a link by which its owner joins."""
    with django_capture_on_commit_callbacks(execute=True):
        out = command("first-one", "--name", "First One", "--owner", "Olivia@example.com")
    link = out.splitlines()[-1]
    (sent,) = mail.outbox
    assert link in sent.body
    person = people.accept_invitation(
        token=link.rstrip("/").rsplit("/", 1)[-1],
        name="Olivia",
        password=factories.PASSWORD,
        origin=Origin(),
        now=timezone.now(),
    )
    (workspace,) = access.workspaces_of(person)
    assert (workspace.slug, workspace.name) == ("first-one", "First One")
    with access.bound(workspace.id):
        assert roles_of(person) == ("owner",)
        acts = list(AuditEntry.objects.order_by("seq").values_list("act", "actor_name"))
    assert acts == [
        ("workspace.create", "operator"),
        ("person.invite", "operator"),
        ("person.join", "olivia@example.com"),
    ]


def test_the_command_can_give_the_first_person_several_roles(aurora: WorkspaceRef) -> None:
    """PL-4: the first person may hold more than the owner's role, since nobody can give themselves one later."""
    command("first-two", "--name", "Two", "--owner", "o@example.com", "--roles", "owner", "security")
    with access.bound(Workspace.objects.get(slug="first-two").id):
        invitation = Invitation.objects.get()
    assert invitation.roles == ["owner", "security"]


REFUSED: list[tuple[str, tuple[str, ...]]] = [
    ("no name", ("slug", "--owner", "o@example.com")),
    ("no owner", ("slug", "--name", "N")),
    ("no address", ("slug", "--name", "N", "--owner", "olivia")),
    ("a bad slug", ("a b", "--name", "N", "--owner", "o@example.com")),
    ("a taken slug", ("{taken}", "--name", "N", "--owner", "o@example.com")),
    ("an unknown role", ("slug", "--name", "N", "--owner", "o@example.com", "--roles", "superuser")),
    ("a long name", ("slug", "--name", "N" * 121, "--owner", "o@example.com")),
    ("an empty name", ("slug", "--name", "", "--owner", "o@example.com")),
    ("a name of two lines", ("slug", "--name", "a\nb", "--owner", "o@example.com")),
]


@pytest.mark.parametrize(("why", "arguments"), REFUSED, ids=[row[0] for row in REFUSED])
def test_the_command_refuses_in_one_sentence(
    aurora: WorkspaceRef, why: str, arguments: tuple[str, ...]
) -> None:
    """PL-4: what cannot be made is refused without a traceback, and leaves nothing."""
    before = Workspace.objects.count(), Person.objects.count()
    with pytest.raises(CommandError):
        command(*(argument.format(taken=aurora.slug) for argument in arguments))
    assert (Workspace.objects.count(), Person.objects.count()) == before
    assert not mail.outbox


def test_names_are_for_people_and_may_be_anything_else(aurora: WorkspaceRef) -> None:
    """PL-4: a name may hold any script, and two workspaces may have one name."""
    names: list[Any] = ["São João & Söhne <GmbH>", "株式会社", aurora.name]
    for number, name in enumerate(names):
        assert make(f"named-{number}-{uuid4().hex[:8]}", name).name == name
