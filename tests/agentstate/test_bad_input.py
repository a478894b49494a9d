"""Bad input is refused as a problem that says where and never what (WM-25, PL-8)."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from tests import factories
from tests.api import Answer, InProcess, OverHttp
from tests.factories import scope, write
from tests.tables import bad_input
from tests.tables.bad_input import GOOD, MARK, READ, WRITE
from workspaces.http.limits import KIB, MIB

LIMITS = {
    "PUT /v1/agent-state": 2 * MIB,
    "POST /v1/agent-state/read": 16 * KIB,
    "POST /v1/agent-state/delete": 16 * KIB,
}
WITH_VERSION = ("PUT /v1/agent-state", "POST /v1/agent-state/delete")

FORMS = [
    *((why, route, body, at) for route in GOOD for why, body, at in bad_input.INVALID_ROOT),
    *((why, route, GOOD[route] | over, at) for route in GOOD for why, over, at in bad_input.INVALID_NAME),
    *(
        (why, route, GOOD[route] | over, at)
        for route in WITH_VERSION
        for why, over, at in bad_input.INVALID_VERSION
    ),
    *((why, "PUT /v1/agent-state", WRITE | over, at) for why, over, at in bad_input.INVALID_WRITE),
]


@pytest.fixture(scope="module")
def _key(django_db_setup: None, django_db_blocker: Any, _deployment_key: None) -> str:
    with django_db_blocker.unblock():
        return factories.make_key(factories.make_ready_workspace("Caracol"))


@pytest.fixture
def api(db: None, _key: str) -> InProcess:
    """An agent's code in a workspace that the tests of this file share."""
    return InProcess(_key)


def send(api: Any, route: str, body: Any, **headers: str) -> Answer:
    method, path = route.split()
    answer: Answer = api.call(method, path, body, **headers)
    return answer


def require_problem(answer: Answer, status: int, code: str) -> dict[str, Any]:
    """Require a whole RFC 9457 problem that repeats nothing of the request (PL-8)."""
    assert (answer.status, answer.code) == (status, code), answer.body
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.body
    assert body["status"] == status
    assert body["type"].endswith(code)
    assert body["title"]
    assert body["request_id"] == answer.headers["x-request-id"]
    assert MARK not in json.dumps(body) + repr(answer.headers)
    return body


def pointers(body: dict[str, Any]) -> list[str]:
    return [problem["pointer"] for problem in body.get("errors", [])]


def named(rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Give each row the name that says why it is there."""
    return [pytest.param(*row, id=row[0]) for row in rows]


@pytest.mark.parametrize(("why", "raw"), named(bad_input.INVALID_JSON))
def test_no_json(api: InProcess, why: str, raw: bytes) -> None:
    """WM-25: 400 on every route; the good text that the row was made from is stored."""
    for route in GOOD:
        require_problem(send(api, route, raw), 400, "invalid_json")
    assert send(api, "PUT /v1/agent-state", bad_input.WRITE_TEXT.encode()).body["stored"]


@pytest.mark.parametrize(("why", "route", "body", "places"), named(FORMS))
def test_not_of_the_form(api: InProcess, why: str, route: str, body: Any, places: tuple[str, ...]) -> None:
    """WM-25: 422 with a pointer to each thing wrong, and nothing stored; the good request is answered."""
    raw = json.dumps(body).encode()
    problem = require_problem(send(api, route, raw), 422, "invalid_input")
    assert set(places) <= set(pointers(problem))
    assert len(pointers(problem)) == len(places) or body == {}
    assert all(entry["code"] and entry["detail"] for entry in problem["errors"])
    assert api.read(READ["scope"]).body["version"] == 0
    assert send(api, route, GOOD[route]).status == 200


@pytest.mark.parametrize(("why", "over"), named(bad_input.GOOD_WRITES))
def test_unusual_and_good(api: InProcess, why: str, over: dict[str, Any]) -> None:
    """WM-25: what is within the bounds is stored and comes back as it went."""
    body = WRITE | {"agent": "order-taker"} | over
    assert send(api, "PUT /v1/agent-state", body).body["stored"]
    assert api.read(body["scope"], body["agent"]).body["body"] == body["body"]


@pytest.mark.parametrize(("why", "key"), named(bad_input.INVALID_IDEMPOTENCY_KEYS))
def test_idempotency_keys(api: InProcess, why: str, key: str) -> None:
    """WM-25, PL-10: 422 for one that is none, on every route that takes it; 256 printable characters are one."""
    for route in WITH_VERSION:
        refused = send(api, route, GOOD[route], **{"Idempotency-Key": key})
        assert pointers(require_problem(refused, 422, "invalid_input")) == [""]
        assert send(api, route, GOOD[route], **{"Idempotency-Key": "~ " * 128}).status == 200


@pytest.mark.parametrize("media_type", bad_input.UNSUPPORTED_MEDIA_TYPES)
def test_media_types(api: InProcess, media_type: str) -> None:
    """WM-25: 415, whatever the body; a parameter and another case are no other type."""
    for route, body in GOOD.items():
        refused = send(api, route, body, **{"Content-Type": media_type})
        require_problem(refused, 415, "unsupported_media_type")
        for same in bad_input.SUPPORTED_MEDIA_TYPES:
            assert send(api, route, body, **{"Content-Type": same}).status == 200


@pytest.mark.parametrize("route", GOOD)
def test_size(api: InProcess, route: str) -> None:
    """WM-25: a body of the route's limit is read, one byte more is 413, whatever is in it."""
    good = json.dumps(GOOD[route]).encode().ljust(LIMITS[route])
    assert send(api, route, good).status == 200
    require_problem(send(api, route, good + b" "), 413, "payload_too_large")
    require_problem(send(api, route, MARK.encode() * LIMITS[route]), 413, "payload_too_large")


def test_values(api: InProcess) -> None:
    """WM-11, PL-8: the refusal of a value names its place, never the value."""
    for field, value in {"qty": MARK, "step": MARK, "total": {"amount": MARK, "currency": MARK}}.items():
        refused = api.write(write({field: value}))
        assert pointers(require_problem(refused, 422, "invalid_field_value"))[0].startswith(f"/body/{field}")


def test_keys(api: InProcess) -> None:
    """PL-3, PL-8: 401 without a valid key, whatever stands there."""
    for header in (
        "",
        f"Bearer {MARK}",
        MARK,
        "Bearer",
        f"Basic {MARK}",
        "Bearer lst_x_y",
        f"Bearer é{MARK}",
    ):
        refused = send(api, "PUT /v1/agent-state", WRITE, Authorization=header)
        require_problem(refused, 401, "unauthenticated")
        assert refused.headers["www-authenticate"] == "Bearer"


def test_addresses(api: InProcess) -> None:
    """PL-8: an address that leads nowhere is 404, a method that the route does not take 405."""
    for path in (f"/v1/{MARK}", f"/v1/agent-state/{MARK}", f"/v1/profiles/{MARK}/agent-state"):
        require_problem(api.get(path), 404, "not_found")
    require_problem(api.post(f"/v1/agent-state?q={MARK}", WRITE), 405, "method_not_allowed")


class TestOverHttp:
    """The same by a real server, where a body may come in pieces and without a length."""

    @pytest.fixture
    def api(self, over_http: Callable[..., OverHttp]) -> OverHttp:
        """A client with a key of a new workspace."""
        return over_http(factories.make_ready_workspace("Caracol"), "agent_state")

    def chunked(self, api: OverHttp, route: str, raw: bytes, **headers: str) -> Answer:
        """Send a body in chunks of 10,000 bytes."""
        method, path = route.split()
        headers = {"Content-Type": "application/json", **headers}
        answer = api.http.request(method, path, content=pieces(raw), headers=headers)
        return Answer(
            status=answer.status_code,
            body=json.loads(answer.content),
            headers={name.lower(): value for name, value in answer.headers.items()},
        )

    @pytest.mark.parametrize("route", GOOD)
    def test_size(self, api: OverHttp, route: str) -> None:
        """WM-25: the limit holds with and without a length, to the byte.

        The server answers 413 without reading on and then closes the connection, so each such request has its own.
        """
        good = json.dumps(GOOD[route]).encode().ljust(LIMITS[route])
        for way in (self.chunked, send):
            assert way(api, route, good).status == 200
            refused = way(api, route, good + b" ", Connection="close")
            require_problem(refused, 413, "payload_too_large")

    def test_chunks_are_one_body(self, api: OverHttp) -> None:
        """WM-25: a body in pieces is stored like any other, and a bad one is refused like any other."""
        place = scope()
        body = write({"remark": "x y " * 800}, scope=place)
        assert self.chunked(api, "PUT /v1/agent-state", json.dumps(body).encode()).body["stored"]
        assert api.read(place).body["body"] == body["body"]
        for why, raw in bad_input.INVALID_JSON[:4]:
            refused = self.chunked(api, "PUT /v1/agent-state", raw)
            require_problem(refused, 400, "invalid_json")
            assert why

    def test_no_body(self, api: OverHttp) -> None:
        """WM-25: a request without a body is one with an empty body."""
        for route in GOOD:
            method, path = route.split()
            answer = api.http.request(method, path, headers={"Content-Type": "application/json"})
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_json")

    def test_idempotency_keys(self, api: OverHttp) -> None:
        """WM-25, PL-10: 422 for a key of bytes beyond ASCII, as a client would really send them."""
        for raw in (b"k\xc3\xa9", b"k\xff", b"", b"x" * 257):
            answer = api.http.put(
                "/v1/agent-state",
                content=json.dumps(WRITE).encode(),
                headers=[(b"Content-Type", b"application/json"), (b"Idempotency-Key", raw)],
            )
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid_input")

    def test_large_headers_and_addresses(self, api: OverHttp) -> None:
        """WM-25: whatever is too large for the server itself is a refusal of the client, never a 5xx."""
        for path, headers in (
            ("/v1/" + "x" * 20_000, {}),
            ("/v1/agent-state", {"X-Long": "x" * 100_000}),
            ("/v1/agent-state", {f"X-{number}": "x" for number in range(300)}),
        ):
            own = {"Connection": "close", **headers}
            assert 400 <= api.http.put(path, content=b"{}", headers=own).status_code < 500


def pieces(raw: bytes) -> Iterator[bytes]:
    for start in range(0, max(len(raw), 1), 10_000):
        yield raw[start : start + 10_000]


def test_the_table_finds_what_is_repeated() -> None:
    """PL-8: the check of this file can fail: an answer that repeats the mark is found out."""
    leaky = Answer(
        status=422,
        body={
            "status": 422,
            "code": "x",
            "type": "x",
            "title": "t",
            "request_id": "r",
            "detail": f"not {MARK}",
        },
        headers={"content-type": "application/problem+json", "x-request-id": "r"},
    )
    with pytest.raises(AssertionError):
        require_problem(leaky, 422, "x")
