"""Features are off until security switches them on, and off at once when it switches them off (PR-1, PR-4)."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agentstate.models import State
from agentstate.services.sweep import sweep_states
from tests import factories
from tests.api import Answer, InProcess, OverHttp
from tests.privacy.changes import approve, live, propose, publish
from tests.privacy.conftest import signed
from workspaces import access
from workspaces.models import AuditEntry
from workspaces.rules.rights import ROLES
from workspaces.types import WorkspaceRef


@pytest.mark.usefixtures("db", "_deployment_key")
def test_a_new_workspace_has_no_feature_on() -> None:
    """PR-1: agent_state is off by default, like the others, and its routes answer 404 feature_off."""
    workspace = factories.make_workspace()
    api = InProcess(factories.make_key(workspace, "agent_state", "admin"))
    assert live(api, "features")["document"] == {"enabled": []}
    answer = api.read(factories.scope())
    assert (answer.status, answer.code) == (404, "feature_off")
    assert api.get("/v1/sdk/profile").body["features"] == []


@pytest.mark.parametrize("role", [role for role in ROLES if role != "security"])
def test_only_security_changes_features(aurora: WorkspaceRef, security: InProcess, role: str) -> None:
    """PR-1: every other role is refused to propose and to publish `features`, by whatever name of its kind."""
    other = signed(aurora, role)
    waiting = propose(security, "features", {"enabled": []})
    document = {"document": {"enabled": []}, "reason": "Mine"}
    answers = [
        propose(other, "features", {"enabled": []}),
        other.post("/v1/config/diffs", {"type": "features", **document}),
        approve(other, waiting),
    ]
    assert {(answer.status, answer.code) for answer in answers} == {(403, "permission_missing")}
    assert live(security, "features")["document"] == {"enabled": ["agent_state"]}
    assert approve(security, waiting).status == 200


def test_a_kind_that_says_two_things_is_the_one_that_was_checked(
    aurora: WorkspaceRef, engineer: InProcess
) -> None:
    """PR-1: `kind` and its other name `type` are no way around the right: what is checked is what is proposed."""
    body = {"document": {"enabled": []}, "reason": "Mine"}
    answer = engineer.post("/v1/config/diffs", {"kind": "object-types", "type": "features", **body})
    assert (answer.status, answer.code) == (422, "invalid_document")
    answer = engineer.post("/v1/config/diffs", {"kind": "features", "type": "object-types", **body})
    assert (answer.status, answer.code) == (403, "permission_missing")
    assert live(engineer, "features")["document"] == {"enabled": ["agent_state"]}


def test_security_holds_the_right_through_a_token_that_names_it(aurora: WorkspaceRef) -> None:
    """PR-1, PL-3: a security person's token without `change_features` changes no feature."""
    person = factories.make_person(aurora, "security")
    token = InProcess(factories.make_token(aurora, person, "propose_documents", "publish_documents"))
    answer = propose(token, "features", {"enabled": []})
    assert (answer.status, answer.code) == (403, "permission_missing")


def routes(api: InProcess | OverHttp, scope: dict[str, str], profile: str) -> list[Answer]:
    """Call every route of the feature."""
    return [
        api.write(factories.write(scope=scope)),
        api.read(scope),
        api.post("/v1/agent-state/delete", {"scope": scope, "agent": "order-taker"}),
        api.get(f"/v1/profiles/{profile}/agent-state"),
    ]


def test_off_stops_access_and_deletes_nothing(
    aurora: WorkspaceRef, admin: InProcess, security: InProcess
) -> None:
    """PR-4: after the change every route answers 404 feature_off to every key; back on, all is as it was."""
    scope = factories.scope()
    subject = {"type": "email", "value": "ana@example.com"}
    admin.write(factories.write({"step": "cart", "qty": 3}, scope=scope, subject=subject))
    found = admin.post("/v1/profiles/search", {"query": "ana@example.com"}).body["items"]
    profile = found[0]["profile_id"]
    before = admin.read(scope).body
    publish(security, "features", {"enabled": []})
    for api in (admin, InProcess(factories.make_key(aurora, "history"))):
        assert {(answer.status, answer.code) for answer in routes(api, scope, profile)} == {
            (404, "feature_off")
        }
    assert admin.post("/v1/profiles/search", {"query": "ana@example.com"}).body["items"] == found
    publish(security, "features", {"enabled": ["agent_state"]})
    assert admin.read(scope).body == before
    assert admin.get(f"/v1/profiles/{profile}/agent-state").body["items"][0]["fields"] == 2


def test_what_is_stored_keeps_expiring_while_the_feature_is_off(
    aurora: WorkspaceRef, agent: InProcess, security: InProcess
) -> None:
    """PR-4: the sweep does not ask whether the feature is on."""
    agent.write(factories.write({"step": "cart"}))
    publish(security, "features", {"enabled": []})
    with access.bound(aurora.id):
        assert State.objects.get().life == State.Life.LIVE
        sweep_states(workspace=aurora, now=timezone.now() + timedelta(days=31))
        row = State.objects.get()
    assert (row.life, row.body) == (State.Life.EXPIRED, None)


def test_one_workspace_switches_nothing_in_another(
    aurora: WorkspaceRef, boreal: WorkspaceRef, security: InProcess, stranger: InProcess
) -> None:
    """PR-1, PL-1: a feature is of its workspace."""
    publish(security, "features", {"enabled": []})
    assert stranger.read(factories.scope()).status == 200


SWITCHES: list[tuple[list[str], list[str], list[tuple[str, str]]]] = [
    ([], ["agent_state"], [("feature.enable", "agent_state")]),
    (["agent_state"], [], [("feature.disable", "agent_state")]),
    (
        ["agent_state"],
        ["history", "context"],
        [("feature.disable", "agent_state"), ("feature.enable", "history"), ("feature.enable", "context")],
    ),
    (["agent_state"], ["agent_state"], [("document.publish", "features")]),
    (["history", "context"], ["context", "history"], [("document.publish", "features")]),
]


@pytest.mark.parametrize(("before", "after", "expected"), SWITCHES)
def test_each_switch_is_one_entry_that_says_which_way(
    aurora: WorkspaceRef, security: InProcess, before: list[str], after: list[str], expected: Any
) -> None:
    """PR-21: of a publication of `features` the audit has each feature that was switched, and in which direction."""
    publish(security, "features", {"enabled": before})
    with access.bound(aurora.id):
        last = AuditEntry.objects.latest("seq").seq
    publish(security, "features", {"enabled": after})
    with access.bound(aurora.id):
        entries = AuditEntry.objects.filter(seq__gt=last + 1).order_by("seq")
        assert [(entry.act, entry.object_id) for entry in entries] == expected


def test_off_holds_on_every_process_within_a_second(
    committed: None, over_http: Callable[..., OverHttp]
) -> None:
    """PR-4: on a server with two workers, which both have served the feature, no read works a second later."""
    workspace = factories.make_ready_workspace()
    first = over_http(workspace, "agent_state", "admin")
    key = first.http.headers["Authorization"].removeprefix("Bearer ")
    scope = factories.scope()
    first.write(factories.write(scope=scope))
    warm = [OverHttp(str(first.http.base_url), key) for _ in range(12)]
    assert {client.read(scope).status for client in warm} == {200}
    factories.switch(workspace, "agent_state", on=False)
    began = time.monotonic()
    answers = [client.read(scope) for client in warm]
    answers += [OverHttp(str(first.http.base_url), key).read(scope) for _ in range(12)]
    assert {(answer.status, answer.code) for answer in answers} == {(404, "feature_off")}
    assert time.monotonic() - began < 10
    factories.switch(workspace, "agent_state", on=True)
    assert {client.read(scope).body["version"] for client in warm} == {1}
