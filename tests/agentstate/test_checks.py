"""Which of two faults a write is refused for: the order of the checks (WM-13)."""

import json
from collections.abc import Callable
from itertools import combinations
from typing import Any

import msgspec
import pytest

from tests import factories
from tests.api import Answer, InProcess
from tests.factories import order_type, scope, write
from workspaces.types import WorkspaceRef

CLIENT = {"type": "anon_id", "value": "client"}
OTHER = {"type": "anon_id", "value": "other"}


class Place(msgspec.Struct):
    """A workspace with one state, at version 1, that names CLIENT and remembers the key `used`."""

    workspace: WorkspaceRef
    key: str
    without_scope: str
    with_agents: str
    scope: dict[str, str]


class Request(msgspec.Struct):
    """A write on its way, to which faults are added."""

    key: str | None
    body: dict[str, Any]
    headers: dict[str, str] = {}
    mangle: Callable[[bytes], bytes] = bytes

    def send(self) -> Answer:
        return InProcess(self.key).write(self.mangle(json.dumps(self.body).encode()), **self.headers)  # type: ignore[arg-type]


Fault = Callable[[Request, Place], None]


def too_large(request: Request, place: Place) -> None:
    inner = request.mangle
    request.mangle = lambda raw: inner(raw) + b" " * 2 * 1024 * 1024


def no_key(request: Request, place: Place) -> None:
    request.key = None


def feature_off(request: Request, place: Place) -> None:
    factories.switch(place.workspace, "agent_state", on=False)


def scope_missing(request: Request, place: Place) -> None:
    request.key = request.key and place.without_scope


def media_type(request: Request, place: Place) -> None:
    request.headers["Content-Type"] = "text/plain"


def not_json(request: Request, place: Place) -> None:
    inner = request.mangle
    request.mangle = lambda raw: inner(raw).replace(b"}", b"", 1)


def unknown_member(request: Request, place: Place) -> None:
    request.body["more"] = 1


def agent_not_listed(request: Request, place: Place) -> None:
    request.key = place.with_agents if request.key == place.key else request.key


def sent_again(request: Request, place: Place) -> None:
    """The same Idempotency-Key with another body: what makes a repeat visible, since a right one is answered."""
    request.headers["Idempotency-Key"] = "used"


def another_person(request: Request, place: Place) -> None:
    request.body["subject"] = OTHER


def scope_kind(request: Request, place: Place) -> None:
    narrow = order_type(version="2", agent_state={"scopes": ["task"], "cap_bytes": 4096})
    factories.publish_types(place.workspace, narrow)


def stale_version(request: Request, place: Place) -> None:
    request.body["if_version"] = 7


def undeclared(request: Request, place: Place) -> None:
    request.body["body"]["colour"] = "red"


def wrong_type(request: Request, place: Place) -> None:
    request.body["body"]["qty"] = "three"


def over_cap(request: Request, place: Place) -> None:
    request.body["body"]["remark"] = "x " * 3000


# 410 (a tombstone of an erasure) and 429 (a rate) take their places here when those come.
ORDER: list[tuple[Fault, int, str]] = [
    (too_large, 413, "payload_too_large"),
    (no_key, 401, "unauthenticated"),
    (feature_off, 404, "feature_off"),
    (scope_missing, 403, "scope_missing"),
    (media_type, 415, "unsupported_media_type"),
    (not_json, 400, "invalid_json"),
    (unknown_member, 422, "invalid_input"),
    (agent_not_listed, 403, "agent_not_allowed"),
    (sent_again, 409, "conflict"),
    (another_person, 409, "subject_mismatch"),
    (scope_kind, 422, "scope_kind_not_declared"),
    (stale_version, 412, "agent_state_conflict"),
    (undeclared, 200, "not_declared_field"),
    (wrong_type, 422, "invalid_field_value"),
    (over_cap, 200, "over_cap"),
]
NAMES = [fault.__name__ for fault, _, _ in ORDER]
IN_REQUEST = [row for row in ORDER if row[0] not in (feature_off, scope_kind)]


@pytest.fixture
def place(aurora: WorkspaceRef) -> Place:
    """Prepare a state at which every check has something to find."""
    key, at = factories.make_key(aurora), scope()
    first = write({"step": "cart"}, scope=at, subject=CLIENT)
    assert InProcess(key).write(first, **{"Idempotency-Key": "used"}).body["version"] == 1
    return Place(
        workspace=aurora,
        key=key,
        without_scope=factories.make_key(aurora, "history"),
        with_agents=factories.make_key(aurora, agents=("upsell",)),
        scope=at,
    )


def outcome(place: Place, *faults: Fault) -> tuple[int, str | None]:
    """Send a good write with some faults; give the status and what it was refused for, if it was."""
    request = Request(key=place.key, body=write({"qty": 1}, scope=place.scope), headers={})
    for fault in faults:
        fault(request, place)
    answer = request.send()
    return answer.status, answer.code or answer.body["reason"]


@pytest.mark.parametrize("position", range(len(ORDER) - 1), ids=NAMES[:-1])
def test_of_two_faults_the_earlier_is_answered(place: Place, position: int) -> None:
    """WM-13: for every two neighbours of the order; nothing is stored."""
    (fault, *expected), (next_fault, *_) = ORDER[position : position + 2]
    assert list(outcome(place, fault, next_fault)) == expected
    factories.switch(place.workspace, "agent_state", on=True)
    assert InProcess(place.key).read(place.scope).body["version"] == 1


def test_each_fault_alone(place: Place) -> None:
    """WM-13: each is refused as its own, and without it the same write is stored."""
    for fault, *expected in IN_REQUEST:
        assert list(outcome(place, fault)) == expected
    assert outcome(place) == (200, None)
    assert outcome(place, feature_off) == (404, "feature_off")
    factories.switch(place.workspace, "agent_state", on=True)
    assert outcome(place) == (200, None)
    assert outcome(place, scope_kind) == (422, "scope_kind_not_declared")


def test_every_two(place: Place) -> None:
    """WM-13: the order is one order: of any two faults in the request itself the earlier one is answered."""
    for (earlier, *expected), (later, *_) in combinations(IN_REQUEST, 2):
        found = outcome(place, earlier, later)
        assert list(found) == expected, f"{earlier.__name__} and {later.__name__}"


def test_a_right_repeat_meets_no_later_check(place: Place) -> None:
    """WM-13, WM-15: a write that is sent again is answered, although every later check would refuse it now."""
    key = InProcess(place.key)
    body = write({"qty": 1}, scope=place.scope, mode="cas", if_version=1)
    first = key.write(body, **{"Idempotency-Key": "mine"})
    assert first.body["version"] == 2
    narrow = {"scopes": ["task"], "cap_bytes": 1}
    bare = order_type(version="2", fields={"step": {"type": "any"}}, retention={}, agent_state=narrow)
    factories.publish_types(place.workspace, bare, drop=["order.qty"])
    assert key.write(body, **{"Idempotency-Key": "mine"}).body == first.body
    assert key.write(body).code == "scope_kind_not_declared"


def test_the_form_of_a_scope_comes_before_the_state(place: Place) -> None:
    """WM-13: an object or a subject that is none is a matter of form, before subject, kind and version."""
    for at in ({"kind": "object", "id": "order"}, {"kind": "subject", "id": "phone_e164:12"}):
        body = write({"colour": 1}, scope=at, if_version=7, subject=OTHER)
        refused = InProcess(place.key).write(body)
        assert (refused.status, refused.code) == (422, "invalid_input")
        assert [problem["pointer"] for problem in refused.body["errors"]] == ["/scope/id"]
