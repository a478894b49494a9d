"""Log lines are JSON, one for each request, and hold no content (PL-11, WM-24)."""

import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, OperationalError
from django.test import Client

from console.logging import ContentFreeFormatter
from tests import factories
from tests.api import InProcess, OverHttp
from tests.server import Server
from workspaces.types import WorkspaceRef

CANARY = "canary-zq7x-of-logging"
LINE = {
    "at",
    "level",
    "logger",
    "event",
    "request_id",
    "method",
    "route",
    "status",
    "milliseconds",
    "workspace",
}


@pytest.fixture
def lines() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Give what is logged as the server writes it, line by line."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(next(kept.formatter for kept in logging.root.handlers if is_ours(kept)))
    logging.root.addHandler(handler)
    yield lambda: [json.loads(line) for line in written.getvalue().splitlines()]
    logging.root.removeHandler(handler)


def is_ours(handler: logging.Handler) -> bool:
    return isinstance(handler.formatter, ContentFreeFormatter)


Lines = Callable[[], list[dict[str, Any]]]


def test_each_request_is_one_line_with_ids_only(aurora: WorkspaceRef, agent: InProcess, lines: Lines) -> None:
    """PL-11: a request leaves one JSON line: route, status, time and ids."""
    scope = factories.scope(CANARY)
    agent.write(factories.write({"remark": CANARY}, scope=scope), **{"X-Request-Id": "req-7"})
    (line,) = lines()
    assert line.keys() == LINE
    assert (line["event"], line["logger"], line["level"]) == ("request.answered", "lastro.http", "INFO")
    assert (line["method"], line["route"], line["status"], line["request_id"]) == (
        "PUT",
        "agent-state",
        200,
        "req-7",
    )
    assert line["workspace"] == str(aurora.id)
    assert 0 < line["milliseconds"] < 60_000
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", line["at"])


def requests(api: InProcess) -> list[int]:
    """Send the canary in every part of a request, good and bad."""
    scope, subject = factories.scope(CANARY), {"type": "email", "value": f"{CANARY}@example.com"}
    answers = [
        api.write(factories.write({"remark": CANARY}, scope=scope, subject=subject)),
        api.read(scope),
        api.write(factories.write({"qty": CANARY}, scope=scope)),
        api.write(factories.write({CANARY: 1}, scope=scope)),
        api.write({"scope": scope, CANARY: CANARY}),
        api.put("/v1/agent-state", f'{{"{CANARY}'.encode()),
        api.post("/v1/profiles/search", {"query": f"{CANARY}@example.com"}),
        api.get(f"/v1/profiles/{uuid4()}/agent-state?cursor={CANARY}"),
        api.get(f"/v1/{CANARY}"),
        api.get(f"/{CANARY}?{CANARY}"),
        api.get(f"/console/invitation/{CANARY}/"),
        api.get("/v1/sources/me", **{"X-Request-Id": f"{CANARY}/", "User-Agent": CANARY, "X-Odd": CANARY}),
        api.get("/v1/sources/me", Authorization=f"Bearer {CANARY}"),
        api.post("/v1/batch", {"items": [{}]}, **{"Idempotency-Key": f"{CANARY}\x7f"}),
        api.call(CANARY.upper(), "/v1/batch"),
        api.post("/v1/batch", CANARY.encode(), **{"Content-Type": f"text/{CANARY}"}),
        api.get("/console/", Cookie=f"lastro_session={CANARY}; theme={CANARY}"),
        api.get("/console/", Host=f"{CANARY}.example.com"),
        api.post("/console/sign-in/", f"username={CANARY}@example.com&password={CANARY}".encode()),
    ]
    return [answer.status for answer in answers]


def test_no_line_holds_what_was_sent(aurora: WorkspaceRef, admin: InProcess, lines: Lines) -> None:
    """PL-11, WM-24: whatever part of a request holds it, and however it is refused, content is in no line."""
    statuses = requests(admin)
    written = lines()
    assert len([line for line in written if line["event"] == "request.answered"]) == len(statuses)
    assert CANARY.lower() not in json.dumps(written).lower()
    assert {404, 200, 401, 400, 422} <= set(statuses)


FAILURES: list[tuple[str, Exception, int]] = [
    ("nobody expected it", ValueError(CANARY), 500),
    ("the database quotes a row", IntegrityError(f"DETAIL: Key (hash)=({CANARY}) already exists."), 500),
    ("a store is away", OperationalError(f"connection to {CANARY} failed"), 503),
]


@pytest.mark.parametrize(("why", "error", "status"), FAILURES, ids=[row[0] for row in FAILURES])
def test_an_exception_is_logged_without_its_message(
    agent: InProcess, lines: Lines, monkeypatch: pytest.MonkeyPatch, why: str, error: Exception, status: int
) -> None:
    """PL-11, WM-24: of what goes wrong the line has the class and the place, never the message; the answer, neither."""

    def fail(*_: Any, **__: Any) -> None:
        try:
            raise KeyError(CANARY)
        except KeyError as cause:
            raise error from cause

    monkeypatch.setattr("workspaces.documents.live", fail)
    answer = agent.get("/v1/sdk/profile")
    assert answer.status == status
    assert CANARY not in f"{answer.body}"
    written = lines()
    assert CANARY not in json.dumps(written)
    failed = [line for line in written if line["event"] == "request.failed"]
    assert len(failed) == (1 if status == 500 else 0)
    for line in failed:
        assert line["exc_info"].startswith(f"{type(error).__name__} < ")
        assert "workspaces/views.py" in line["exc_info"]


def record(name: str, message: str, *arguments: Any, **extra: Any) -> dict[str, Any]:
    """Write one record of some logger as the server does."""
    made = logging.getLogger(name).makeRecord(
        name, logging.ERROR, __file__, 1, message, arguments, extra.pop("exc_info", None), extra=extra
    )
    formatter = next(kept.formatter for kept in logging.root.handlers if is_ours(kept))
    assert formatter is not None
    written: dict[str, Any] = json.loads(formatter.format(made))
    return written


def error_of(kind: type[Exception]) -> Any:
    try:
        raise kind(CANARY)
    except kind as error:
        return (kind, error, error.__traceback__)


FOREIGN: list[tuple[str, str, tuple[Any, ...], bool]] = [
    ("django.security.DisallowedHost", "Invalid HTTP_HOST header: %r", (CANARY,), False),
    ("django.request", f"Not Found: /{CANARY}", (), False),
    ("django.db.backends.base", f"Error calling hook ({CANARY})", (), True),
    ("celery.app.trace", "Task %s raised unexpected: %s", ("t", CANARY), True),
    ("celery.worker.strategy", f"Received {CANARY}", (), True),
    ("kombu.connection", f"Closing {CANARY}", (), True),
    ("asyncio", CANARY, (), True),
]


@pytest.mark.parametrize(
    ("name", "message", "arguments", "with_error"), FOREIGN, ids=[row[0] for row in FOREIGN]
)
def test_what_libraries_say_of_an_exception_is_left_out(
    name: str, message: str, arguments: tuple[Any, ...], with_error: Any
) -> None:
    """WM-24: of a library's line about a request or an exception only that it was said is kept, and the class."""
    line = record(name, message, *arguments, exc_info=error_of(ValueError) if with_error else None)
    assert CANARY not in json.dumps(line)
    assert line["logger"] == name
    assert line["event"] == f"{name.partition('.')[0]}.event"
    assert ("ValueError" in line.get("exc_info", "")) == with_error


def test_only_plain_values_are_written() -> None:
    """WM-24: an object beside an event is not written: its text may quote what was sent."""
    line = record("lastro.http", "thing.done", request={"body": CANARY}, body=[CANARY], count=3, name_of="x")
    assert (line["event"], line["count"], line["name_of"]) == ("thing.done", 3, "x")
    assert CANARY not in json.dumps(line)


def test_an_exception_as_a_message_is_left_out() -> None:
    """WM-24: a library that logs an exception, or another object, in place of a sentence quotes nothing."""
    for said in (ValueError(CANARY), {"body": CANARY}, [CANARY]):
        line = record("celery.worker", said)  # type: ignore[arg-type]
        assert line["event"] == "celery.event"
        assert CANARY not in json.dumps(line)


@pytest.mark.parametrize("odd", ["\ud800", 2**70, float("nan"), "é\u2028"])
def test_any_plain_value_can_be_written(odd: Any) -> None:
    """PL-11: half a character, a number of any size: the line is written, and is JSON."""
    assert record("lastro.http", "thing.done", odd=odd)["event"] == "thing.done"


def test_a_line_break_makes_no_second_line() -> None:
    """PL-11: whatever is in a line, it is one line of JSON."""
    formatter = next(kept.formatter for kept in logging.root.handlers if is_ours(kept))
    assert formatter is not None
    made = logging.makeLogRecord(
        {"name": "lastro.http", "msg": 'a\n{"event": "forged"}', "levelname": "INFO"}
    )
    assert "\n" not in formatter.format(made)


def test_the_server_writes_nothing_but_json(
    committed: None, server: Server, over_http: Callable[..., OverHttp]
) -> None:
    """PL-11: on the real server each request is one JSON line on standard error, from its start on."""
    workspace = factories.make_ready_workspace()
    api = over_http(workspace, "agent_state")
    marks = [f"line-{uuid4().hex}" for _ in range(3)]
    for mark in marks:
        api.get("/v1/sources/me", **{"X-Request-Id": mark})
    written = [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]
    for mark in marks:
        (line,) = (line for line in written if line.get("request_id") == mark)
        assert (line["event"], line["status"], line["workspace"]) == (
            "request.answered",
            200,
            str(workspace.id),
        )


def test_a_signed_in_person_is_in_no_line(aurora: WorkspaceRef, lines: Lines) -> None:
    """PL-11: pages leave lines without names, addresses or the address of the page."""
    person = factories.make_person(aurora, "owner")
    client = Client()
    client.force_login(person)
    assert client.get(f"/console/w/{aurora.slug}/people/").status_code == 200
    text = json.dumps(lines())
    assert "console:people" in text
    assert not [word for word in (person.email, aurora.slug, str(person.id)) if word in text]
