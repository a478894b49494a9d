"""A tour for newcomers: the main job of the server in one test, and how our tests are written.

Fixtures such as `db` and `_deployment_key` come from conftest.py, things from factories.py, and calls of the API go
through the small client of api.py. Every test names the clause of the specification that it shows.
"""

import pytest

from tests import factories
from tests.api import InProcess
from workspaces import access
from workspaces.models import AuditEntry

ORDER = {
    "type": "order",
    "version": "1",
    "ownership": "agent",
    "agents": ["order-taker"],
    "fields": {
        "step": {"type": "enum", "values": ["cart", "delivery", "done"]},
        "cart": {"type": "list"},
        "phone": {"type": "string", "pii": "phone"},
    },
    "retention": {"state": "30d", "phone": "24h"},
}
CONVERSATION = {"kind": "conversation", "id": "c-4711"}
CUSTOMER = {"type": "phone_e164", "value": "+55 11 91234-5678"}


@pytest.mark.usefixtures("db", "_deployment_key")
def test_the_main_job() -> None:
    """WM-1, WM-7, WM-8, WM-14, WM-17, WM-23: an agent remembers, and a person sees that it does and not what."""
    # A workspace starts with every feature off, so that an agent's code is told that there is nothing here.
    workspace = factories.make_workspace("Pizzaria")
    agent = InProcess(factories.make_key(workspace, "agent_state", source="chat backend"))
    assert agent.read(CONVERSATION).code == "feature_off"

    # Security declares what an agent may keep, and switches the feature on, each with a reason that the audit keeps.
    ana = factories.make_person(workspace, "security", name="Ana")
    rights = ("propose_documents", "publish_documents", "change_features")
    security = InProcess(factories.make_token(workspace, ana, *rights))
    for kind, document in (("object-types", {"types": [ORDER]}), ("features", {"enabled": ["agent_state"]})):
        wish = {"kind": kind, "document": document, "reason": "The order agent goes live"}
        change = security.post("/v1/config/diffs", wish).body["diff_id"]
        assert security.post(f"/v1/config/diffs/{change}/approve", {}).body["status"] == "published"

    # Between two turns the agent's code reads, decides, and writes.
    assert agent.read(CONVERSATION).body["version"] == 0
    first = {
        "scope": CONVERSATION,
        "agent": "order-taker",
        "mode": "cas",
        "if_version": 0,
        "subject": CUSTOMER,
    }
    assert agent.write({**first, "body": {"step": "cart", "cart": ["margherita"]}}).body["version"] == 1

    # Two of its parts write different fields; neither undoes the other, and a stale whole is refused.
    merge = {"scope": CONVERSATION, "agent": "order-taker", "mode": "merge_by_key"}
    agent.write({**merge, "body": {"step": "delivery"}})
    answer = agent.write({**merge, "body": {"phone": "+55 11 91234-5678"}}).body
    assert (answer["stored"], answer["version"], answer["masked"]) == (True, 3, {"phone": 1})
    assert agent.write({**first, "body": {"step": "done"}, "if_version": 1}).code == "agent_state_conflict"

    # What it reads is what was written, with the phone number masked before it was stored.
    state = agent.read(CONVERSATION).body
    assert state["body"] == {"step": "delivery", "cart": ["margherita"], "phone": "***78"}
    assert state["expires"].keys() == {"phone"}

    # A field that nobody declared is no error, since the agent's answer is on its way already; it is not stored.
    assert agent.write({**merge, "body": {"mood": "hungry"}}).body["reason"] == "not_declared_field"

    # Support finds the customer and sees that a state is there: its size and its dates, never what it says.
    sofia = factories.make_person(workspace, "support", name="Sofia")
    support = InProcess(factories.make_token(workspace, sofia, "find_profiles", "view_state_metadata"))
    (profile,) = support.post("/v1/profiles/search", {"query": "+55 11 91234-5678"}).body["items"]
    (shown,) = support.get(f"/v1/profiles/{profile['profile_id']}/agent-state").body["items"]
    assert (shown["agent"], shown["version"], shown["fields"]) == ("order-taker", 3, 3)
    assert "margherita" not in str(shown)

    # Who looked at whom is in the audit, which nobody can change.
    with access.bound(workspace.id):
        looked = AuditEntry.objects.get(act="profile.view")
    assert (looked.actor_name, looked.object_id) == (sofia.email, profile["profile_id"])
