"""The inbox of changes: what waits, what a change would do, who may do what, and where four eyes hold (CO-5, CO-6)."""

from typing import Any

import pytest
from django.core import mail
from django.test import Client

from privacy.services.approvals import approve
from privacy.services.documents import propose_change
from tests import factories
from tests.console.conftest import SignedIn
from tests.console.house import ask_for_a_change
from tests.privacy.approvals import four_eyes_on
from workspaces import access, documents
from workspaces.models import AuditEntry, ChangeRequest, Person
from workspaces.rules.approvals import GUARDED
from workspaces.selectors.approvals import needs_approval
from workspaces.selectors.people import roles_of
from workspaces.types import ChangeWish, Decider, WorkspaceRef


@pytest.fixture
def people(aurora: WorkspaceRef) -> dict[str, Person]:
    """Somebody of each role that has to do with changes, a second security person, and one who is two of them."""
    roles = {
        "security": ("security",),
        "second": ("security",),
        "owner": ("owner",),
        "engineer": ("engineer",),
        "auditor": ("auditor",),
        "support": ("support",),
        "both": ("owner", "security"),
    }
    made = {name: factories.make_person(aurora, *held, name=name.title()) for name, held in roles.items()}
    four_eyes_on(aurora, *GUARDED)
    return made


@pytest.fixture
def clients(people: dict[str, Person], signed_in: SignedIn) -> dict[str, Client]:
    return {name: signed_in(person) for name, person in people.items()}


@pytest.fixture
def change(aurora: WorkspaceRef, people: dict[str, Person]) -> ChangeRequest:
    """The engineer wants other regions."""
    with access.bound(aurora.id):
        return ask_for_a_change(people["engineer"])


def inbox(workspace: WorkspaceRef, rest: str = "") -> str:
    return f"/console/w/{workspace.slug}/approvals/{rest}"


def act(client: Client, workspace: WorkspaceRef, change: ChangeRequest, name: str, **fields: str) -> Any:
    """Open a dialog and send it as it was shown, with a reason."""
    address = inbox(workspace, f"{change.id}/{name}/")
    shown: Any = client.get(address)
    assert shown.status_code == 200
    seen = shown.context["form"]["seen"].value()
    return client.post(address, {"seen": seen, "reason": "For a test", **fields})


def text_of(answer: Any) -> str:
    return str(answer.content.decode())


def live_version(workspace: WorkspaceRef, kind: str) -> int:
    with access.bound(workspace.id):
        return documents.live(kind)[kind].version


def count(client: Client, workspace: WorkspaceRef) -> int:
    """Give the number beside Approvals in the navigation."""
    groups = client.get(inbox(workspace)).context["nav"]
    counts = {str(item.title): int(item.count) for group in groups for item in group.items}
    return counts["Approvals"]


def test_the_navigation_counts_what_waits_for_one(
    aurora: WorkspaceRef, clients: dict[str, Client], change: ChangeRequest
) -> None:
    """CO-6: who may decide about it sees it counted; its author and who may not decide do not."""
    assert {name: count(clients[name], aurora) for name in ("security", "owner", "engineer", "auditor")} == {
        "security": 1,
        "owner": 1,
        "engineer": 0,
        "auditor": 0,
    }
    assert change.reason in text_of(clients["auditor"].get(inbox(aurora)))


def test_a_change_is_shown_with_all_that_is_approved(
    aurora: WorkspaceRef, clients: dict[str, Client], change: ChangeRequest
) -> None:
    """PR-2, CO-5: who, why, now and after, and what it does, before anybody confirms; and the last acts beside it."""
    page = text_of(clients["security"].get(inbox(aurora, f"{change.id}/")))
    for words in (
        "Engineer",
        "A new country",
        "/regions/",
        "PT",
        "are masked by it within a second",
        "document.propose",
    ):
        assert words in page
    dialog = text_of(clients["security"].get(inbox(aurora, f"{change.id}/approve/")))
    for words in ("Aurora", "version 2", "PT", "any edit voids it", "Keep it as it is"):
        assert words in dialog


def test_the_author_sees_why_they_cannot_approve(
    aurora: WorkspaceRef, clients: dict[str, Client], people: dict[str, Person]
) -> None:
    """CO-6: the page says that another person approves, has no such button, and refuses who sends it anyway."""
    with access.bound(aurora.id):
        change = ask_for_a_change(people["security"])
    page: Any = clients["security"].get(inbox(aurora, f"{change.id}/"))
    assert "You asked for this change: another person approves it." in text_of(page)
    assert [button.act for button in page.context["buttons"]] == ["withdraw"]
    assert act(clients["security"], aurora, change, "approve").status_code == 403
    assert act(clients["security"], aurora, change, "publish").status_code == 403
    assert live_version(aurora, "masking") == 1
    others: Any = clients["second"].get(inbox(aurora, f"{change.id}/"))
    assert [button.act for button in others.context["buttons"]] == ["approve", "deny"]


def test_another_person_approves_and_that_publishes(
    aurora: WorkspaceRef, clients: dict[str, Client], change: ChangeRequest
) -> None:
    """CO-6: the dialog approves what it showed, the page says what became of it, the count falls."""
    answer = act(clients["security"], aurora, change, "approve")
    assert (answer.status_code, answer["Location"]) == (303, inbox(aurora, f"{change.id}/"))
    page = text_of(clients["security"].get(answer["Location"]))
    assert "The change is approved and published." in page
    assert live_version(aurora, "masking") == 2
    assert count(clients["owner"], aurora) == 0
    closed = text_of(clients["owner"].get(inbox(aurora, "?show=closed")))
    assert str(change.id) in closed


def test_who_publishes_says_why(
    aurora: WorkspaceRef, clients: dict[str, Client], people: dict[str, Person], change: ChangeRequest
) -> None:
    """PR-2b, CO-5: what one person approved another one publishes, and the log has the reason of each."""
    with access.bound(aurora.id):
        by = Decider(people["second"].id, frozenset({"approve_documents"}), factories.SYSTEM)
        approve(change_id=change.id, reason="Fine", by=by, now=factories.LATELY)
    shown: Any = clients["owner"].get(inbox(aurora, f"{change.id}/"))
    assert [button.act for button in shown.context["buttons"]] == ["publish", "deny"]
    assert act(clients["engineer"], aurora, change, "publish").status_code == 403
    assert act(clients["owner"], aurora, change, "publish", reason="The shops are closed").status_code == 303
    assert live_version(aurora, "masking") == 2
    with access.bound(aurora.id):
        reasons = dict(AuditEntry.objects.filter(object_id="masking").values_list("act", "reason"))
    assert reasons == {
        "document.propose": "A new country",
        "document.approve": "Fine",
        "document.publish": "A new country",
        "document.release": "The shops are closed",
    }


def test_who_approves_another_content_than_shown_is_told(
    aurora: WorkspaceRef, clients: dict[str, Client], change: ChangeRequest
) -> None:
    """CO-5, CO-6: when the author edits between, nothing is approved, and the newest content is shown."""
    address = inbox(aurora, f"{change.id}/approve/")
    shown: Any = clients["security"].get(address)
    seen = shown.context["form"]["seen"].value()
    with access.bound(aurora.id):
        body = {**change.body, "regions": ["FR"]}
        ChangeRequest.objects.filter(id=change.id).update(body=body)
    answer = clients["security"].post(address, {"seen": seen, "reason": "Looks good"})
    assert answer.status_code == 409
    assert "The change was edited meanwhile" in text_of(answer)
    assert "FR" in text_of(answer)
    assert live_version(aurora, "masking") == 1


def test_denying_and_withdrawing_close_a_change(
    aurora: WorkspaceRef, clients: dict[str, Client], change: ChangeRequest
) -> None:
    """PR-2b: with a reason, which the page shows from then on; a closed change has no buttons."""
    assert act(clients["engineer"], aurora, change, "deny").status_code == 403
    assert act(clients["owner"], aurora, change, "deny", reason="Not now").status_code == 303
    page: Any = clients["engineer"].get(inbox(aurora, f"{change.id}/"))
    assert "Not now" in text_of(page)
    assert page.context["buttons"] == []
    assert act(clients["security"], aurora, change, "approve").status_code == 403


@pytest.mark.parametrize("what", ["nothing", "Approve", "approve/x"])
def test_there_is_no_other_act(
    aurora: WorkspaceRef, clients: dict[str, Client], change: ChangeRequest, what: str
) -> None:
    """PL-2: a word that is no act is not there."""
    assert clients["security"].get(inbox(aurora, f"{change.id}/{what}/")).status_code == 404


def test_breaking_the_glass_names_who_may_and_tells_security(
    aurora: WorkspaceRef,
    clients: dict[str, Client],
    change: ChangeRequest,
    django_capture_on_commit_callbacks: Any,
) -> None:
    """PR-2b, CO-8: who lacks it reads what is missing and who holds it; security is told when it is done."""
    refused = text_of(clients["security"].get(inbox(aurora, f"{change.id}/break-glass/")))
    assert "Publish without the approval of a second person" in refused
    assert "Both, Owner" in refused
    with django_capture_on_commit_callbacks(execute=True):
        answer = act(clients["owner"], aurora, change, "break-glass", reason="The bot leaks")
    assert answer.status_code == 303
    assert live_version(aurora, "masking") == 2
    assert len(mail.outbox) == 3
    page = text_of(clients["auditor"].get(inbox(aurora, f"{change.id}/")))
    assert "Published without approval by" in page
    assert "The bot leaks" in page


def test_a_feature_is_requested_where_four_eyes_hold(
    aurora: WorkspaceRef, clients: dict[str, Client]
) -> None:
    """PR-2b, CO-6: the button asks for approval and leads to the request, which names what it touches."""
    factories.make_state(aurora)
    address = f"/console/w/{aurora.slug}/features/agent_state/change/"
    shown = clients["security"].get(address)
    assert "Request approval" in text_of(shown)
    assert "Turn off</button>" not in text_of(shown)
    version = live_version(aurora, "features")
    answer = clients["security"].post(address, {"version": version, "reason": "Incident 42"})
    page = text_of(clients["second"].get(answer["Location"]))
    assert "agent_state is turned off" in page
    assert "States that can" not in page
    assert "stay stored: 1" in page
    assert live_version(aurora, "features") == version
    with access.bound(aurora.id):
        change = ChangeRequest.objects.get(kind="features", status="proposed")
    assert act(clients["second"], aurora, change, "approve").status_code == 303
    assert live_version(aurora, "features") == version + 1
    assert "Four eyes hold here" in text_of(clients["support"].get(f"/console/w/{aurora.slug}/features/"))


def test_roles_are_requested_where_four_eyes_hold(
    aurora: WorkspaceRef, clients: dict[str, Client], people: dict[str, Person]
) -> None:
    """PR-2b: the confirmation says so; the request names who gains what; another person gives the roles."""
    address = f"/console/w/{aurora.slug}/people/{people['support'].id}/roles/"
    form = {"roles": ["support", "security"], "reason": "Moves to security"}
    confirm = text_of(clients["owner"].post(address, {**form, "step": "choose"}))
    assert "another person has to approve" in confirm
    answer = clients["owner"].post(address, {**form, "step": "confirm"})
    page = text_of(clients["security"].get(answer["Location"]))
    assert "Approve a proposed version" in page
    with access.bound(aurora.id):
        change = ChangeRequest.objects.get(kind="roles")
        assert roles_of(people["support"]) == ("support",)
    assert act(clients["owner"], aurora, change, "approve").status_code == 403
    assert act(clients["security"], aurora, change, "approve").status_code == 303
    with access.bound(aurora.id):
        assert roles_of(people["support"]) == ("security", "support")


def test_the_setting_is_shown_and_changed(
    aurora: WorkspaceRef, clients: dict[str, Client], people: dict[str, Person]
) -> None:
    """PR-2b: stronger holds at once, weaker is a request; an auditor sees where it holds and has no button."""
    four_eyes_on(aurora, "masking")
    address = inbox(aurora, "four-eyes/")
    shown: Any = clients["auditor"].get(inbox(aurora))
    assert [str(setting.title) for setting in shown.context["settings"] if setting.on] == ["Masking"]
    assert (shown.context["settings_url"], clients["auditor"].get(address).status_code) == ("", 403)
    form = {"version": 0, "kinds": ["masking", "erasure"], "reason": "A new rule"}
    assert clients["owner"].post(address, form)["Location"] == inbox(aurora)
    with access.bound(aurora.id):
        assert needs_approval("erasure")
        assert AuditEntry.objects.get(act="four_eyes.change").facts["on"] == ["erasure"]
    assert clients["security"].post(address, {**form, "kinds": []}).status_code == 409
    weaker = clients["security"].post(address, {"version": 1, "kinds": ["masking"], "reason": "Too slow"})
    page = text_of(clients["owner"].get(weaker["Location"]))
    assert "off for: Erasures" in page
    with access.bound(aurora.id):
        assert needs_approval("erasure")
        change = ChangeRequest.objects.get(kind="four-eyes")
    assert act(clients["owner"], aurora, change, "approve").status_code == 303
    with access.bound(aurora.id):
        assert not needs_approval("erasure")


def test_a_request_that_could_not_be_published_says_so(
    aurora: WorkspaceRef, clients: dict[str, Client], people: dict[str, Person]
) -> None:
    """PR-3, CO-5: a change that breaks what is stored by now shows the problem, and is refused without a fault."""
    with access.bound(aurora.id):
        live = documents.live("object-types")["object-types"]
        fields = {name: field for name, field in factories.ORDER_TYPE["fields"].items() if name != "qty"}
        wish = ChangeWish(
            kind="object-types",
            document={"types": [factories.order_type(fields=fields)]},
            reason="No longer used",
            replaces=live.version,
        )
        author = people["engineer"]
        change = propose_change(
            wish=wish, author_id=author.id, actor=factories.SYSTEM, now=factories.LATELY
        ).change
    factories.make_state(aurora, body={"qty": 1})
    page = text_of(clients["security"].get(inbox(aurora, f"{change.id}/")))
    assert "states hold" in page or "is held" in page or "drop" in page
    answer = act(clients["security"], aurora, change, "approve")
    assert answer.status_code == 422
    assert live_version(aurora, "object-types") == live.version
