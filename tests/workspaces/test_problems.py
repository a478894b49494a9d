"""Every refusal is an RFC 9457 problem without a word of what was sent (PL-8)."""

import json
import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.test import Client

from tests import factories
from tests.api import Answer, InProcess
from workspaces import errors
from workspaces.errors import Problem
from workspaces.http.exceptions import catalogue, plain_problem, problem_of
from workspaces.types import FieldProblem, WorkspaceRef

CANARY = "canary-zq7x-of-problems"
MEMBERS = {"type", "title", "status", "code", "request_id"}


def subclasses(kind: type[Problem]) -> Iterator[type[Problem]]:
    for child in kind.__subclasses__():
        yield child
        yield from subclasses(child)


def test_every_refusal_has_a_code_of_its_own() -> None:
    """PL-8: the catalogue knows each class by its code, and no two share one."""
    kinds: list[type[Problem]] = [Problem, *set(subclasses(Problem))]
    assert len({kind.code for kind in kinds}) == len(kinds)
    assert set(catalogue().values()) == set(kinds)


@pytest.mark.parametrize("code", sorted(catalogue()))
def test_a_refusal_is_a_code_a_status_and_a_sentence(code: str) -> None:
    """PL-8: a code is a word for machines, a title a sentence for people, a status one of a refusal."""
    kind = catalogue()[code]
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", code)
    assert 400 <= kind.status < 600
    assert kind.title[0].isupper()
    assert not kind.title.endswith(".")
    assert kind.__module__.endswith("errors"), "Refusals stand in the errors module of their app."


REFUSALS: list[tuple[str, dict[str, Any], int, str]] = [
    ("no key", {"path": "/v1/sources/me", "key": None}, 401, "unauthenticated"),
    ("no such address", {"path": f"/v1/{CANARY}"}, 404, "not_found"),
    ("no such method", {"path": "/v1/batch", "method": "DELETE"}, 405, "method_not_allowed"),
    ("no such id", {"path": f"/v1/profiles/{uuid4()}/agent-state"}, 404, "not_found"),
    ("no such kind", {"path": f"/v1/config/{CANARY}"}, 404, "not_found"),
    ("no JSON", {"path": "/v1/batch", "body": f'{{"{CANARY}'.encode()}, 400, "invalid_json"),
    (
        "twice the same name",
        {"path": "/v1/batch", "body": f'{{"{CANARY}":1,"{CANARY}":2}}'.encode()},
        400,
        "invalid_json",
    ),
    ("not of the form", {"path": "/v1/batch", "body": {CANARY: CANARY}}, 422, "invalid_input"),
    (
        "a bad value",
        {"path": "/v1/profiles/search", "body": {"query": [CANARY], "type": CANARY}},
        422,
        "invalid_input",
    ),
    ("a bad cursor", {"path": "/v1/profiles/{profile}/agent-state?cursor=" + CANARY}, 422, "invalid_input"),
    (
        "too large",
        {"path": "/v1/ingest/status", "body": {"task_id": CANARY * 1000}},
        413,
        "payload_too_large",
    ),
    (
        "another media type",
        {"path": "/v1/batch", "body": b"x", "headers": {"Content-Type": f"text/{CANARY}"}},
        415,
        "unsupported_media_type",
    ),
    (
        "for a person",
        {"path": "/v1/config/diffs", "body": {"kind": "masking", "document": {}, "reason": CANARY}},
        403,
        "forbidden",
    ),
    (
        "an object that is no object",
        {"path": "/v1/agent-state/read", "body": {"scope": {"kind": "object", "id": CANARY}, "agent": "a"}},
        422,
        "invalid_input",
    ),
]


@pytest.fixture
def profile(admin: InProcess) -> str:
    subject = {"type": "email", "value": "ana@example.com"}
    admin.write(factories.write(subject=subject))
    found: str = admin.post("/v1/profiles/search", {"query": "ana@example.com"}).body["items"][0][
        "profile_id"
    ]
    return found


def send(api: InProcess, request: dict[str, Any], profile: str) -> Answer:
    """Send a refused request with the canary in all its headers, too."""
    caller = InProcess(None) if "key" in request else api
    body = request.get("body")
    method = request.get("method", "GET" if body is None else "POST")
    headers = {
        "User-Agent": CANARY,
        "Cookie": f"a={CANARY}",
        "X-Request-Id": "req-9",
        **request.get("headers", {}),
    }
    return caller.call(method, request["path"].replace("{profile}", profile), body, **headers)


@pytest.mark.parametrize("refusal", REFUSALS, ids=[row[0] for row in REFUSALS])
def test_a_refusal_has_the_form_of_a_problem(
    admin: InProcess, profile: str, refusal: tuple[str, dict[str, Any], int, str]
) -> None:
    """PL-8: media type, members, status and request id are those of RFC 9457; nothing repeats what was sent."""
    _, request, status, code = refusal
    answer = send(admin, request, profile)
    assert (answer.status, answer.code) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert MEMBERS <= answer.body.keys() <= MEMBERS | {"detail", "errors"}
    assert answer.body["status"] == status
    assert answer.body["title"] == catalogue()[code].title
    assert answer.body["type"].startswith(settings.LASTRO_BASE_URL)
    assert answer.body["type"].endswith(code)
    assert answer.body["request_id"] == answer.headers["x-request-id"] == "req-9"
    for problem in answer.body.get("errors", []):
        assert problem.keys() == {"pointer", "code", "detail"}
        assert problem["pointer"] == "" or problem["pointer"].startswith("/")
    assert CANARY not in json.dumps(answer.body)


def test_every_wrong_place_is_told_at_once(admin: InProcess) -> None:
    """PL-8: a request with three wrongs names three places."""
    body = {"scope": {"kind": "room", "id": ""}, "agent": 5}
    answer = admin.post("/v1/agent-state/read", body)
    pointers = {problem["pointer"] for problem in answer.body["errors"]}
    assert pointers == {"/scope/kind", "/scope/id", "/agent"}


def test_a_status_says_how_to_go_on(agent: InProcess) -> None:
    """PL-8: 401 says how to authenticate, 405 what is allowed."""
    assert InProcess(None).get("/v1/sources/me").headers["www-authenticate"] == "Bearer"
    assert agent.call("DELETE", "/v1/batch").headers["allow"] == "POST"


@pytest.mark.parametrize("error", [OperationalError(CANARY), InterfaceError(CANARY)])
def test_a_store_that_is_away_is_503(
    agent: InProcess, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """PL-8: what may work later is 503 with Retry-After; nothing of the store's message is told."""

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("workspaces.documents.live", fail)
    answer = agent.get("/v1/sdk/profile")
    assert (answer.status, answer.code) == (503, "unavailable")
    assert int(answer.headers["retry-after"]) >= 1
    assert CANARY not in json.dumps(answer.body)


def test_what_nobody_expected_is_told_without_content(
    agent: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PL-8: any other exception is 500 internal_error with the request's id alone to ask by."""

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError(CANARY)

    monkeypatch.setattr("workspaces.documents.live", fail)
    answer = agent.get("/v1/sdk/profile")
    assert (answer.status, answer.code) == (500, "internal_error")
    assert answer.body.keys() == MEMBERS
    assert CANARY not in json.dumps(answer.body)


def test_a_problem_before_any_view_has_the_same_form(rf: Any) -> None:
    """PL-8: a problem that is answered where no view was reached is written whole, its places too."""
    request = rf.get("/v1/x")
    request.request_id = "req-3"
    problem = errors.InvalidInput("A sentence.", errors=(FieldProblem("/a", "required", "Needed."),))
    answer = plain_problem(request, problem)
    body = msgspec.json.decode(answer.content)
    assert answer["Content-Type"] == "application/problem+json"
    assert body["errors"] == [{"pointer": "/a", "code": "required", "detail": "Needed."}]
    assert (body["detail"], body["request_id"], answer.status_code) == ("A sentence.", "req-3", 422)


@pytest.mark.parametrize("kind", sorted(catalogue()))
def test_a_refusal_is_answered_as_itself(kind: str) -> None:
    """PL-8: whichever class a rule raises, the answer has its code."""
    found = catalogue()[kind]()
    assert problem_of(found) is found


def test_an_address_outside_the_api_answers_as_a_page(db: None) -> None:
    """PL-8: problems are for /v1; elsewhere an unknown address is a page."""
    answer = Client().get(f"/{CANARY}")
    assert answer.status_code == 404
    assert answer.headers["Content-Type"].startswith("text/html")


def test_a_key_learns_nothing_of_other_workspaces(aurora: WorkspaceRef, boreal: WorkspaceRef) -> None:
    """PL-1, PL-8: no answer to a key of one workspace names another."""
    key = InProcess(factories.make_key(aurora, "agent_state", "admin"))
    texts = [
        json.dumps(key.get(path).body)
        for path in ("/v1/sources/me", "/v1/sdk/profile", "/v1/config/features")
    ]
    assert not [text for text in texts if boreal.slug in text or str(boreal.id) in text]
