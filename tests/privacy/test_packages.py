"""What a subject package holds: all that is stored of one person, as it is stored, and nothing of anybody else."""

import hashlib
import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agentstate.models import State
from privacy.models import PackageRun
from privacy.rules import packages as rules
from tests import factories
from tests.api import InProcess
from tests.privacy.packages import JOANA, MARIA, package
from workspaces import access
from workspaces.types import WorkspaceRef

PRICE = '{"anything": [1.50, 1e2, 12345678901234567890.5, "\\u00e9\\n"], "step": "cart"}'
FIELDS: dict[str, Any] = {
    "step": {"type": "enum", "values": ["cart", "done"], "label": "Where the order is", "origin": "observed"},
    "phone": {"type": "string", "pii": "phone", "sensitivity": "confidential", "origin": "provided"},
    "note": {"type": "text", "pii": True, "origin": "derived"},
    "remark": {"type": "string"},
    "anything": {"type": "any"},
}


@pytest.fixture
def shop(aurora: WorkspaceRef) -> WorkspaceRef:
    """Aurora, with a type that says where each field comes from, for what and for whom."""
    declared = factories.order_type(
        fields=FIELDS, purposes=["order handling"], recipients=["fulfilment partner"], label="An order"
    )
    factories.publish_types(aurora, declared)
    return aurora


def test_a_package_holds_what_is_stored_of_one_person(shop: WorkspaceRef, agent: InProcess) -> None:
    """PR-18, WM-22: states of their scope and states that name them, by field with its declaration; nobody else's."""
    body = {"step": "cart", "phone": "+55 11 98765-4321", "remark": "two lemons"}
    scope = factories.scope("+55 11 91234-5678", "subject") | {"id": "phone_e164:+55 11 91234-5678"}
    agent.write(factories.write(body, subject=MARIA))
    agent.write(factories.write({"step": "done"}, scope=scope))
    agent.write(factories.write({"remark": "somebody else's"}, subject=JOANA))
    agent.write(factories.write({"remark": "nobody's"}))
    found = package(shop)
    states = {state["scope_kind"]: state for state in found.lines("agent_states.jsonl")}
    assert states.keys() == {"conversation", "subject"}
    state = states["conversation"]
    assert (state["agent"], state["type"], state["version"]) == ("order-taker", "order", 1)
    assert (state["source"], state["is_readable"]) == ("chat backend", True)
    fields = {field["name"]: field for field in state["fields"]}
    assert fields["step"] | {"named_at": ""} == {
        "name": "step",
        "value": "cart",
        "is_declared": True,
        "label": "Where the order is",
        "type": "enum",
        "pii": False,
        "sensitivity": None,
        "origin": "observed",
        "named_at": "",
        "expires_at": None,
    }
    assert (fields["phone"]["origin"], fields["phone"]["sensitivity"]) == ("provided", "confidential")
    assert fields["phone"]["expires_at"] is not None
    assert b"somebody else" not in found.raw + b"".join(found.files.values())
    assert b"joana" not in b"".join(found.files.values())
    assert b"nobody's" not in b"".join(found.files.values())


def test_values_are_given_as_they_are_stored(shop: WorkspaceRef, agent: InProcess) -> None:
    """PR-18, PR-8b: a value is byte for byte what the state holds, numbers and escapes too."""
    raw = json.dumps(factories.write({}, subject=MARIA)).replace('"body": {}', f'"body": {PRICE}')
    assert agent.put("/v1/agent-state", raw.encode()).body["stored"]
    line = package(shop).files["agent_states.jsonl"].decode()
    with access.bound(shop.id):
        from agentstate.encryption import open_plain

        plain, _ = open_plain(shop, State.objects.get())
    stored = plain.decode().partition('"anything":')[2].partition("]")[0]
    assert stored
    assert f'"value":{stored}]' in line


def test_what_is_masked_stays_masked(shop: WorkspaceRef, agent: InProcess) -> None:
    """PR-19: neither the phone number nor the card that were masked at entry are in the package."""
    body = {"phone": "+55 11 98765-4321", "remark": "4111 1111 1111 1111", "note": "call +55 11 98765-4321"}
    agent.write(factories.write(body, subject=MARIA))
    found = package(shop)
    whole = b"".join(found.files.values())
    assert b"98765" not in whole
    assert b"4111 1111" not in whole
    values = {field["name"]: field["value"] for field in found.lines("agent_states.jsonl")[0]["fields"]}
    assert values["phone"] == "***21"
    assert values["remark"].startswith("[redacted:card")


def test_what_has_expired_is_absent(shop: WorkspaceRef) -> None:
    """PR-19, PR-20: an expired state and an expired field are not in the package, whether or not the sweep ran."""
    now = timezone.now()
    factories.make_state(shop, now=now - timedelta(days=31), body={"remark": "long ago"}, subject=MARIA)
    body = {"remark": "still here", "phone": "+55 11 98765-4321"}
    factories.make_state(shop, now=now - timedelta(hours=25), body=body, subject=MARIA)
    (state,) = package(shop).lines("agent_states.jsonl")
    assert {field["name"]: field["value"] for field in state["fields"]} == {"remark": "still here"}


def test_a_field_that_is_no_longer_declared_is_still_told(shop: WorkspaceRef, agent: InProcess) -> None:
    """PR-18: what is stored is told although no agent is served it; what was dropped is not."""
    agent.write(factories.write({"remark": "told", "anything": "dropped", "step": "cart"}, subject=MARIA))
    kept = {name: field for name, field in FIELDS.items() if name not in {"remark", "anything"}}
    factories.publish_types(
        shop,
        factories.order_type(type="invoice", agents=["order-taker"], fields=kept),
        drop=["order.remark", "order.anything"],
    )
    (state,) = package(shop).lines("agent_states.jsonl")
    assert [field["name"] for field in state["fields"]] == ["step"]


def test_a_damaged_state_keeps_nobody_from_the_rest(shop: WorkspaceRef, agent: InProcess) -> None:
    """PR-18, PL-12: a row that does not verify is told without its content; the others are whole."""
    agent.write(factories.write({"remark": "first"}, subject=MARIA))
    agent.write(factories.write({"remark": "second"}, subject=MARIA))
    with access.bound(shop.id):
        row = State.objects.order_by("id")[0]
        State.objects.filter(id=row.id).update(body=bytes(row.body or b"")[:-1] + b"x")
    found = package(shop)
    assert sorted(state["is_readable"] for state in found.lines("agent_states.jsonl")) == [False, True]
    assert "cannot be read" in found.page


def test_the_manifest_says_what_is_in_the_package(shop: WorkspaceRef, agent: InProcess) -> None:
    """PR-18: counts, digests, document versions; purposes, recipients, retention and origin as declared."""
    agent.write(factories.write({"step": "cart"}, subject=MARIA))
    found = package(shop)
    manifest = found.manifest
    assert set(found.files) == {
        "handles.jsonl",
        "agent_states.jsonl",
        "history.jsonl",
        "graph.jsonl",
        "erasures.jsonl",
        "index.html",
        "manifest.json",
    }
    assert manifest["counts"] == {
        "handles.jsonl": 1,
        "agent_states.jsonl": 1,
        "history.jsonl": 0,
        "graph.jsonl": 0,
        "erasures.jsonl": 0,
    }
    for name, facts in manifest["files"].items():
        assert facts == {
            "sha256": hashlib.sha256(found.files[name]).hexdigest(),
            "bytes": len(found.files[name]),
        }
    assert manifest["documents"]["object-types"] == 3
    (declared,) = manifest["object_types"]
    assert (declared["purposes"], declared["recipients"]) == (["order handling"], ["fulfilment partner"])
    assert (declared["retention_seconds"], declared["sources"]) == (30 * 86400, ["chat backend"])
    assert declared["fields"]["note"]["origin"] == "derived"
    assert declared["fields"]["phone"]["retention_seconds"] == 86400


def test_handles_are_told_by_their_hints(shop: WorkspaceRef, agent: InProcess) -> None:
    """PR-18, PL-6: a handle is its type, a hint and a date: its value is kept nowhere."""
    agent.write(factories.write({"step": "cart"}, subject=MARIA))
    (handle,) = package(shop).lines("handles.jsonl")
    assert handle.keys() == {"type", "hint", "created_at"}
    assert (handle["type"], handle["hint"]) == ("phone_e164", "…78")


def test_a_person_of_whom_nothing_is_stored(shop: WorkspaceRef, agent: InProcess) -> None:
    """PR-18: a package without a record says so."""
    scope = factories.scope()
    agent.write(factories.write({"step": "cart"}, scope=scope, subject=MARIA))
    agent.post("/v1/agent-state/delete", {"scope": scope, "agent": "order-taker"})
    found = package(shop)
    assert found.files["agent_states.jsonl"] == b""
    assert "Nothing of this kind is kept." in found.page
    assert found.manifest["object_types"] == []


EVIL = "</td><script>alert(1)</script><img src=x onerror=alert(2)>'\"&{{ 7 }}"


def test_the_page_runs_nothing_that_is_stored(shop: WorkspaceRef, agent: InProcess) -> None:
    """PR-18: every value, name and label is escaped; the page has no script and asks for nothing from elsewhere."""
    fields = {"remark": {"type": "string", "label": EVIL}, "anything": {"type": "any"}}
    factories.publish_types(
        shop, factories.order_type(fields=fields, agents=[EVIL], retention={"state": "30d"})
    )
    body = {"remark": EVIL, "anything": {EVIL: [EVIL]}}
    assert agent.write(factories.write(body, agent=EVIL, subject=MARIA)).body["stored"]
    page = package(shop).page
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page
    assert "<img" not in page
    assert "{{ 7 }}" in page
    assert "default-src &#x27;none&#x27;" in page or "default-src 'none'" in page
    assert "http://" not in page
    assert "https://" not in page


def test_the_page_shows_a_bounded_part(
    shop: WorkspaceRef, agent: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PR-18: the page for people holds the first records and names the file that holds all of them."""
    monkeypatch.setattr(rules, "SHOWN_BYTES", 2500)
    for _ in range(3):
        agent.write(factories.write({"step": "cart"}, subject=MARIA))
    found = package(shop)
    assert len(found.lines("agent_states.jsonl")) == 3
    assert "2 more are in <code>agent_states.jsonl</code>" in found.page


def test_stored_at_rest_without_its_content(shop: WorkspaceRef, agent: InProcess) -> None:
    """PR-19, PL-12: no chunk in the database holds a byte of the zip in clear."""
    from privacy.models import PackageChunk

    agent.write(factories.write({"remark": "two lemons"}, subject=MARIA))
    found = package(shop)
    with access.bound(shop.id):
        (chunk,) = PackageChunk.objects.all()
        run = PackageRun.objects.get()
    sealed = bytes(chunk.sealed)
    assert (run.chunks, run.size_bytes) == (1, len(found.raw))
    assert b"PK" + found.raw[2:8] not in sealed
    assert found.raw[:40] not in sealed
