"""Who may approve is told by e-mail that something waits, when it does, and without a word of what it says (PL-4)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core import mail
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from django.utils import timezone

from privacy.models import ErasureRequest
from privacy.services import approvals as gate
from privacy.services import erasures
from privacy.types import Target
from tests import factories
from tests.api import InProcess
from tests.privacy.approvals import as_decider, four_eyes_on
from tests.privacy.changes import DIFFS, change, propose
from workspaces import access
from workspaces.models import FourEyes, Person
from workspaces.rules import approvals as rules
from workspaces.rules.rights import ROLES
from workspaces.services import people
from workspaces.types import Origin, WorkspaceRef

ANA = {"type": "email", "value": "ana@example.com"}


class Away(BaseEmailBackend):
    """A mail server that is away."""

    def send_messages(self, _messages: Any) -> int:
        raise ConnectionRefusedError


@pytest.fixture
def staff(aurora: WorkspaceRef) -> dict[str, Person]:
    """Two people of each role, and four eyes for everything."""
    found = {
        f"{role} {number}": factories.make_person(aurora, role, name=f"{role}{number}")
        for role in ROLES
        for number in (1, 2)
    }
    four_eyes_on(aurora, *rules.GUARDED)
    return found


@pytest.fixture
def told(django_capture_on_commit_callbacks: Any) -> Any:
    """Do something, commit, and give who was told, and what they all were."""

    @contextmanager
    def telling() -> Iterator[list[str]]:
        mail.outbox.clear()
        names: list[str] = []
        with django_capture_on_commit_callbacks(execute=True):
            yield names
            assert mail.outbox == [], "Nobody is told of what may still be undone."
        names += sorted(address.split("-")[0] for message in mail.outbox for address in message.to)

    return telling


def client(workspace: WorkspaceRef, person: Person, role: str) -> InProcess:
    return InProcess(factories.make_token(workspace, person, *ROLES[role]))


def text() -> str:
    (found,) = {f"{message.subject}\n{message.body}" for message in mail.outbox}
    return found


@pytest.mark.parametrize("kind", ["masking", "features", "object-types"])
def test_a_proposed_document(aurora: WorkspaceRef, staff: dict[str, Person], told: Any, kind: str) -> None:
    """PL-4, CO-6: who may approve its kind is told of it and of its page; not its author, and not what it says."""
    author = client(aurora, staff["security 1"], "security")
    with told() as names:
        proposed = propose(author, kind, reason="Quiet words")
    assert names == ["security2"]
    assert f"/console/w/{aurora.slug}/approvals/{proposed.body['diff_id']}/" in text()
    assert f"`{kind}`" in text()
    assert "Quiet" not in text()
    with told() as names:
        edited = author.call("PUT", f"{DIFFS}/{proposed.body['diff_id']}", change(kind, reason="Other words"))
    assert edited.status == 200
    assert names == ["security2"], "What it says now waits anew."


def test_where_one_person_is_enough(aurora: WorkspaceRef, staff: dict[str, Person], told: Any) -> None:
    """PL-4: a change that takes no approval tells nobody, nor does one that was refused."""
    author = client(aurora, staff["security 1"], "security")
    with told() as names:
        assert propose(author, "masking", {"regions": "everywhere"}).status == 422
    assert names == []
    with access.bound(aurora.id):
        FourEyes.objects.update(kinds=["features"])
    with told() as names:
        assert propose(author, "masking").status == 201
    assert names == []


def test_weaker_four_eyes_and_approving_roles(
    aurora: WorkspaceRef, staff: dict[str, Person], told: Any
) -> None:
    """PL-4, PR-2b: owners and security approve these; neither their author nor whom a grant is about is told."""
    one = staff["owner 1"]
    actor = people.actor_of(one, Origin())
    with access.bound(aurora.id), told() as names:
        setting = FourEyes.objects.get().version
        by = as_decider(aurora, one)
        gate.change_four_eyes(kinds=["masking"], replaces=setting, reason="Less", by=by, now=timezone.now())
    assert names == ["owner2", "security1", "security2"]
    with access.bound(aurora.id), told() as names:
        gate.change_roles(
            person=staff["owner 2"],
            roles=["owner", "security"],
            changer=one,
            reason="Helps out",
            actor=actor,
            now=timezone.now(),
        )
    assert names == ["security1", "security2"]
    assert staff["owner 2"].email not in text()
    with access.bound(aurora.id), told() as names:
        gate.invite(
            email="new@example.com",
            roles=["security"],
            inviter=one,
            reason="Joins",
            actor=actor,
            now=timezone.now(),
        )
    assert names == ["owner2", "security1", "security2"]
    assert "new@example.com" not in text()


def test_an_erasure(aurora: WorkspaceRef, staff: dict[str, Person], told: Any) -> None:
    """PL-4, PR-9: who may approve erasures is told by its number, and of nobody whom it is about."""
    factories.make_state(aurora, subject=ANA)
    office = InProcess(factories.make_key(aurora, "admin"))
    with told() as names:
        asked = office.post("/v1/forget", {"target": "handle", "handle": ANA, "reason": "Quiet words"}).body
    assert names == ["privacy1", "privacy2"]
    with access.bound(aurora.id):
        request = ErasureRequest.objects.get(id=asked["request_id"])
    assert request.reference in text()
    assert f"/console/w/{aurora.slug}/erasures/{request.id}/" in text()
    assert not [word for word in ("ana@", "Quiet", str(request.profile_id)) if word in text()]
    with told() as names:
        office.post("/v1/forget", {"target": "handle", "handle": ANA})
    assert names == [], "A duplicate is refused and waits for nobody."
    mine = client(aurora, staff["privacy 1"], "privacy")
    with told() as names:
        mine.post("/v1/forget", {"target": "conversation", "conversation_id": "c-7"})
    assert names == ["privacy2"], "Its author must not approve it."


def test_an_erasure_once_the_identity_is_known(
    aurora: WorkspaceRef, staff: dict[str, Person], told: Any
) -> None:
    """PL-4, PR-17: a request waits for its approval from then on, also where four eyes hold for none."""
    with access.bound(aurora.id):
        FourEyes.objects.update(kinds=[])
        actor = people.actor_of(staff["privacy 1"], Origin())
        with told() as names:
            request = erasures.request_erasure(
                workspace=aurora,
                target=Target(kind="conversation", scope_id="c-7"),
                asker=erasures.Asker(factories.SYSTEM, is_verified=False),
                now=timezone.now(),
            )
        assert names == []
        with told() as names:
            erasures.verify_identity(request_id=request.id, actor=actor, reason="Seen", now=timezone.now())
        assert names == ["privacy2"]
        with told() as names:
            erasures.request_erasure(
                workspace=aurora,
                target=Target(kind="conversation", scope_id="c-8"),
                asker=erasures.Asker(actor),
                now=timezone.now(),
            )
        assert names == [], "It is approved at once."


def test_a_mail_server_that_is_away(
    aurora: WorkspaceRef, staff: dict[str, Person], told: Any, settings: Any
) -> None:
    """PL-4: what waits is there all the same, and who asked for it gets no error."""
    settings.EMAIL_BACKEND = f"{__name__}.Away"
    with told() as names:
        proposed = propose(client(aurora, staff["security 1"], "security"), "masking")
    assert (proposed.status, names) == (201, [])


def test_what_is_rolled_back(aurora: WorkspaceRef, staff: dict[str, Person], told: Any) -> None:
    """PL-4: nobody is told of a request that was never committed."""
    with access.bound(aurora.id), told() as names, transaction.atomic():
        erasures.request_erasure(
            workspace=aurora,
            target=Target(kind="conversation", scope_id="c-7"),
            asker=erasures.Asker(factories.SYSTEM),
            now=timezone.now(),
        )
        transaction.set_rollback(True)
    assert names == []
