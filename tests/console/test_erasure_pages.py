"""Requests for erasure in the console: by deadline, with a dry run before and a receipt after (PR-9 to PR-17, CO-5)."""

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from console.views.erasures import STEP_TITLES, TARGET_WORDS
from privacy import tasks
from privacy.models import ErasureRequest
from privacy.rules import erasures as rules
from privacy.services import erasing, erasures
from privacy.services.erasures import Asker
from privacy.types import Target
from tests import factories
from tests.api import InProcess
from tests.console.conftest import SignedIn
from workspaces import access
from workspaces.models import AuditEntry, FourEyes, Handle, Person, Profile
from workspaces.types import Actor, WorkspaceRef

ANA = {"type": "email", "value": "ana@example.com"}
PHONE = {"type": "phone_e164", "value": "+55 11 91234-5678"}
REASON = {"reason": "Asked by letter"}


@pytest.fixture
def privacy(aurora: WorkspaceRef) -> Person:
    return factories.make_person(aurora, "privacy", name="Petra")


@pytest.fixture
def client(privacy: Person, signed_in: SignedIn) -> Client:
    return signed_in(privacy)


@pytest.fixture
def second(aurora: WorkspaceRef, signed_in: SignedIn) -> Client:
    """Another privacy officer."""
    return signed_in(factories.make_person(aurora, "privacy", name="Paulo"))


def at(workspace: WorkspaceRef, *rest: Any) -> str:
    return "/".join([f"/console/w/{workspace.slug}", *map(str, rest), ""])


def store(workspace: WorkspaceRef, subject: dict[str, str], **members: Any) -> dict[str, str]:
    scope = factories.scope()
    factories.make_state(workspace, scope=scope, subject=subject, **members)
    return scope


def profile_of(workspace: WorkspaceRef) -> Profile:
    with access.bound(workspace.id):
        return Profile.objects.latest("created_at")


def only_request(workspace: WorkspaceRef) -> ErasureRequest:
    with access.bound(workspace.id):
        return ErasureRequest.objects.get()


def need_approval(workspace: WorkspaceRef) -> None:
    with access.bound(workspace.id):
        FourEyes.objects.update(kinds=["erasure"])


def ask(
    workspace: WorkspaceRef, *, actor: Actor = factories.SYSTEM, is_verified: bool = True, **over: Any
) -> UUID:
    """Ask for the erasure of a conversation of its own."""
    with access.bound(workspace.id):
        request = erasures.request_erasure(
            workspace=workspace,
            target=Target(kind="conversation", scope_id=uuid4().hex),
            asker=Asker(actor, is_verified=is_verified),
            now=timezone.now(),
        )
        ErasureRequest.objects.filter(id=request.id).update(**over)
        return request.id


class TestAsking:
    """CO-5: what would go is shown, and the pseudonym typed, before anything goes."""

    def test_from_a_profile(
        self, aurora: WorkspaceRef, client: Client, django_capture_on_commit_callbacks: Any
    ) -> None:
        """PR-9, CO-5: the dialog counts; with the identity verified and no approval asked for, it is gone at once."""
        scope = store(aurora, ANA)
        profile = profile_of(aurora)
        address = at(aurora, "profiles", profile.id, "erase")
        shown = client.get(address).context["dry_run"]
        assert (shown.states, shown.handles, shown.profiles) == (1, 1, 1)
        assert shown.bytes > 0

        with django_capture_on_commit_callbacks(execute=True):
            answer = client.post(address, {"typed": profile.pseudonym, "verified": "on", **REASON})
        request = only_request(aurora)
        assert answer["Location"] == at(aurora, "erasures", request.id)
        assert request.status == "running"
        assert client.get(at(aurora, "profiles", profile.id)).status_code == 404
        agent = InProcess(factories.make_key(aurora))
        assert agent.read(scope).body["version"] == 0

        assert erasing.run(workspace=aurora, request_id=request.id)
        page = client.get(at(aurora, "erasures", request.id))
        assert [(step.title, step.status) for step in page.context["steps"]][1] == (
            "Working memory",
            "success",
        )
        assert {str(fact.label): fact.value for fact in page.context["removed"]} == {
            "States": "1",
            "Handles": "1",
            "Profiles": "1",
        }
        file = client.get(at(aurora, "erasures", request.id).rstrip("/") + "/receipt.json")
        request = only_request(aurora)
        assert file["Content-Disposition"] == f"attachment; filename={request.reference}.json"
        assert json.loads(file.content) == request.receipt
        with access.bound(aurora.id):
            assert AuditEntry.objects.filter(act="erasure.receipt").count() == 1

    def test_without_a_verified_identity_it_waits(self, aurora: WorkspaceRef, client: Client) -> None:
        """PR-17: a request of somebody who is not identified is taken and waits to be verified, then approved."""
        store(aurora, ANA)
        profile = profile_of(aurora)
        client.post(at(aurora, "profiles", profile.id, "erase"), {"typed": profile.pseudonym, **REASON})
        request = only_request(aurora)
        assert request.status == "received"
        page = client.get(at(aurora, "erasures", request.id))
        assert page.context["dry_run"].states == 1
        assert page.context["verify_url"]
        assert not page.context["approve_url"]
        client.post(at(aurora, "erasures", request.id, "verify"), {"reason": "Passport seen"})
        assert only_request(aurora).status == "verified"
        client.post(at(aurora, "erasures", request.id, "approve"), {"reason": "Fine"})
        assert only_request(aurora).status == "approved"

    def test_a_typed_handle(self, aurora: WorkspaceRef, client: Client) -> None:
        """CO-3: a handle is sent by POST, leads to an address of ids alone, and is on no page after."""
        store(aurora, ANA)
        profile = profile_of(aurora)
        with access.bound(aurora.id):
            handle = Handle.objects.get()
        form = {"kind": "", "handle": ANA["value"], "namespace": "", "what": "handle"}
        answer = client.post(at(aurora, "erasures", "new"), form)
        address = at(aurora, "profiles", profile.id, "erase") + f"?handle={handle.id}"
        assert answer["Location"] == address
        page = client.get(address)
        assert page.context["only_handle"]
        assert ANA["value"] not in page.content.decode()
        refused = client.post(at(aurora, "erasures", "new"), {**form, "handle": "nobody@example.com"})
        assert "nobody@example.com" not in refused.content.decode()
        whole = client.post(at(aurora, "erasures", "new"), {**form, "what": "profile"})
        assert whole["Location"] == at(aurora, "profiles", profile.id, "erase")

        client.post(address, {"typed": profile.pseudonym, **REASON})
        assert only_request(aurora).target == "handle"
        with access.bound(aurora.id):
            text = " ".join(str(entry.facts) for entry in AuditEntry.objects.all())
        assert ANA["value"] not in text

    @pytest.mark.parametrize("kind", ["conversation", "task", "object"])
    def test_a_typed_id(
        self,
        aurora: WorkspaceRef,
        client: Client,
        kind: str,
        django_capture_on_commit_callbacks: Any,
    ) -> None:
        """PR-9, CO-3: a conversation, task or object is named by POST, and is in an address as a keyed hash alone.

        What would go is shown before, its id is typed again, and then all of it is gone, whomever it names.
        """
        named = factories.scope("cart:shop:77 of 1", kind=kind)
        factories.make_state(aurora, scope=named, subject=ANA)
        kept = store(aurora, ANA)
        new = at(aurora, "erasures", "new")
        answer = client.post(new, {"kind": "", "handle": named["id"], "namespace": "", "what": kind})
        address = answer["Location"]
        assert (answer.status_code, "shop" in address) == (303, False)
        page = client.get(address)
        assert (page.context["dry_run"].states, page.context["dry_run"].handles) == (1, 0)

        form = {"typed": named["id"], "verified": "on", **REASON}
        other = client.post(address, {**form, "typed": "cart:shop:78"})
        for shown in (page, other):
            assert "shop:7" not in shown.content.decode()
        assert (other.status_code, list(other.context["form"].errors)) == (422, ["typed"])
        with access.bound(aurora.id):
            assert not ErasureRequest.objects.exists()

        with django_capture_on_commit_callbacks(execute=True):
            assert client.post(address, form).status_code == 303
        request = only_request(aurora)
        assert (request.target, request.target_id in address) == (kind, True)
        assert erasing.run(workspace=aurora, request_id=request.id)
        agent = InProcess(factories.make_key(aurora))
        assert [agent.read(place).body["version"] for place in (named, kept)] == [0, 1]
        with access.bound(aurora.id):
            text = " ".join(str(entry.facts) for entry in AuditEntry.objects.all())
        assert "shop" not in text

    def test_an_id_of_nothing(self, aurora: WorkspaceRef, client: Client) -> None:
        """PL-19: an address without a keyed hash of one of the three leads nowhere; an id of nothing is called one."""
        some = "0" * 64
        for wrong in (("workspace", some), ("profile", some), ("task", "0" * 63), ("task", "g" * 64)):
            assert client.get(at(aurora, "erasures", "new", *wrong)).status_code == 404
        page = client.get(at(aurora, "erasures", "new", "task", some))
        assert "Nothing is stored under this id now" in page.content.decode()
        elsewhere = factories.make_ready_workspace("Boreal")
        named = factories.scope("c-elsewhere")
        factories.make_state(elsewhere, scope=named)
        answer = client.post(at(aurora, "erasures", "new"), {"handle": named["id"], "what": "conversation"})
        assert client.get(answer["Location"]).context["dry_run"].states == 0

    def test_a_handle_of_somebody_else(self, aurora: WorkspaceRef, client: Client) -> None:
        """PL-1: an address that joins one person's id to another's handle leads nowhere."""
        store(aurora, ANA)
        ana = profile_of(aurora)
        store(aurora, PHONE)
        with access.bound(aurora.id):
            other = Handle.objects.exclude(profile=ana).get()
        for wrong in (other.id, uuid4(), "x"):
            assert client.get(at(aurora, "profiles", ana.id, "erase") + f"?handle={wrong}").status_code == 404


class TestDeciding:
    """PR-9, PR-17, CO-6: a second person approves, and a refusal names a word that a machine can read."""

    def test_the_author_does_not_approve(
        self, aurora: WorkspaceRef, client: Client, second: Client, privacy: Person
    ) -> None:
        """CO-6: where erasures need an approval, the author sees why there is no button, and is refused without it."""
        need_approval(aurora)
        store(aurora, ANA)
        profile = profile_of(aurora)
        form = {"typed": profile.pseudonym, "verified": "on", **REASON}
        client.post(at(aurora, "profiles", profile.id, "erase"), form)
        request = only_request(aurora)
        assert request.status == "verified"
        page = client.get(at(aurora, "erasures", request.id)).content.decode()
        assert "you asked for this one yourself" in page
        assert 'id="approve"' not in page
        approving = at(aurora, "erasures", request.id, "approve")
        assert "you asked for this one yourself" in client.get(approving).content.decode()
        assert client.post(approving, {"reason": "Mine"}).status_code == 409
        assert only_request(aurora).status == "verified"
        assert second.post(approving, {"reason": "Checked"}).status_code == 303
        assert only_request(aurora).status == "approved"

    def test_a_token_is_its_person(self, aurora: WorkspaceRef, client: Client, privacy: Person) -> None:
        """CO-6, PR-2b: who asks by a token is no second person in the console."""
        need_approval(aurora)
        token = InProcess(factories.make_token(aurora, privacy, "request_erasure"))
        asked = token.post("/v1/forget", {"target": "conversation", "conversation_id": "c-1"}).body
        approving = at(aurora, "erasures", asked["request_id"], "approve")
        assert client.post(approving, {"reason": "Mine"}).status_code == 409

    def test_refused(self, aurora: WorkspaceRef, client: Client) -> None:
        """PR-17: the list of the ended ones has it with its word; the page says that nothing was erased."""
        need_approval(aurora)
        request = ask(aurora)
        answer = client.post(
            at(aurora, "erasures", request, "refuse"), {"refusal": "legal_hold", "reason": "Tax law"}
        )
        assert answer.status_code == 303
        (row,) = client.get(at(aurora, "erasures", "ended")).context["erasures"]
        assert (row.status, row.refusal) == ("refused", "legal_hold")
        assert "Nothing was erased" in client.get(at(aurora, "erasures", request)).content.decode()
        assert client.get(at(aurora, "erasures")).context["erasures"] == []

    def test_extended(self, aurora: WorkspaceRef, client: Client) -> None:
        """PR-17: under GDPR by two months, once, with a reason; under LGPD never."""
        need_approval(aurora)
        start = datetime(2026, 11, 30, 12, tzinfo=UTC)
        gdpr = ask(aurora, regime="GDPR", requested_at=start, due_on=date(2026, 12, 30))
        lgpd = ask(aurora)
        address = at(aurora, "erasures", gdpr, "extend")
        assert client.get(address).context["longer"] == date(2027, 2, 28)
        assert client.post(address, {"reason": "Four systems"}).status_code == 303
        page = client.get(at(aurora, "erasures", gdpr))
        assert (page.context["erasure"].due, page.context["extend_url"]) == (date(2027, 2, 28), "")
        for again in (address, at(aurora, "erasures", lgpd, "extend")):
            assert client.post(again, {"reason": "Once more"}).status_code == 409


class TestList:
    """PR-17, CO-4: the nearest deadline first, late and due soon in a word."""

    def test_order_and_words(self, aurora: WorkspaceRef, client: Client) -> None:
        """PR-17: late, due soon and neither; the filters narrow; the navigation counts the open ones."""
        need_approval(aurora)
        today = timezone.now().date()
        for days in (20, -1, 7, 8, 0):
            ask(aurora, due_on=today + timedelta(days=days))
        page = client.get(at(aurora, "erasures"))
        words = [(row.due - today, row.due_word) for row in page.context["erasures"]]
        assert words == [
            (timedelta(days=days), word)
            for days, word in ((-1, "late"), (0, "due_soon"), (7, "due_soon"), (8, ""), (20, ""))
        ]
        assert {row.waits_for for row in page.context["erasures"]} == {"unapproved"}
        ask(aurora, is_verified=False, due_on=today + timedelta(days=30))
        last = client.get(at(aurora, "erasures")).context["erasures"][-1]
        assert (last.status, last.waits_for) == ("received", "unidentified")
        with access.bound(aurora.id):
            ErasureRequest.objects.filter(status="received").update(ended_at=timezone.now())
        counts = {str(item.title): item.count for group in page.context["nav"] for item in group.items}
        assert counts["Erasure requests"] == 5
        for due, found in (("late", 1), ("due_soon", 2), ("x", 5)):
            assert len(client.get(at(aurora, "erasures"), {"due": due}).context["erasures"]) == found
        for status, found in (("verified", 5), ("received", 0), ("completed", 5)):
            assert len(client.get(at(aurora, "erasures"), {"status": status}).context["erasures"]) == found

    def test_pages(self, aurora: WorkspaceRef, client: Client, monkeypatch: Any) -> None:
        """CO-4: later and earlier pages go both ways, ties included; a torn cursor is refused."""
        need_approval(aurora)
        today = timezone.now().date()
        expected = [ask(aurora, due_on=today + timedelta(days=number // 2)) for number in range(7)]
        monkeypatch.setattr(
            "workspaces.paging.page.__kwdefaults__",
            {"older": None, "newer": None, "size": 3, "soonest_first": False},
        )
        seen, cursor, pages = [], "", []
        while cursor is not None:
            listed = client.get(at(aurora, "erasures"), {"older": cursor}).context
            pages.append([row.url for row in listed["erasures"]])
            seen += pages[-1]
            cursor, last = listed["page"].older, listed["page"]
        assert sorted(seen) == sorted(at(aurora, "erasures", id) for id in expected)
        assert len(seen) == len(set(seen)) == 7
        back = client.get(at(aurora, "erasures"), {"newer": last.newer}).context
        assert [row.url for row in back["erasures"]] == pages[-2]
        assert client.get(at(aurora, "erasures"), {"older": "x"}).status_code == 422


def told_about(workspace: WorkspaceRef) -> list[Any]:
    """List the mails that lead into a workspace."""
    return [sent for sent in mail.outbox if workspace.slug in str(sent.body)]


class TestTold:
    """PR-17: the privacy role is told once a day of what is late, and nothing about whom."""

    def test_once_a_day(self, aurora: WorkspaceRef, privacy: Person) -> None:
        """PR-17: one mail a person and day, with a link and a number; nobody else gets one."""
        factories.make_person(aurora, "security", "support", name="Sofia")
        need_approval(aurora)
        late = ask(aurora, due_on=timezone.now().date() - timedelta(days=1))
        ask(aurora)
        for _ in range(2):
            tasks.tell_overdue()
        (told,) = told_about(aurora)
        assert told.to == [privacy.email]
        assert told.subject == "A request for erasure is late in Aurora"
        assert f"/console/w/{aurora.slug}/erasures/?due=late" in str(told.body)
        with access.bound(aurora.id):
            ErasureRequest.objects.filter(id=late).update(
                reminded_on=timezone.now().date() - timedelta(days=1)
            )
        tasks.tell_overdue()
        assert len(told_about(aurora)) == 2

    def test_nothing_is_late(self, aurora: WorkspaceRef, privacy: Person) -> None:
        """PR-17: what is due today, or has ended, is not late."""
        need_approval(aurora)
        ask(aurora, due_on=timezone.now().date())
        ask(aurora, due_on=date(2020, 1, 1), ended_at=timezone.now(), status="refused")
        tasks.tell_overdue()
        assert told_about(aurora) == []


def test_a_receipt_that_is_not_there(aurora: WorkspaceRef, client: Client) -> None:
    """PR-14: there is no file before the erasure is complete, nor of another workspace's request."""
    need_approval(aurora)
    request = ask(aurora)
    assert client.get(at(aurora, "erasures", request).rstrip("/") + "/receipt.json").status_code == 404
    assert client.get(at(aurora, "erasures", uuid4())).status_code == 404


def test_every_target_and_step_has_its_words() -> None:
    """CO-9: no erasure has a step or a target for which its page has no words, and none for what is gone."""
    assert {*rules.STEPS, *rules.CLOSING} == STEP_TITLES.keys()
    assert set(ErasureRequest.Target.values) == TARGET_WORDS.keys()
