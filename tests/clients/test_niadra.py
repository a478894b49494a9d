"""The published client `niadra`, in two versions, sync and async, with nothing changed but its base URL (WM-26).

All scenes of one client are played in one process, tests/clients/play.py, which has the client and nothing of ours;
each test is about one of them.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from privacy.services import erasing
from tests import factories
from tests.clients.relay import Relay
from tests.server import Server
from workspaces.types import WorkspaceRef

PROJECT = Path(__file__).resolve().parents[2]
CLIENTS = PROJECT / ".lastro" / "clients"
VERSIONS = ("0.10.5", "0.11.7")
# From 0.11.4 on the client knows no cap, and raises on the answer `over_cap`.
KNOWS_A_CAP = {"0.10.5": True, "0.11.7": False}

Answers = dict[str, Any]


class Seen:
    """What one client saw, by scene."""

    def __init__(self, version: str, workspace: WorkspaceRef, answers: Mapping[str, Answers]) -> None:
        self.version, self.workspace, self._answers = version, workspace, answers

    def __getitem__(self, scene: str) -> Answers:
        answer = self._answers[scene]
        assert "failed" not in answer, answer["failed"]
        return answer


@pytest.fixture(
    scope="module",
    params=[(version, kind) for version in VERSIONS for kind in ("sync", "async")],
    ids="-".join,
)
def seen(
    request: pytest.FixtureRequest,
    server: Server,
    django_db_blocker: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Seen]:
    """Play every scene with one client."""
    version, kind = request.param
    folder = CLIENTS / f"niadra-{version}"
    if not folder.is_dir():
        absent = f"The client is not installed ({folder.relative_to(PROJECT)}): `make test` does it."
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(absent)
    files = tmp_path_factory.mktemp("relay")
    with django_db_blocker.unblock(), Relay(server.port, files / "cut", files / "deaf") as relay:
        workspace = _workspace(version)
        answer = _played(folder, kind, _plan(workspace, server, relay, files))
        assert answer["version"] == version
        later = _played(folder, kind, _later(workspace, server, answer["seen"]))
        yield Seen(version, workspace, answer["seen"] | later["seen"])


def _workspace(version: str) -> WorkspaceRef:
    """Make a workspace whose type has a cap where the client knows one."""
    section = factories.ORDER_TYPE["agent_state"] | ({} if KNOWS_A_CAP[version] else {"cap_bytes": None})
    workspace = factories.make_ready_workspace("Aurora", factories.order_type(agent_state=section))
    factories.switch(workspace, "history", on=True)
    return workspace


def _plan(workspace: WorkspaceRef, server: Server, relay: Relay, files: Path) -> dict[str, dict[str, str]]:
    off = factories.make_ready_workspace("Boreal")
    factories.switch(off, "agent_state", on=False)
    key, all_scopes = (
        factories.make_key(workspace, "agent_state", *more) for more in ((), ("admin", "history"))
    )
    files_of = {"switch": str(files / "cut"), "deaf": str(files / "deaf"), "straight": server.url}
    far = {"url": relay.url, **files_of}
    parts = {name: {"scene": name, "key": key} for name in ("states", "masking", "too_big")}
    parts |= {name: {"scene": name, "key": all_scopes} for name in ("metadata", "session", "forget")}
    parts |= {
        "outage": {"scene": "outage", "key": key, **far},
        "lost, known again": {
            "scene": "lost_answer",
            "key": factories.make_key(workspace, resend=True),
            **far,
        },
        "lost": {"scene": "lost_answer", "key": key, **far},
        "off": {"scene": "refused", "key": factories.make_key(off)},
        "no scope": {"scene": "refused", "key": factories.make_key(workspace, "admin")},
        "no key": {"scene": "refused", "key": "nia_sk_test_local_space_id_secret"},
    }
    return {name: {"url": server.url, **part} for name, part in parts.items()}


def _later(workspace: WorkspaceRef, server: Server, seen: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Do what a worker does, and plan the scenes that come after."""
    asked = seen["forget"]["asked"]["request_id"]
    assert erasing.run(workspace=workspace, request_id=UUID(asked))
    key = factories.make_key(workspace, "admin")
    return {"forgotten": {"scene": "forgotten", "url": server.url, "key": key, "request": asked}}


def _played(folder: Path, kind: str, plan: dict[str, dict[str, str]]) -> dict[str, Any]:
    command = [sys.executable, "-s", str(PROJECT / "tests" / "clients" / "play.py"), kind]
    variables = {"PYTHONPATH": str(folder), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        command,
        input=json.dumps(plan),
        env=variables,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_states(seen: Seen) -> None:
    """WM-7, WM-8, WM-10, WM-17, WM-18, WM-26: read, cas, merge, conflicts and what is not declared."""
    found = seen["states"]
    assert found["never"] == {"body": {}, "version": 0, "degraded": False, "updated": False}
    assert found["created"] == {"stored": True, "version": 1, "reason": None, "pending": False}
    cart = {"step": "cart", "cart": ["tea"]}
    assert found["read"] == {"body": cart, "version": 1, "degraded": False, "updated": True}
    for conflict in ("twice", "stale"):
        assert (found[conflict]["stored"], found[conflict]["reason"]) == (False, "conflict")
    assert (found["replaced"]["stored"], found["replaced"]["version"]) == (True, 2)
    assert found["merged"]["version"] == 3
    assert found["removed"]["version"] == 4
    assert (found["undeclared"]["stored"], found["undeclared"]["reason"]) == (False, "not_declared_field")
    assert found["undeclared"]["version"] == 4
    for read in ("at_the_end", "elsewhere"):
        assert (found[read]["body"], found[read]["version"]) == ({"step": "delivery", "qty": 2}, 4)
    assert (found["task"]["body"], found["task"]["version"]) == ({"step": "cart"}, 1)
    assert found["log"] == []


def test_masking(seen: Seen) -> None:
    """WM-14, WM-26: what was masked shows at the next get, though the client keeps what it wrote."""
    found = seen["masking"]
    assert (found["stored"]["stored"], found["stored"]["version"], found["read"]["version"]) == (True, 1, 1)
    assert sorted(found["read"]["body"]) == ["phone", "remark"]
    assert "91234" not in json.dumps(found["read"]["body"])
    assert "4111 1111" not in json.dumps(found["read"]["body"])


def test_a_state_over_the_cap(seen: Seen) -> None:
    """WM-12, WM-26: over the cap is an answer; a type without a cap stores it, for the clients that know none."""
    found = seen["too_big"]
    if KNOWS_A_CAP[seen.version]:
        assert (found["stored"]["stored"], found["stored"]["reason"]) == (False, "over_cap")
        assert (found["fields"], found["version"]) == (["step"], 1)
    else:
        assert (found["stored"]["stored"], found["stored"]["reason"]) == (True, None)
        assert (found["fields"], found["version"]) == (["remark", "step"], 2)
    assert found["log"] == []


@pytest.mark.parametrize(
    ("scene", "reason"),
    [("off", "feature_off"), ("no scope", "scope_missing"), ("no key", "unauthenticated")],
)
def test_a_refusal_that_lasts(seen: Seen, scene: str, reason: str) -> None:
    """WM-1, PL-3, WM-26: it is reported by its code, and never waits to be sent again."""
    found = seen[scene]
    assert (found["stored"]["stored"], found["stored"]["reason"], found["waiting"]) == (False, reason, 0)
    assert (found["read"]["body"], found["read"]["degraded"]) == ({}, True)


def test_an_outage(seen: Seen) -> None:
    """WM-26: writes of an outage arrive later and in order; one that met a newer version is reported, not merged."""
    found = seen["outage"]
    for late, version in (("late", 2), ("later", 3), ("late_cas", 2)):
        assert found[late] == {"stored": True, "version": version, "reason": None, "pending": True}
    whole = {"step": "cart", "qty": 1, "remark": "late"}
    assert (found["meanwhile"]["body"], found["meanwhile"]["degraded"]) == (whole, True)
    assert found["delivered"]
    for read in ("afterwards", "on_the_server"):
        assert (found[read]["body"], found[read]["version"], found[read]["degraded"]) == (whole, 3, False)
    assert found["conflicts"] == [[{"step": "done"}, 1]]
    assert (found["contested"]["body"], found["contested"]["version"]) == ({"step": "cart", "qty": 9}, 2)


@pytest.mark.parametrize(
    ("scene", "conflicts"), [("lost, known again", []), ("lost", [[{"step": "done"}, 1]])]
)
def test_a_lost_answer(seen: Seen, scene: str, conflicts: list[Any]) -> None:
    """WM-15, WM-26: a cas sent again is known for a key made with `resend`, and a conflict for any other."""
    found = seen[scene]
    assert found["unheard"] == {"stored": True, "version": 2, "reason": None, "pending": True}
    assert found["delivered"]
    assert found["conflicts"] == conflicts
    assert (found["read"]["body"], found["read"]["version"]) == ({"step": "done"}, 2)


def test_metadata(seen: Seen) -> None:
    """WM-5, WM-23, CO-3, WM-26: a person is found in any spelling, and their states are listed without content."""
    found = seen["metadata"]
    assert (found["written"]["stored"], found["written"]["version"]) == (True, 1)
    assert found["read"]["body"] == {"step": "done"}
    first, second, nobody = found["found"]
    assert first == second
    assert nobody == []
    assert [match["handles"] for match in first] == [[{"type": "phone_e164", "value": "…78"}]]
    assert found["by_pseudonym"] == [first[0]["profile_id"]]
    assert [state["scope_kind"] for state in found["states"]] == ["subject", "conversation"]
    for state in found["states"]:
        assert state["valid_until"] is not None
        assert (state["agent"], state["version"], state["schema_version"]) == ("order-taker", 1, "1")
        assert state["bytes"] > 0
    assert found["log"] == []


def test_a_person_is_forgotten(seen: Seen) -> None:
    """PR-9, PR-11, WM-26: `admin.forget` and `forget_status`; what was erased reads as never written at once."""
    found = seen["forget"]
    assert found["asked"]["status"] in {"pending", "running"}
    assert found["asked"]["target_kind"] == "handle"
    assert (found["read"]["body"], found["read"]["version"], found["found"]) == ({}, 0, 0)
    assert found["conversation"]["target_kind"] == "conversation"
    status = seen["forgotten"]["status"]
    assert (status["status"], status["request_id"]) == ("completed", found["asked"]["request_id"])
    assert status["erased"] == {"agent_states": 1, "handles": 1, "profiles": 1}
    assert len(status["receipt_hash"]) == 64
    assert found["log"] == []


def test_a_plain_session(seen: Seen, server: Server) -> None:
    """WM-26: its turns, its heartbeats and its questions about itself are answered; nothing is lost or logged."""
    found = seen["session"]
    assert found["log"] == []
    assert (found["delivered"], found["pending"], found["dropped"]) == (True, 0, 0)
    assert found["scopes"] == ["admin", "agent_state", "history"]
    assert found["features"] == ["agent_state"]
    assert [declared["type"] for declared in found["types"]] == ["order"]
    assert found["ingest"] == "unknown"
    asked = [line for line in _requests(server) if line.get("workspace") == str(seen.workspace.id)]
    assert {line["status"] for line in asked if line["route"] == "batch"} == {200}
    assert {"batch", "source-me", "sdk-profile", "ingest-status"} <= {line["route"] for line in asked}


def _requests(server: Server) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]
    return [line for line in lines if line.get("event") == "request.answered"]
