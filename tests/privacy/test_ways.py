"""Every way to change a document, the setting of four eyes or roles, and each tried without what it takes (PR-2b).

The ways are found in the code: a new one that is not tried here fails. Whoever tries holds every role.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.apps import apps
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from privacy.services import approvals as gate
from privacy.services.documents import change_document as publish_at_once
from privacy.services.documents import edit_change, propose_change, publish_change, switch_feature
from privacy.tasks import publish_scheduled
from tests import factories
from tests.api import InProcess
from tests.privacy.approvals import as_decider, four_eyes_on
from tests.privacy.ways import entrances_to, writers
from workspaces import access, documents
from workspaces.errors import Problem
from workspaces.models import Approval, ChangeRequest, FourEyes, Invitation, Person
from workspaces.rules import approvals as rules
from workspaces.rules.documents import KINDS
from workspaces.rules.rights import ROLES
from workspaces.selectors import approvals as selectors
from workspaces.selectors.people import members
from workspaces.services import people
from workspaces.services.approvals import set_four_eyes
from workspaces.types import ChangeWish, WorkspaceRef

WRITERS = {
    "privacy.services.documents.publish_change",
    "workspaces.services.approvals.set_four_eyes",
    "workspaces.services.people._set_roles",
    "workspaces.services.people.invite",
    "workspaces.services.workspaces._publish_defaults",
    "workspaces.services.workspaces.create_workspace",
}
"""What writes: the services that ask for an approval themselves, and what makes a new workspace."""


class World(msgspec.Struct, frozen=True):
    """A workspace in which four eyes hold everywhere, who wants to get around them, and what they asked for."""

    workspace: WorkspaceRef
    author: Person
    second: Person
    puppet: Person
    invitation: str
    requests: dict[str, ChangeRequest]

    @property
    def client(self) -> Client:
        client = Client(raise_request_exception=False)
        client.force_login(self.author)
        return client

    def page(self, path: str) -> str:
        return f"/console/w/{self.workspace.slug}/{path}"

    @property
    def token(self) -> InProcess:
        held = sorted({name for role in ROLES.values() for name in role})
        return InProcess(factories.make_token(self.workspace, self.author, *held))


def snapshot(world: World) -> Any:
    """Give everything that four eyes guard."""
    with access.bound(world.workspace.id):
        live = {kind: (found.version, dict(found.body)) for kind, found in documents.live(*KINDS).items()}
        held = {member.email: member.roles for member in members()}
        invited = sorted(Invitation.objects.values_list("email", flat=True))
        return live, FourEyes.objects.get().kinds, held, invited


@pytest.fixture
def world(aurora: WorkspaceRef) -> World:
    author = factories.make_person(aurora, *ROLES, name="Eva")
    second, puppet = (factories.make_person(aurora, role, name=role) for role in ("security", "support"))
    with access.bound(aurora.id):
        invitation = people.invite(
            workspace=aurora,
            email="sock@example.com",
            roles=["security"],
            inviter=author,
            actor=factories.SYSTEM,
            now=timezone.now(),
        )
    four_eyes_on(aurora, *rules.GUARDED)
    with access.bound(aurora.id):
        requests = {request.kind: request for request in asked_for(aurora, author, puppet)}
        assert set(requests) == set(rules.ASKED), "One of each kind of request."
    return World(aurora, author, second, puppet, invitation, requests)


def asked_for(workspace: WorkspaceRef, author: Person, puppet: Person) -> list[Any]:
    by, now = as_decider(workspace, author), timezone.now()
    wishes = [wish_of(kind) for kind in KINDS]
    changes = [
        propose_change(wish=wish, author_id=author.id, actor=by.actor, now=now).change for wish in wishes
    ]
    version = selectors.four_eyes().version
    weaker = gate.change_four_eyes(kinds=["masking"], replaces=version, reason="r", by=by, now=now)
    roles = gate.change_roles(
        person=puppet, roles=["security"], changer=author, reason="r", actor=by.actor, now=now
    )
    return [*changes, weaker, roles]


def wish_of(kind: str, reason: str = "Alone") -> ChangeWish:
    live = documents.live(kind)[kind]
    body = {"enabled": ["history"]} if kind == "features" else dict(live.body)
    return ChangeWish(kind=kind, document=body, reason=reason, replaces=live.version)


# What the requests have, and it is not enough


def nobody_approved(world: World) -> None:
    """Leave them as they were asked for."""


def an_older_content_was_approved(world: World) -> None:
    """Let another person approve each, and then edit it."""
    for request in world.requests.values():
        approved_by(world.second, request)
        if request.kind in KINDS:
            by = as_decider(world.workspace, world.author)
            wish = wish_of(request.kind, reason="Something else")
            edit_change(change_id=request.id, wish=wish, by=by, now=timezone.now())
        else:
            ChangeRequest.objects.filter(id=request.id).update(reason="Something else")


def the_author_approved(world: World) -> None:
    """Put approvals of the author themselves behind the services' back."""
    for request in world.requests.values():
        approved_by(world.author, request)


def who_may_not_approve_approved(world: World) -> None:
    for request in world.requests.values():
        approved_by(world.puppet, request)


def approved_by(person: Person, request: ChangeRequest) -> None:
    digest = selectors.content_digest(request)
    Approval.objects.create(request=request, person=person, digest=digest, approved_at=timezone.now())


LACKING = [
    nobody_approved,
    an_older_content_was_approved,
    the_author_approved,
    who_may_not_approve_approved,
]


# The ways in


def by_api(what: str) -> Callable[[World], None]:
    def deed(world: World) -> None:
        for kind in KINDS:
            answer = world.token.post(f"/v1/config/diffs/{world.requests[kind].id}/{what}")
            assert answer.status in {403, 409}

    return deed


def by_the_inbox(world: World) -> None:
    for request in world.requests.values():
        with access.bound(world.workspace.id):
            seen = selectors.content_digest(request.refresh())
        for act in ("approve", "publish"):
            form = {"seen": seen, "reason": "Alone"}
            answer = world.client.post(world.page(f"approvals/{request.id}/{act}/"), form)
            assert answer.status_code == 403


def by_the_switch(world: World) -> None:
    with access.bound(world.workspace.id):
        version = documents.live("features")["features"].version
    for key in ("agent_state", "history"):
        address = world.page(f"features/{key}/change/")
        answer = world.client.post(address, {"version": version, "reason": "Alone"})
        assert "/approvals/" in answer["Location"]


def by_the_draft(world: World) -> None:
    with access.bound(world.workspace.id):
        live = documents.live("object-types")["object-types"]
    body = {"types": [*live.body["types"], factories.order_type(type="other", agents=["other"])]}
    form = {"document": json.dumps(body), "version": live.version, "reason": "Alone", "drop": ""}
    address = world.page("documents/object-types/draft/")
    checked: Any = world.client.post(address, {**form, "act": "check"})
    mark = checked.context["form"]["checked"].value()
    answer = world.client.post(address, {**form, "checked": mark, "act": "publish"})
    assert "/approvals/" in answer["Location"]


def by_a_draft_of_the_others(world: World) -> None:
    changes: dict[str, Any] = {"masking": {"regions": ["PT"]}, "retention": {"regime": "GDPR"}}
    for kind, change in changes.items():
        with access.bound(world.workspace.id):
            live = documents.live(kind)[kind]
        form = {"document": json.dumps({**live.body, **change}), "version": live.version, "reason": "Alone"}
        address = world.page(f"documents/{kind}/draft/")
        checked: Any = world.client.post(address, {**form, "act": "check"})
        mark = checked.context["form"]["checked"].value()
        answer = world.client.post(address, {**form, "checked": mark, "act": "publish"})
        assert "/approvals/" in answer["Location"]


def by_the_setting(world: World) -> None:
    with access.bound(world.workspace.id):
        version = selectors.four_eyes().version
    for kinds in ([], ["erasure"]):
        form = {"version": version, "kinds": kinds, "reason": "Alone"}
        answer = world.client.post(world.page("approvals/four-eyes/"), form)
        assert "/approvals/" in answer["Location"]


def by_the_roles_of_somebody(world: World) -> None:
    address = world.page(f"people/{world.puppet.id}/roles/")
    for role in ("security", "owner", "privacy"):
        form = {"roles": ["support", role], "reason": "Alone", "step": "confirm"}
        assert "/approvals/" in world.client.post(address, form)["Location"]


def by_an_invitation(world: World) -> None:
    for role in ("security", "owner", "privacy"):
        form = {"email": f"{role}-sock@example.com", "roles": [role], "reason": "Alone"}
        assert "/approvals/" in world.client.post(world.page("people/invite/"), form)["Location"]


def by_an_older_invitation(world: World) -> None:
    form = {"name": "Sock", "password1": factories.PASSWORD, "password2": factories.PASSWORD}
    answer = Client().post(f"/console/invitation/{world.invitation}/", form)
    assert answer.status_code == 422


def by_the_worker(world: World) -> None:
    """Let the requests be due, as if somebody had scheduled them."""
    with access.bound(world.workspace.id):
        due = {"status": "scheduled", "publish_at": timezone.now() - timedelta(minutes=1)}
        ChangeRequest.objects.update(publisher=world.author, **due)
    publish_scheduled()
    with access.bound(world.workspace.id):
        assert set(ChangeRequest.objects.values_list("status", "failure")) == {
            ("failed", "approval_required")
        }


def by_a_command(world: World) -> None:
    slug = world.workspace.slug
    with pytest.raises(CommandError):
        call_command("create_workspace", slug, name="Again", owner="sock@example.com")
    call_command("create_workspace", f"{slug}-2", name="Another", owner="sock@example.com", verbosity=0)


def by_the_demo(world: World, tmp_path: Path) -> None:
    call_command("load_demo", json=str(tmp_path / "demo.json"))


def by_services(world: World) -> None:
    """Call what the ways call, with the requests that they would need."""
    now, author = timezone.now(), world.author
    request = world.requests[rules.ROLE_GRANT]
    with access.bound(world.workspace.id):
        by = as_decider(world.workspace, author)
        wish: dict[str, Any] = {"reason": "Alone", "actor": by.actor, "now": now}
        version, features = selectors.four_eyes().version, documents.live("features")["features"].version
        weaker = world.requests[rules.FOUR_EYES]
        deeds: list[Callable[[], Any]] = [
            lambda: switch_feature(
                feature="history", on=True, replaces=features, person_id=author.id, **wish
            ),
            lambda: people.change_roles(
                person=world.puppet, roles=["security"], changer=author, request=request, **wish
            ),
            lambda: people.invite(
                workspace=world.workspace,
                email="puppet@example.com",
                roles=["owner"],
                inviter=author,
                request=request,
                **wish,
            ),
            lambda: set_four_eyes(
                kinds=["masking"], replaces=version, reason="Alone", by=by, now=now, request=weaker
            ),
            *(
                lambda kind=kind: publish_change(
                    change_id=world.requests[kind].id, publisher_id=author.id, actor=by.actor, now=now
                )
                for kind in KINDS
            ),
            *(
                lambda kind=kind: publish_at_once(
                    wish=wish_of(kind), person_id=None, actor=factories.SYSTEM, now=now
                )
                for kind in KINDS
            ),
            *(
                lambda request=request: gate.publish(change_id=request.id, by=by, now=now)
                for request in world.requests.values()
            ),
            *(
                lambda request=request: gate.approve(change_id=request.id, by=by, now=now)
                for request in world.requests.values()
            ),
        ]
        for deed in deeds:
            with pytest.raises(Problem) as refused:
                deed()
            assert refused.value.code in {"approval_required", "own_change"}


WITH_A_REQUEST: dict[str, Callable[..., None]] = {
    "privacy.views.documents.DocumentApprovalView": by_api("approve"),
    "privacy.views.documents.DocumentPublicationView": by_api("publish"),
    "privacy.tasks.publish_scheduled": by_the_worker,
    "console.views.approvals.approval_act": by_the_inbox,
}
AT_ONCE: dict[str, Callable[..., None]] = {
    "console.views.approvals.four_eyes": by_the_setting,
    "console.views.features.feature_change": by_the_switch,
    "console.views.drafts.types_draft": by_the_draft,
    "console.views.drafts.document_draft": by_a_draft_of_the_others,
    "console.views.people.person_roles": by_the_roles_of_somebody,
    "console.views.people.invite": by_an_invitation,
    "console.views.session.invitation": by_an_older_invitation,
    "workspaces.management.commands.create_workspace.Command": by_a_command,
    "console.management.commands.load_demo.Command": by_the_demo,
}
SHARES_ITS_NEEDS = {"privacy.views.documents.DocumentDenialView"}
"""It names the approval's view for its needs, and publishes nothing."""


def test_every_way_is_tried() -> None:
    """PR-2b: a view, command or task from which the code reaches a writer, and that is not tried here, fails."""
    assert writers() == WRITERS
    assert entrances_to(writers()) - SHARES_ITS_NEEDS == WITH_A_REQUEST.keys() | AT_ONCE.keys()


def test_no_admin_writes() -> None:
    """PR-2b, PL-20: there is no admin site that could go around the gate."""
    assert not apps.is_installed("django.contrib.admin")


@pytest.mark.parametrize("lacking", LACKING, ids=lambda lacking: lacking.__name__)
@pytest.mark.parametrize("way", [*WITH_A_REQUEST, "the services"])
def test_no_request_comes_into_force_without_an_approval(
    world: World, way: str, lacking: Callable[[World], None]
) -> None:
    """PR-2b: without an approval, with one of an older content, or by the author, no way changes anything."""
    with access.bound(world.workspace.id):
        lacking(world)
    before = snapshot(world)
    WITH_A_REQUEST.get(way, by_services)(world)
    assert snapshot(world) == before


@pytest.mark.parametrize("way", AT_ONCE)
def test_no_way_changes_anything_at_once(world: World, tmp_path: Path, way: str) -> None:
    """PR-2b: what changed something at once without four eyes is a request with them, or refused."""
    before = snapshot(world)
    deed = AT_ONCE[way]
    if deed is by_the_demo:
        deed(world, tmp_path)
    else:
        deed(world)
    assert snapshot(world) == before
    assert not Group.objects.filter(user__email="sock@example.com").exists()


@pytest.mark.parametrize("kind", rules.ASKED)
def test_the_same_requests_come_into_force_once_another_person_approves(world: World, kind: str) -> None:
    """PR-2b: what was refused above lacked nothing but the approval of somebody else."""
    before = snapshot(world)
    with access.bound(world.workspace.id):
        by = as_decider(world.workspace, world.second)
        done = gate.approve(change_id=world.requests[kind].id, by=by, now=timezone.now())
    assert done.status == "published"
    assert snapshot(world) != before
