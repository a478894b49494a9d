"""What people see of working memory: that it is there, never what it says (WM-23)."""

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest
from django.utils import timezone

from tests import factories
from tests.agentstate.clock import Clocked
from tests.agentstate.rows import row_of
from tests.api import Answer, InProcess
from tests.factories import order_type, scope, write
from workspaces import access
from workspaces.models import AuditEntry, Handle
from workspaces.paging import PAGE_SIZE
from workspaces.types import WorkspaceRef

SOME_DAY = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)

ANA = {"type": "phone_e164", "value": "+5511912345678"}
BRUNO = {"type": "email", "value": "bruno@example.com"}


def profile_of(workspace: WorkspaceRef, handle: dict[str, str] = ANA) -> UUID:
    """Give the profile of a person who was named."""
    with access.bound(workspace.id):
        found: UUID = Handle.objects.get(type=handle["type"]).profile_id
        return found


def states(api: InProcess, profile: UUID, query: str = "") -> Answer:
    return api.get(f"/v1/profiles/{profile}/agent-state{query}")


def test_what_is_shown(aurora: WorkspaceRef, agent: InProcess, admin: InProcess) -> None:
    """WM-23: exactly these members, each as it is."""
    place = scope()
    agent.write(write({"step": "cart", "qty": 12, "phone": "+5511912345678"}, scope=place, subject=ANA))
    agent.write(write({"qty": 13}, scope=place))
    answer = states(admin, profile_of(aurora))
    (shown,) = answer.body["items"]
    row, read = row_of(aurora, place), agent.read(place).body
    assert answer.body["next_cursor"] is None
    assert shown == {
        "agent": "order-taker",
        "scope_kind": "conversation",
        "source_id": str(row.source_id),
        "source": "chat backend",
        "bytes": len('{"phone":"***78","qty":13,"step":"cart"}'),
        "version": 2,
        "type": "order",
        "schema_version": "1",
        "created_at": shown["created_at"],
        "updated_at": read["updated_at"],
        "valid_until": read["valid_until"],
        "fields": 3,
    }
    assert shown["created_at"] < shown["updated_at"]


def test_what_is_not(aurora: WorkspaceRef, agent: InProcess, admin: InProcess) -> None:
    """WM-23: neither the content, nor the names of its fields, nor the scope's id, nor the handle."""
    agent.write(write({"remark": "marker-of-content"}, scope=scope("marker-of-scope"), subject=BRUNO))
    text = json.dumps(states(admin, profile_of(aurora, BRUNO)).body)
    assert "order-taker" in text
    for hidden in ("marker-of-content", "marker-of-scope", "remark", "bruno", "example.com"):
        assert hidden not in text


def test_every_way_to_name_a_person(aurora: WorkspaceRef, agent: InProcess, admin: InProcess) -> None:
    """WM-23, WM-6: the states of their scope and those that name them, of each agent; nobody else's."""
    agent.write(write(scope={"kind": "subject", "id": "wa_id:5511912345678"}))
    agent.write(write(scope=scope(kind="task"), subject=ANA))
    agent.write(write(scope=scope(), agent="upsell", subject=ANA))
    agent.write(write(subject=BRUNO))
    agent.write(write())
    items = states(admin, profile_of(aurora)).body["items"]
    assert [item["scope_kind"] for item in items] == ["conversation", "task", "subject"]
    assert [item["agent"] for item in items] == ["upsell", "order-taker", "order-taker"]


def test_follows_the_state(aurora: WorkspaceRef, agent: InProcess, admin: InProcess) -> None:
    """WM-23: the last source, a type that was published since the write, and a removal."""
    place = scope()
    agent.write(write(scope=place, subject=ANA))
    factories.publish_types(aurora, order_type(version="2", retention={"state": "1d"}))
    profile = profile_of(aurora)
    (shown,) = states(admin, profile).body["items"]
    assert shown["schema_version"] == "1"
    assert shown["valid_until"] == agent.read(place).body["valid_until"]
    admin.write(write(scope=place))
    (shown,) = states(admin, profile).body["items"]
    assert (shown["schema_version"], shown["source"], shown["version"]) == ("2", "back office", 2)
    agent.post("/v1/agent-state/delete", {"scope": place, "agent": "order-taker"})
    assert states(admin, profile).body["items"] == []


def test_expired_is_absent(aurora: WorkspaceRef, admin: InProcess) -> None:
    """WM-23, WM-21: an expired state is not shown, whether or not the sweep ran."""
    clock = Clocked(aurora, now=timezone.now() - timedelta(days=31))
    clock.write(write(subject=ANA))
    profile = profile_of(aurora)
    assert states(admin, profile).body["items"] == []
    clock.wait(days=2).write(write(subject=ANA))
    assert len(states(admin, profile).body["items"]) == 1
    clock.wait(days=29).sweep()
    assert len(states(admin, profile).body["items"]) == 1


def test_newest_first_page_by_page(aurora: WorkspaceRef, admin: InProcess) -> None:
    """WM-23, PL-10: each state once and in order, over the pages, also among equal times; a new one moves nothing."""
    clock = Clocked(aurora, now=timezone.now() - timedelta(hours=1))
    for number in range(2 * PAGE_SIZE + 5):
        clock.wait(seconds=number % 2).write(write({"remark": "x" * number}, subject=ANA))
    profile, seen, query = profile_of(aurora), [], ""
    sizes = []
    while query is not None:
        body = states(admin, profile, query).body
        seen += body["items"]
        sizes.append(len(body["items"]))
        query = body["next_cursor"] and f"?cursor={body['next_cursor']}"
        clock.wait(seconds=1).write(write({"step": "done"}, subject=ANA))
    assert sizes == [PAGE_SIZE, PAGE_SIZE, 5]
    assert len({item["bytes"] for item in seen}) == len(seen)
    times = [item["updated_at"] for item in seen]
    assert times == sorted(times, reverse=True)
    assert len(set(times)) < len(times)


def cursor_of(*parts: Any) -> str:
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(parts)).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "marker",
        "bWFya2Vy",
        "%00",
        "%F0%9F%8D%8D",
        "%ED%A0%80",
        "=",
        cursor_of(SOME_DAY),
        cursor_of("2026-11-30", UUID(int=7)),
        cursor_of(SOME_DAY, "marker"),
        cursor_of(5, UUID(int=7)),
        cursor_of(2**63, UUID(int=7)),
        cursor_of(SOME_DAY.replace(tzinfo=None), UUID(int=7)),
    ],
)
def test_cursors_that_no_list_gave(
    aurora: WorkspaceRef, agent: InProcess, admin: InProcess, cursor: str
) -> None:
    """WM-23, WM-25: 422 at /cursor, without what was sent; without the cursor the list is answered."""
    agent.write(write(subject=ANA))
    profile = profile_of(aurora)
    refused = states(admin, profile, f"?cursor={cursor}")
    assert (refused.status, refused.code) == (422, "invalid_input")
    assert [problem["pointer"] for problem in refused.body["errors"]] == ["/cursor"]
    assert "marker" not in json.dumps(refused.body)
    assert len(states(admin, profile, "?cursor=").body["items"]) == 1


def test_each_view_is_audited(aurora: WorkspaceRef, agent: InProcess, admin: InProcess) -> None:
    """WM-23, PR-21: who looked at whom; a refused look is none, and the entry holds no handle and no scope."""
    agent.write(write(scope=scope("marker-of-scope"), subject=BRUNO))
    profile = profile_of(aurora, BRUNO)
    assert states(agent, profile).code == "scope_missing"
    assert states(admin, uuid4()).status == 404
    assert views(aurora) == []
    assert states(admin, profile).status == states(admin, profile).status == 200
    first, second = views(aurora)
    assert (first.object_kind, first.object_id) == ("profile", str(profile))
    assert (first.actor_kind, first.actor_name) == ("key", "back office (tests)")
    assert first.facts == {"what": "agent_state"}
    assert second.seq == first.seq + 1
    kept = repr([vars(entry) for entry in (first, second)])
    assert "bruno" not in kept
    assert "marker" not in kept


def test_people_may_look_with_the_right(aurora: WorkspaceRef, agent: InProcess) -> None:
    """WM-23, PL-2: support sees it by a personal token; one without the permission is refused by name."""
    agent.write(write(subject=ANA))
    profile = profile_of(aurora)
    ana = factories.make_person(aurora, "support")
    allowed = InProcess(factories.make_token(aurora, ana, "view_state_metadata"))
    assert len(states(allowed, profile).body["items"]) == 1
    assert views(aurora)[0].actor_name == ana.email
    refused = states(InProcess(factories.make_token(aurora, ana, "find_profiles")), profile)
    assert (refused.status, refused.code) == (403, "permission_missing")


def test_of_another_workspace(aurora: WorkspaceRef, agent: InProcess, stranger: InProcess) -> None:
    """WM-23, PL-1: somebody else's person is answered exactly like nobody."""
    agent.write(write(subject=ANA))
    theirs, nobodys = states(stranger, profile_of(aurora)), states(stranger, uuid4())
    for answer in (theirs, nobodys):
        assert (answer.status, answer.code) == (404, "not_found")
    assert theirs.body | {"request_id": ""} == nobodys.body | {"request_id": ""}
    assert views(aurora) == []


def test_of_a_person_without_states(aurora: WorkspaceRef, agent: InProcess, admin: InProcess) -> None:
    """WM-23: an empty list, which is a view of a profile too."""
    place = scope()
    agent.write(write(scope=place, subject=ANA))
    agent.post("/v1/agent-state/delete", {"scope": place, "agent": "order-taker"})
    assert states(admin, profile_of(aurora)).body == {"items": [], "next_cursor": None}
    assert len(views(aurora)) == 1


def test_while_the_feature_is_off(aurora: WorkspaceRef, agent: InProcess, admin: InProcess) -> None:
    """WM-1, PR-4: 404 `feature_off`, and all of it again when it is back on."""
    agent.write(write(subject=ANA))
    profile = profile_of(aurora)
    factories.switch(aurora, "agent_state", on=False)
    assert states(admin, profile).code == "feature_off"
    factories.switch(aurora, "agent_state", on=True)
    assert len(states(admin, profile).body["items"]) == 1


def views(workspace: WorkspaceRef) -> list[AuditEntry]:
    """List the views of profiles in the audit."""
    with access.bound(workspace.id):
        return list(AuditEntry.objects.filter(act="profile.view").order_by("seq"))
