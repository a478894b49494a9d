"""Requests that are sent again do nothing twice (PL-10)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from django.db import connection
from django.utils import timezone

from tests import factories
from tests.api import Answer, InProcess
from tests.parallel import at_once, raised
from workspaces import access
from workspaces.models import AuditEntry, ChangeRequest, RememberedAnswer
from workspaces.services import answers
from workspaces.tasks import forget_answers
from workspaces.types import WorkspaceRef

CANARY = "canary-of-idempotency"
KEY = "Idempotency-Key"


class Repeated(msgspec.Struct, frozen=True):
    """A request that remembers its answer: how it is sent, another body of it, and how often its act happened."""

    name: str
    send: Callable[[InProcess, Any, dict[str, str]], Answer]
    body: Any
    other: Any
    times_done: Callable[[], int]


def proposals() -> int:
    return int(ChangeRequest.objects.filter(reason=CANARY).count())


def change(reason: str = CANARY) -> dict[str, Any]:
    return {"kind": "features", "document": {"enabled": []}, "reason": reason}


PROPOSE = Repeated(
    "propose",
    lambda api, body, headers: api.post("/v1/config/diffs", body, **headers),
    change(),
    change("another reason"),
    proposals,
)
BATCH = Repeated(
    "batch",
    lambda api, body, headers: api.post("/v1/batch", body, **headers),
    {"items": [{"text": CANARY}]},
    {"items": [{"text": CANARY}, {}]},
    lambda: 1,
)


@pytest.fixture
def security(aurora: WorkspaceRef) -> InProcess:
    person = factories.make_person(aurora, "security")
    return InProcess(factories.make_token(aurora, person, "change_features"))


@pytest.fixture
def callers(agent: InProcess, security: InProcess) -> dict[str, InProcess]:
    return {"propose": security, "batch": agent}


def done(workspace: WorkspaceRef, request: Repeated) -> int:
    with access.bound(workspace.id):
        return request.times_done()


each_request = pytest.mark.parametrize("request_", [PROPOSE, BATCH], ids=lambda row: row.name)


@each_request
def test_the_same_key_and_body_answer_as_the_first_time(
    aurora: WorkspaceRef, callers: dict[str, InProcess], request_: Repeated
) -> None:
    """PL-10: sent again, a request gets the first answer, byte for byte, and does nothing a second time."""
    api, headers = callers[request_.name], {KEY: "order-1"}
    first = request_.send(api, request_.body, headers)
    again = [request_.send(api, request_.body, headers) for _ in range(3)]
    assert {answer.status for answer in again} == {first.status}
    assert [answer.body for answer in again] == [first.body] * 3
    assert done(aurora, request_) == 1


@each_request
def test_the_same_key_with_another_body_is_refused(
    aurora: WorkspaceRef, callers: dict[str, InProcess], request_: Repeated
) -> None:
    """PL-10: a key that was used before with another body is 409 conflict; a fresh key passes."""
    api = callers[request_.name]
    request_.send(api, request_.body, {KEY: "order-1"})
    refused = request_.send(api, request_.other, {KEY: "order-1"})
    assert (refused.status, refused.code) == (409, "conflict")
    assert request_.send(api, request_.other, {KEY: "order-2"}).status < 300


@each_request
def test_without_a_key_each_request_counts(
    aurora: WorkspaceRef, callers: dict[str, InProcess], request_: Repeated
) -> None:
    """PL-10: a request without a key is done each time, and nothing of it is remembered."""
    for _ in range(2):
        assert request_.send(callers[request_.name], request_.body, {}).status < 300
    with access.bound(aurora.id):
        assert not RememberedAnswer.objects.exists()


def test_another_spelling_of_the_body_is_another_body(aurora: WorkspaceRef, agent: InProcess) -> None:
    """PL-10: the body counts as it was received, byte for byte."""
    headers = {KEY: "order-1"}
    assert agent.post("/v1/batch", b'{"items":[{}]}', **headers).status == 200
    assert agent.post("/v1/batch", b'{"items": [{}]}', **headers).status == 409


def test_a_key_belongs_to_its_source(aurora: WorkspaceRef, boreal: WorkspaceRef) -> None:
    """PL-10, PL-1: two keys of one source share what is remembered; another source, or workspace, does not."""
    body: Any = {"items": [{}]}
    headers = {KEY: "order-1"}
    same = [InProcess(factories.make_key(aurora, source="crm")) for _ in range(2)]
    others = [
        InProcess(factories.make_key(aurora, source="bot")),
        InProcess(factories.make_key(boreal, source="crm")),
    ]
    assert same[0].post("/v1/batch", body, **headers).status == 200
    assert same[1].post("/v1/batch", {"items": [{}, {}]}, **headers).status == 409
    for api in others:
        assert api.post("/v1/batch", {"items": [{}, {}]}, **headers).body["accepted"] == 2


def test_a_key_belongs_to_its_route(aurora: WorkspaceRef, agent: InProcess) -> None:
    """PL-10: the key of one route is refused on another, even where the bodies are equal."""
    headers, scope = {KEY: "order-1"}, factories.scope()
    body = {"scope": scope, "agent": "order-taker"}
    assert agent.post("/v1/agent-state/delete", body, **headers).status == 200
    assert agent.post("/v1/batch", {"items": [{}]}, **headers).status == 409


def test_a_deletion_that_is_sent_again_deletes_nothing_new(aurora: WorkspaceRef, agent: InProcess) -> None:
    """PL-10: a deletion repeated after the state was written again leaves the new state alone."""
    scope = factories.scope()
    body = {"scope": scope, "agent": "order-taker"}
    agent.write(factories.write(scope=scope))
    first = agent.post("/v1/agent-state/delete", body, **{KEY: "gone"})
    assert first.body["deleted"] is True
    agent.write(factories.write({"step": "done"}, scope=scope))
    assert agent.post("/v1/agent-state/delete", body, **{KEY: "gone"}).body == first.body
    assert agent.read(scope).body["body"] == {"step": "done"}


def test_an_approval_that_is_sent_again_publishes_once(aurora: WorkspaceRef, security: InProcess) -> None:
    """PL-10: an approval repeated with its key answers as published; without it the second is 409."""
    proposed = security.post("/v1/config/diffs", change()).body["diff_id"]
    path = f"/v1/config/diffs/{proposed}/approve"
    first = security.post(path, **{KEY: "go"})
    assert (first.status, first.body["status"]) == (200, "published")
    assert security.post(path, **{KEY: "go"}).body == first.body
    assert security.post(path).status == 409
    with access.bound(aurora.id):
        assert AuditEntry.objects.filter(act="feature.disable").count() == 1


def test_a_refusal_is_not_remembered(aurora: WorkspaceRef, security: InProcess) -> None:
    """PL-10: a refused request may be mended and sent again under its key."""
    bad = change() | {"document": {"enabled": ["x"]}}
    assert security.post("/v1/config/diffs", bad, **{KEY: "order-1"}).status == 422
    assert security.post("/v1/config/diffs", change(), **{KEY: "order-1"}).status == 201


KEYS = [
    ("empty", "", 422),
    ("one character", "k", 200),
    ("256 characters", "k" * 256, 200),
    ("257 characters", "k" * 257, 422),
    ("a space", "a b", 200),
    ("not ASCII", "é", 422),
    ("a tab", "a\tb", 422),
    ("a control character", "a\x7f", 422),
]


@pytest.mark.parametrize(("why", "key", "status"), KEYS, ids=[row[0] for row in KEYS])
def test_the_form_of_a_key(agent: InProcess, why: str, key: str, status: int) -> None:
    """PL-10: a key has 1 to 256 printable ASCII characters."""
    answer = agent.post("/v1/batch", {"items": [{}]}, **{KEY: key})
    assert answer.status == status
    if status == 422:
        assert [problem["code"] for problem in answer.body["errors"]] == ["idempotency_key"]


def test_two_at_once_do_one_act(committed: None) -> None:
    """PL-10: eight equal requests at the same moment propose one change and get one answer."""
    workspace = factories.make_ready_workspace()
    person = factories.make_person(workspace, "security")
    token = factories.make_token(workspace, person, "change_features")
    results = at_once(
        8, lambda _: InProcess(token).post("/v1/config/diffs", change(), **{KEY: f"order-{workspace.id}"})
    )
    assert not raised(results)
    assert {answer.status for answer in results} == {201}
    assert len({answer.body["diff_id"] for answer in results}) == 1
    assert done(workspace, PROPOSE) == 1


def test_two_different_at_once_do_one_act(committed: None) -> None:
    """PL-10: of different requests under one key at the same moment one is done and the others are 409."""
    workspace = factories.make_ready_workspace()
    person = factories.make_person(workspace, "security")
    token = factories.make_token(workspace, person, "change_features")
    results = at_once(
        6, lambda number: InProcess(token).post("/v1/config/diffs", change(f"Nr {number}"), **{KEY: "k"})
    )
    assert not raised(results)
    assert sorted(answer.status for answer in results) == [201, *[409] * 5]
    with access.bound(workspace.id):
        assert ChangeRequest.objects.filter(kind="features", status="proposed").count() == 1


def test_nothing_of_a_request_is_remembered_but_hashes(
    aurora: WorkspaceRef, agent: InProcess, security: InProcess
) -> None:
    """PL-10, WM-24: key and body are kept as keyed hashes, the answer without content."""
    agent.post("/v1/batch", BATCH.body, **{KEY: CANARY})
    scope = factories.scope(CANARY)
    agent.post("/v1/agent-state/delete", {"scope": scope, "agent": "order-taker"}, **{KEY: f"{CANARY}-2"})
    security.post("/v1/config/diffs", change(), **{KEY: f"{CANARY}-3"})
    with access.bound(aurora.id), connection.cursor() as cursor:
        cursor.execute("SELECT t::text FROM workspaces_rememberedanswer t")
        text = "".join(row[0] for row in cursor.fetchall())
    assert "diff_id" in text
    assert CANARY not in text
    assert CANARY.encode().hex() not in text


def age(workspace: WorkspaceRef, hours: float) -> None:
    with access.bound(workspace.id):
        RememberedAnswer.objects.update(made_at=timezone.now() - timedelta(hours=hours))


def test_answers_are_remembered_for_24_hours(aurora: WorkspaceRef, agent: InProcess) -> None:
    """PL-10: up to 24 hours a key is remembered; after them it is free for another request."""
    headers = {KEY: "order-1"}
    agent.post("/v1/batch", {"items": [{}]}, **headers)
    age(aurora, 23.9)
    forget_answers()
    assert agent.post("/v1/batch", {"items": [{}, {}]}, **headers).status == 409
    age(aurora, 24.1)
    forget_answers()
    assert agent.post("/v1/batch", {"items": [{}, {}]}, **headers).body["accepted"] == 2


def test_an_answer_past_its_time_is_not_given_before_the_sweep(
    aurora: WorkspaceRef, agent: InProcess
) -> None:
    """PL-10: a key is free after 24 hours whether or not the sweep has run."""
    headers = {KEY: "order-1"}
    agent.post("/v1/batch", {"items": [{}]}, **headers)
    age(aurora, 24.1)
    assert agent.post("/v1/batch", {"items": [{}, {}]}, **headers).body["accepted"] == 2
    assert agent.post("/v1/batch", {"items": [{}, {}]}, **headers).body["accepted"] == 2
    assert agent.post("/v1/batch", {"items": [{}]}, **headers).status == 409


def test_old_answers_go_in_batches(aurora: WorkspaceRef, boreal: WorkspaceRef, monkeypatch: Any) -> None:
    """PL-10: a sweep takes as many batches as there are, in every workspace."""
    monkeypatch.setattr(answers, "BATCH", 2)
    for workspace in (aurora, boreal):
        with access.bound(workspace.id):
            RememberedAnswer.objects.bulk_create(
                RememberedAnswer(
                    key_hash=uuid4().bytes, body_hash=b"", made_at=factories.LATELY - timedelta(days=400)
                )
                for _ in range(5)
            )
    forget_answers()
    for workspace in (aurora, boreal):
        with access.bound(workspace.id):
            assert not RememberedAnswer.objects.exists()
