"""Switching a feature: the effect named before, a reason, and refused when somebody was faster (PR-1, CO-5, CO-7)."""

import pytest
from django.test import Client

from tests import factories
from tests.api import InProcess
from tests.console.conftest import SignedIn
from workspaces import access, documents
from workspaces.models import AuditEntry, Person
from workspaces.types import WorkspaceRef


@pytest.fixture
def client(security: Person, signed_in: SignedIn) -> Client:
    return signed_in(security)


def change(workspace: WorkspaceRef, key: str = "agent_state") -> str:
    return f"/console/w/{workspace.slug}/features/{key}/change/"


def version(workspace: WorkspaceRef) -> int:
    with access.bound(workspace.id):
        return documents.live("features")["features"].version


def test_switching_off_stops_the_agents_and_is_audited(
    aurora: WorkspaceRef, client: Client, agent: InProcess, security: Person
) -> None:
    """PR-1, CO-5: after the confirmation agents get feature_off, the list says so, and the log has who and why."""
    assert agent.write(factories.write()).status == 200
    form = {"version": version(aurora), "reason": "Incident 42"}
    answer = client.post(change(aurora), form)
    assert (answer.status_code, answer["Location"]) == (303, f"/console/w/{aurora.slug}/features/")
    assert agent.write(factories.write()).code == "feature_off"
    page = client.get(answer["Location"])
    assert [feature.enabled for feature in page.context["features"]] == [False, False, False]
    assert "Working memory is off." in page.content.decode()
    assert "Working memory is off." not in client.get(answer["Location"]).content.decode()
    with access.bound(aurora.id):
        entry = AuditEntry.objects.latest("seq")
    assert (entry.act, entry.object_id, entry.reason) == ("feature.disable", "agent_state", "Incident 42")
    assert entry.actor_id == str(security.id)


def test_confirmation_names_what_it_touches(aurora: WorkspaceRef, client: Client) -> None:
    """CO-5: object, workspace, now and after, agents, states, profiles, what agents get, and the way back."""
    for number in range(2):
        factories.make_state(aurora, subject={"type": "phone_e164", "value": f"+551190000000{number}"})
    text = " ".join(client.get(change(aurora)).content.decode().split())
    for words in (
        "Turn off Working memory in Aurora?",
        "<code>agent_state</code>",
        "404 feature_off",
        "1 agent uses it.",
        "2 states (",
        "Profiles concerned: 2.",
        "It can be turned on again at any time.",
        "Keep it as it is",
        ">Turn off</button>",
    ):
        assert words in text
    off = " ".join(client.get(change(aurora, "history")).content.decode().split())
    assert "Turn on Conversation history in Aurora?" in off
    assert ">Turn on</button>" in off


def test_change_over_a_version_that_moved_is_refused_with_the_newest_state(
    aurora: WorkspaceRef, client: Client
) -> None:
    """CO-5: who was slower gets 409, sees the newest state and the reason they gave, and may send it again."""
    stale = {"version": version(aurora), "reason": "Incident 42"}
    factories.switch(aurora, "agent_state", on=False)
    refused = client.post(change(aurora), stale)
    text = refused.content.decode()
    assert refused.status_code == 409
    assert "changed by someone else meanwhile" in text
    assert "Turn on Working memory in Aurora?" in text
    assert "Incident 42</textarea>" in text
    assert refused.context["form"]["version"].value() == version(aurora)
    with access.bound(aurora.id):
        assert not documents.is_on(documents.live("features")["features"], "agent_state")
    again = {"version": refused.context["form"]["version"].value(), "reason": "Incident 42"}
    assert client.post(change(aurora), again).status_code == 303


def test_change_of_another_feature_meanwhile_counts_too(aurora: WorkspaceRef, client: Client) -> None:
    """CO-5: the document is one: whatever of it moved is looked at again first."""
    stale = {"version": version(aurora), "reason": "Incident 42"}
    factories.switch(aurora, "history", on=True)
    assert client.post(change(aurora), stale).status_code == 409


def test_dialog_is_the_body_alone_and_leads_the_page_on(aurora: WorkspaceRef, client: Client) -> None:
    """CO-5: the same form is the body of a dialog, comes back with its error, and then loads the page again."""
    headers = {"HX-Request": "true", "HX-Target": "dlg"}
    body = client.get(change(aurora), headers=headers).content.decode()
    assert "<html" not in body
    assert 'id="dlg-title"' in body
    refused = client.post(change(aurora), {"version": version(aurora), "reason": ""}, headers=headers)
    assert refused.status_code == 422
    assert "<html" not in refused.content.decode()
    form = {"version": version(aurora), "reason": "Incident 42"}
    done = client.post(change(aurora), form, headers=headers)
    assert (done.status_code, done["HX-Redirect"]) == (204, f"/console/w/{aurora.slug}/features/")


@pytest.mark.parametrize("key", ["nothing", "agent-state", "admin"])
def test_feature_that_does_not_exist_has_no_page(aurora: WorkspaceRef, client: Client, key: str) -> None:
    """PR-1: only the features of the product can be switched."""
    assert client.get(change(aurora, key)).status_code == 404
    assert client.post(change(aurora, key), {"version": 1, "reason": "x"}).status_code == 404


def test_audit_beside_the_features_leads_on_only_who_may_read_it(
    aurora: WorkspaceRef, client: Client, support: Person, signed_in: SignedIn
) -> None:
    """CO-7: the last five changes stand beside; the way to the log is there for who may open it."""
    for number in range(3):
        factories.switch(aurora, "history", on=number % 2 == 0)
    address = f"/console/w/{aurora.slug}/features/"
    page = client.get(address)
    assert [change.action for change in page.context["changes"]] == [
        "feature.enable",
        "feature.disable",
        "feature.enable",
        "feature.enable",
    ]
    assert client.get(page.context["changes"][0].url).status_code == 200
    assert client.get(page.context["audit_url"]).status_code == 200
    other = signed_in(support).get(address)
    assert other.context["audit_url"] == ""
    assert "/audit/" not in other.content.decode()


def test_matrix_shows_the_workspaces_that_are_ones_own(
    aurora: WorkspaceRef, boreal: WorkspaceRef, client: Client
) -> None:
    """PL-1: the matrix has a row for each workspace of the person and none for others."""
    rows = client.get("/console/features/").context["rows"]
    assert [row.workspace.name for row in rows] == ["Aurora"]
    assert [cell.enabled for cell in rows[0].cells] == [True, False, False]
