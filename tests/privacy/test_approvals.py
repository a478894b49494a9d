"""Changes take four eyes where a workspace says so: approved, denied, edited, scheduled, or by breaking the glass."""

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from privacy.selectors.approvals import needs_approval
from privacy.services import approvals as gate
from privacy.tasks import publish_scheduled
from tests import factories
from tests.api import Answer, InProcess
from tests.privacy.approvals import as_decider, four_eyes_on, requests
from tests.privacy.changes import DIFFS, approve, change, live, propose
from tests.privacy.conftest import signed
from workspaces import access
from workspaces.errors import ApprovalRequired, OwnChange, PermissionMissing, RoleNotAllowed, WrongVersion
from workspaces.models import AuditEntry, ChangeRequest, Invitation, Person
from workspaces.rules import approvals as rules
from workspaces.rules.documents import KINDS
from workspaces.rules.rights import ROLES
from workspaces.selectors.people import roles_of
from workspaces.services import people
from workspaces.services.approvals import set_four_eyes
from workspaces.types import Decider, Origin, WorkspaceRef


@pytest.fixture
def strict(aurora: WorkspaceRef) -> WorkspaceRef:
    """Aurora, in which four eyes hold for every kind and for erasures."""
    four_eyes_on(aurora, *rules.GUARDED)
    return aurora


@pytest.fixture
def second(aurora: WorkspaceRef) -> InProcess:
    """Another security person of Aurora."""
    return signed(aurora, "security")


def act(api: InProcess, what: str, proposed: Answer, **body: Any) -> Answer:
    return api.post(f"{DIFFS}/{proposed.body['diff_id']}/{what}", body)


def status_of(answer: Answer) -> tuple[int, Any]:
    return answer.status, answer.code or answer.body["status"]


# The setting


def test_the_setting_is_off_and_is_asked_by_kind(aurora: WorkspaceRef) -> None:
    """PR-2b: a workspace begins without four eyes; each kind, and erasures, has a switch of its own."""
    with access.bound(aurora.id):
        assert not [kind for kind in rules.GUARDED if needs_approval(kind)]
    four_eyes_on(aurora, "masking", "erasure")
    with access.bound(aurora.id):
        assert [kind for kind in rules.GUARDED if needs_approval(kind)] == ["masking", "erasure"]


def test_without_four_eyes_approving_publishes_at_once(aurora: WorkspaceRef, security: InProcess) -> None:
    """PR-2: with four eyes for another kind only, the author publishes by approving, as before."""
    four_eyes_on(aurora, "retention")
    assert status_of(approve(security, propose(security, "masking"))) == (200, "published")


# Approving


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_person_approves_and_that_publishes(
    strict: WorkspaceRef, security: InProcess, second: InProcess, kind: str
) -> None:
    """PR-2b: the author is refused, another person who may also publish approves, and it is live."""
    before = live(security, kind)["version"]
    proposed = propose(security, kind)
    assert status_of(approve(security, proposed)) == (403, "own_change")
    assert status_of(act(security, "publish", proposed)) == (409, "approval_required")
    assert live(security, kind)["version"] == before
    assert status_of(approve(second, proposed)) == (200, "published")
    assert live(security, kind)["version"] == before + 1


def test_create_approve_and_publish_are_separate_permissions(
    strict: WorkspaceRef, engineer: InProcess, owner: InProcess
) -> None:
    """PR-2b: who may only approve leaves it to who may publish; the author publishes no more than others may."""
    approver = InProcess(
        factories.make_token(strict, factories.make_person_quietly(strict, "security"), "approve_documents")
    )
    proposed = propose(engineer, "object-types")
    assert status_of(approve(owner, proposed)) == (403, "permission_missing")
    assert status_of(act(owner, "publish", proposed)) == (409, "approval_required")
    assert status_of(approve(approver, proposed)) == (200, "approved")
    assert status_of(act(engineer, "publish", proposed)) == (403, "permission_missing")
    assert status_of(act(owner, "publish", proposed)) == (200, "published")


def test_a_source_reads_a_change_and_does_nothing_with_it(strict: WorkspaceRef, security: InProcess) -> None:
    """PR-2: a source's key reads what is proposed; approving, denying and publishing take a person."""
    key = InProcess(factories.make_key(strict, "admin"))
    proposed = propose(security, "masking", reason="A new region")
    read = key.get(f"{DIFFS}/{proposed.body['diff_id']}")
    assert (read.status, read.body["reason"], read.body["needs_approval"], read.body["approvals"]) == (
        200,
        "A new region",
        True,
        0,
    )
    for what in ("approve", "deny", "withdraw", "publish"):
        assert act(key, what, proposed, reason="r").status == 403


def edited(**members: Any) -> list[tuple[str, dict[str, Any]]]:
    body = change("masking")
    regions = {**body["document"], "regions": ["PT"]}
    return [
        ("document", {**body, "document": regions}),
        ("reason", {**body, "reason": "Another reason"}),
        ("drop", {**body, "drop": ["order.step"]}),
        ("date", {**body, "publish_at": (timezone.now() + timedelta(days=2)).isoformat()}),
    ]


@pytest.mark.parametrize(("what", "body"), edited(), ids=[row[0] for row in edited()])
def test_any_edit_voids_the_approval(
    strict: WorkspaceRef, engineer: InProcess, owner: InProcess, what: str, body: dict[str, Any]
) -> None:
    """PR-2b: an approval is of exactly the content; after an edit nothing is published until it is approved anew."""
    approver = InProcess(
        factories.make_token(strict, factories.make_person_quietly(strict, "security"), "approve_documents")
    )
    proposed = propose(engineer, "masking")
    assert status_of(approve(approver, proposed)) == (200, "approved")
    address = f"{DIFFS}/{proposed.body['diff_id']}"
    assert status_of(engineer.call("PUT", address, body)) == (200, "proposed")
    assert status_of(act(owner, "publish", proposed)) == (409, "approval_required")
    assert engineer.get(address).body["approvals"] == 0
    assert status_of(approve(approver, proposed)) == (200, "approved")
    assert status_of(act(owner, "publish", proposed))[0] == 200


def test_an_approval_is_of_what_was_read(
    strict: WorkspaceRef, security: InProcess, second: InProcess
) -> None:
    """PR-2b: who names the content that they read approves that one, and no other that came between."""
    proposed = propose(security, "masking")
    address = f"{DIFFS}/{proposed.body['diff_id']}"
    seen = second.get(address).body["digest"]
    assert status_of(security.call("PUT", address, change("masking", reason="Another"))) == (200, "proposed")
    assert status_of(act(second, "approve", proposed, digest=seen)) == (412, "wrong_version")
    seen = second.get(address).body["digest"]
    assert status_of(act(second, "approve", proposed, digest=seen)) == (200, "published")


def test_only_the_author_edits_and_withdraws(
    strict: WorkspaceRef, security: InProcess, second: InProcess
) -> None:
    """PR-2b: nobody changes what somebody else asked for; they deny it, with a reason."""
    proposed = propose(security, "masking")
    address = f"{DIFFS}/{proposed.body['diff_id']}"
    assert status_of(second.call("PUT", address, change("masking"))) == (403, "own_change")
    assert status_of(act(second, "withdraw", proposed, reason="No")) == (403, "own_change")
    assert status_of(act(security, "deny", proposed, reason="No")) == (403, "own_change")
    assert act(second, "deny", proposed).status == 422
    assert status_of(act(second, "deny", proposed, reason="Not now")) == (200, "denied")
    assert status_of(approve(second, proposed)) == (409, "conflict")
    other = propose(security, "masking")
    assert status_of(act(security, "withdraw", other, reason="No longer needed")) == (200, "withdrawn")
    assert status_of(approve(second, other)) == (409, "conflict")


def test_an_approval_ends_with_the_right_of_who_gave_it(
    strict: WorkspaceRef, engineer: InProcess, owner: InProcess
) -> None:
    """PR-2b: when the approver may approve no more, what they approved is not published."""
    person = factories.make_person_quietly(strict, "security")
    approver = InProcess(factories.make_token(strict, person, "approve_documents"))
    proposed = propose(engineer, "masking")
    assert status_of(approve(approver, proposed)) == (200, "approved")
    with access.bound(strict.id):
        people.change_roles(
            person=person,
            roles=["auditor"],
            changer=factories.make_person_quietly(strict, "owner"),
            reason="Moved on",
            actor=factories.SYSTEM,
            now=timezone.now(),
        )
    assert status_of(act(owner, "publish", proposed)) == (409, "approval_required")


# Scheduled


def scheduled(
    strict: WorkspaceRef, security: InProcess, second: InProcess, *, kind: str = "masking"
) -> Answer:
    at = (timezone.now() + timedelta(hours=1)).isoformat()
    proposed = propose(security, kind, publish_at=at)
    assert status_of(approve(second, proposed)) == (200, "scheduled")
    return proposed


def let_time_pass(workspace: WorkspaceRef) -> None:
    """Let the hour pass for who looks at the clock, and for the approval, which is of the moment too."""
    with access.bound(workspace.id):
        for request in ChangeRequest.objects.filter(status="scheduled"):
            by = request.approvals.get()
            request.publish_at = timezone.now() - timedelta(seconds=1)
            request.save()
            by.digest = requests.content_digest(request)
            by.save()


def test_a_scheduled_change_is_published_at_its_time(
    strict: WorkspaceRef, security: InProcess, second: InProcess
) -> None:
    """PR-2b: it waits for its time, nobody publishes it before, and the worker does so then."""
    before = live(security, "masking")["version"]
    proposed = scheduled(strict, security, second)
    assert status_of(act(security, "publish", proposed)) == (200, "scheduled")
    publish_scheduled()
    assert live(security, "masking")["version"] == before
    let_time_pass(strict)
    publish_scheduled()
    assert live(security, "masking")["version"] == before + 1
    with access.bound(strict.id):
        entry = AuditEntry.objects.filter(act="document.publish").latest("seq")
    assert (entry.actor_kind, entry.actor_id) == ("system", "schedule")


def test_a_scheduled_change_fails_visibly_when_what_it_replaces_has_moved(
    strict: WorkspaceRef, security: InProcess, second: InProcess, django_capture_on_commit_callbacks: Any
) -> None:
    """PR-2b: it is not published over another version: its status, the audit and a mail to its author say so."""
    proposed = scheduled(strict, security, second)
    assert status_of(approve(second, propose(security, "masking"))) == (200, "published")
    version = live(security, "masking")["version"]
    let_time_pass(strict)
    with django_capture_on_commit_callbacks(execute=True):
        publish_scheduled()
    assert live(security, "masking")["version"] == version
    read = security.get(f"{DIFFS}/{proposed.body['diff_id']}").body
    assert (read["status"], read["failure"]) == ("failed", "wrong_version")
    with access.bound(strict.id):
        entry = AuditEntry.objects.filter(act="document.publish").latest("seq")
    assert (entry.result, entry.facts["code"]) == ("failed", "wrong_version")
    assert len(mail.outbox) == 2
    assert "wrong_version" in mail.outbox[0].body
    publish_scheduled()
    assert status_of(act(security, "publish", proposed)) == (409, "conflict")
    mended = change("masking", replaces=version)
    assert status_of(security.call("PUT", f"{DIFFS}/{proposed.body['diff_id']}", mended)) == (200, "proposed")


@pytest.mark.parametrize(
    ("days", "code"), [(-1, "too_small"), (400, "too_large")], ids=["in the past", "in two years"]
)
def test_a_date_lies_within_a_year(strict: WorkspaceRef, security: InProcess, days: int, code: str) -> None:
    """PR-2b: a date that is past or far away is refused at its place."""
    at = (timezone.now() + timedelta(days=days)).isoformat()
    answer = propose(security, "masking", publish_at=at)
    assert answer.status == 422
    assert [(problem["pointer"], problem["code"]) for problem in answer.body["errors"]] == [
        ("/publish_at", code)
    ]


# Breaking the glass


def test_an_owner_breaks_the_glass_and_security_is_told(
    strict: WorkspaceRef, security: InProcess, owner: InProcess, django_capture_on_commit_callbacks: Any
) -> None:
    """PR-2b: with a reason, an owner publishes without approval; each security person gets a mail without content."""
    proposed = propose(security, "masking", reason="Quiet words")
    assert status_of(act(security, "publish", proposed, break_glass=True, reason="r")) == (
        403,
        "permission_missing",
    )
    assert act(owner, "publish", proposed, break_glass=True).status == 422
    with django_capture_on_commit_callbacks(execute=True):
        answer = act(owner, "publish", proposed, break_glass=True, reason="The bot leaks")
    assert status_of(answer) == (200, "published")
    with access.bound(strict.id):
        entry = AuditEntry.objects.get(act="document.break_glass")
        told = {person.email for person in Person.objects.all() if "security" in roles_of(person)}
    assert (entry.object_id, entry.reason) == ("masking", "The bot leaks")
    assert {address for message in mail.outbox for address in message.to} == told
    assert len(told) == 1
    text = f"{mail.outbox[0].subject}{mail.outbox[0].body}"
    assert "masking" in text
    assert f"/console/w/{strict.slug}/approvals/{proposed.body['diff_id']}/" in text
    assert "Quiet words" not in text
    assert "leaks" not in text


def test_features_take_security_too_to_break_the_glass(
    strict: WorkspaceRef, security: InProcess, owner: InProcess
) -> None:
    """PR-2b: for `features` one person is owner and security, or the glass stays whole."""
    proposed = propose(security, "features")
    for api in (owner, security):
        answer = act(api, "publish", proposed, break_glass=True, reason="r")
        assert status_of(answer) == (403, "permission_missing")
    person = factories.make_person_quietly(strict, "owner", "security")
    both = InProcess(factories.make_token(strict, person, "break_glass", "change_features"))
    assert status_of(act(both, "publish", proposed, break_glass=True, reason="r")) == (200, "published")


def test_no_glass_is_broken_where_none_is(
    aurora: WorkspaceRef, security: InProcess, owner: InProcess
) -> None:
    """PR-2b: where four eyes do not hold, breaking the glass is refused: it would alarm for nothing."""
    proposed = propose(security, "masking")
    assert status_of(act(owner, "publish", proposed, break_glass=True, reason="r")) == (409, "conflict")


# Weaker four eyes, and roles that approve


def decide(workspace: WorkspaceRef, *roles: str) -> Decider:
    return as_decider(workspace, factories.make_person_quietly(workspace, *roles))


def change_setting(by: Decider, *kinds: str) -> Any:
    return gate.change_four_eyes(
        kinds=kinds,
        replaces=requests.four_eyes().version,
        reason="For a test",
        by=by,
        now=timezone.now(),
    )


@pytest.mark.parametrize("role", ["owner", "security"])
def test_stronger_four_eyes_hold_at_once(aurora: WorkspaceRef, role: str) -> None:
    """PR-2b: one person, owner or security, turns them on; others are refused."""
    with access.bound(aurora.id):
        with pytest.raises(PermissionMissing):
            change_setting(decide(aurora, "privacy"), "erasure")
        assert change_setting(decide(aurora, role), "features", "erasure") is None
        assert needs_approval("features")
        assert needs_approval("erasure")


def test_weaker_four_eyes_take_four_eyes(strict: WorkspaceRef) -> None:
    """PR-2b: turning them off for one kind, or for erasures, is a request that another person approves."""
    with access.bound(strict.id):
        author, other = decide(strict, "security"), decide(strict, "owner")
        request = change_setting(author, *KINDS)
        assert request.kind == rules.FOUR_EYES
        assert needs_approval("erasure")
        with pytest.raises(OwnChange):
            gate.approve(change_id=request.id, by=author, now=timezone.now())
        with pytest.raises(ApprovalRequired):
            gate.publish(change_id=request.id, by=author, now=timezone.now())
        assert gate.approve(change_id=request.id, by=other, now=timezone.now()).status == "published"
        assert not needs_approval("erasure")


def test_a_setting_that_moved_is_not_overwritten(strict: WorkspaceRef) -> None:
    """PR-2b: of two requests to weaken, the one made from the older setting is refused."""
    with access.bound(strict.id):
        author, other = decide(strict, "security"), decide(strict, "owner")
        first, second = change_setting(author, *KINDS), change_setting(author, "erasure")
        gate.approve(change_id=first.id, by=other, now=timezone.now())
        with pytest.raises(WrongVersion):
            gate.approve(change_id=second.id, by=other, now=timezone.now())


@pytest.mark.parametrize(
    ("roles", "is_enough"), [(["owner"], False), (["security"], False), (["owner", "security"], True)]
)
def test_only_who_is_owner_and_security_breaks_that_glass(
    strict: WorkspaceRef, roles: list[str], *, is_enough: bool
) -> None:
    """PR-2b: weakening without approval takes one person who holds both roles."""
    with access.bound(strict.id):
        request, by = change_setting(decide(strict, "security"), *KINDS), decide(strict, *roles)
        if not is_enough:
            with pytest.raises(PermissionMissing):
                gate.break_glass(change_id=request.id, reason="r", by=by, now=timezone.now())
            return
        done = gate.break_glass(change_id=request.id, reason="r", by=by, now=timezone.now())
        assert (done.status, needs_approval("erasure")) == ("published", False)


@pytest.mark.parametrize(
    ("kinds", "roles", "takes_two"),
    [
        ([], ["security"], False),
        (["masking"], ["security"], True),
        (["masking"], ["owner"], True),
        (["masking"], ["privacy", "support"], False),
        (["erasure"], ["privacy"], True),
        (["erasure"], ["support", "engineer", "auditor"], False),
    ],
)
def test_approving_roles_take_four_eyes(
    aurora: WorkspaceRef, kinds: list[str], roles: list[str], *, takes_two: bool
) -> None:
    """PR-2b: where four eyes hold, a role that approves or publishes is granted by two; any other by one."""
    four_eyes_on(aurora, *kinds)
    with access.bound(aurora.id):
        person = factories.make_person_quietly(aurora, "support")
        author = factories.make_person_quietly(aurora, "owner")
        wish: dict[str, Any] = {
            "reason": "For a test",
            "actor": factories.SYSTEM,
            "now": timezone.now(),
            "roles": roles,
        }
        request = gate.change_roles(person=person, changer=author, **wish)
        invited = gate.invite(email="new@example.com", inviter=author, **wish)
        assert (request is not None, invited is not None) == (takes_two, takes_two)
        assert Invitation.objects.exists() is not takes_two
        if request is None or invited is None:
            assert set(roles_of(person)) == set(roles)
            return
        assert roles_of(person) == ("support",)
        own, themselves = as_decider(aurora, author), Decider(person.id, ROLES["security"], factories.SYSTEM)
        for by in (own, themselves):
            with pytest.raises(OwnChange):
                gate.approve(change_id=request.id, by=by, now=timezone.now())
        gate.approve(change_id=request.id, by=decide(aurora, "security"), now=timezone.now())
        assert set(roles_of(person)) == set(roles)
        gate.approve(change_id=invited.id, by=decide(aurora, "security"), now=timezone.now())
        assert Invitation.objects.get().request_id == invited.id


def test_an_approved_invitation_is_accepted(strict: WorkspaceRef, monkeypatch: pytest.MonkeyPatch) -> None:
    """PR-2b: the link that follows an approval gives the roles that were approved."""
    monkeypatch.setattr("workspaces.services.people.secrets.token_urlsafe", lambda _: "the-token")
    with access.bound(strict.id):
        request = gate.invite(
            email="new@example.com",
            inviter=factories.make_person_quietly(strict, "owner"),
            roles=["security"],
            reason="r",
            actor=factories.SYSTEM,
            now=timezone.now(),
        )
        assert request is not None
        gate.approve(change_id=request.id, by=decide(strict, "security"), now=timezone.now())
    person = people.accept_invitation(
        token="the-token", name="New", password=factories.PASSWORD, origin=Origin(), now=timezone.now()
    )
    with access.bound(strict.id):
        assert roles_of(person) == ("security",)


def test_roles_that_changed_meanwhile_are_not_overwritten(strict: WorkspaceRef) -> None:
    """PR-2b: a grant that was asked for over other roles than the person holds now is refused."""
    with access.bound(strict.id):
        person, author = (factories.make_person_quietly(strict, role) for role in ("support", "owner"))
        wish: dict[str, Any] = {"reason": "r", "actor": factories.SYSTEM, "now": timezone.now()}
        request = gate.change_roles(person=person, roles=["security"], changer=author, **wish)
        assert request is not None
        assert gate.change_roles(person=person, roles=["engineer"], changer=author, **wish) is None
        with pytest.raises(WrongVersion):
            gate.approve(change_id=request.id, by=decide(strict, "security"), now=timezone.now())
        assert roles_of(person) == ("engineer",)


def test_an_approver_of_ones_own_making_is_refused(strict: WorkspaceRef) -> None:
    """PR-2b: who needs an approval and makes an approver is where they were: that takes an approval too."""
    with access.bound(strict.id):
        author = factories.make_person_quietly(strict, "owner", "engineer")
        puppet = factories.make_person_quietly(strict, "support")
        wish: dict[str, Any] = {"reason": "r", "actor": factories.SYSTEM, "now": timezone.now()}
        request = gate.change_roles(person=puppet, roles=["security"], changer=author, **wish)
        assert request is not None
        with pytest.raises(OwnChange):
            gate.approve(change_id=request.id, by=as_decider(strict, author), now=timezone.now())
        with pytest.raises(PermissionMissing):
            gate.approve(change_id=request.id, by=as_decider(strict, puppet), now=timezone.now())
        with pytest.raises(ApprovalRequired):
            people.change_roles(person=puppet, roles=["security"], changer=author, **wish)
        with pytest.raises(ApprovalRequired):
            people.change_roles(person=puppet, roles=["security"], changer=author, request=request, **wish)
        assert roles_of(puppet) == ("support",)


def test_an_invitation_from_before_gives_no_approving_role(aurora: WorkspaceRef) -> None:
    """PR-2b: a link to an approving role that nobody else approved opens nothing once four eyes hold."""
    with access.bound(aurora.id):
        token = people.invite(
            workspace=aurora,
            email="new@example.com",
            roles=["security"],
            inviter=factories.make_person(aurora, "owner"),
            actor=factories.SYSTEM,
            now=timezone.now(),
        )
    four_eyes_on(aurora, "masking")
    with pytest.raises(RoleNotAllowed):
        people.accept_invitation(
            token=token, name="N", password=factories.PASSWORD, origin=Origin(), now=timezone.now()
        )
    assert not Person.objects.filter(email="new@example.com").exists()


def test_the_setting_itself_refuses_to_be_weakened(strict: WorkspaceRef) -> None:
    """PR-2b: the service that keeps the setting takes no other request than one of exactly this."""
    with access.bound(strict.id):
        by = decide(strict, "owner", "security")
        wish: dict[str, Any] = {"reason": "r", "now": timezone.now()}
        version = requests.four_eyes().version
        with pytest.raises(ApprovalRequired):
            set_four_eyes(kinds=["masking"], replaces=version, by=by, **wish)
        request = change_setting(decide(strict, "security"), *KINDS)
        gate_by = decide(strict, "owner")
        requests_approved = gate.approve(change_id=request.id, by=gate_by, now=timezone.now())
        with pytest.raises(ApprovalRequired):
            set_four_eyes(kinds=["masking"], replaces=version + 1, by=by, request=requests_approved, **wish)
