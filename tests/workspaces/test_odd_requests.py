"""Requests that no client means to send, on the wire of a real server: refused as problems, never a 5xx (WM-25)."""

import base64
import json
import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import UUID, uuid4

import msgspec
import pytest

from tests import factories
from tests.api import OverHttp
from tests.server import Server

BODY = json.dumps({"scope": {"kind": "task", "id": "t"}, "agent": "order-taker"}).encode()
JSON = b"Content-Type: application/json"
LENGTH = b"Content-Length: %d" % len(BODY)
PATH = b"/v1/agent-state/read"


@pytest.fixture(scope="module")
def key(server: Server, django_db_blocker: Any) -> Iterator[str]:
    """A key of a workspace that the server sees, made once for all these tests."""
    with django_db_blocker.unblock():
        yield factories.make_key(factories.make_ready_workspace("Aurora"), "agent_state", "admin")


@pytest.fixture(scope="module")
def token(server: Server, django_db_blocker: Any) -> OverHttp:
    """A person who may change the features."""
    with django_db_blocker.unblock():
        workspace = factories.make_ready_workspace("Aurora")
        person = factories.make_person(workspace, "security")
        return OverHttp(server.url, factories.make_token(workspace, person, "change_features"))


@pytest.fixture(scope="module")
def admin(server: Server, key: str) -> OverHttp:
    return OverHttp(server.url, key)


@pytest.fixture(scope="module")
def profile(admin: OverHttp) -> str:
    """The id of a profile with one state."""
    admin.write(factories.write(subject={"type": "email", "value": "p_ana@example.com"}))
    found = admin.post("/v1/profiles/search", {"query": "p_ana@example.com"})
    return str(found.body["items"][0]["profile_id"])


@pytest.fixture
def no_failure(server: Server) -> Iterator[None]:
    """Fail a test in which the server met an exception that it did not know."""
    before = server.log.read_text().count("request.failed")
    yield
    assert server.log.read_text().count("request.failed") == before


pytestmark = pytest.mark.usefixtures("no_failure")

Send = Callable[..., tuple[int, bytes]]


@pytest.fixture
def send(server: Server, key: str) -> Send:
    """Send bytes as they are; give the status and the head with the body."""

    def sent(
        *lines: bytes, body: bytes = BODY, path: bytes = PATH, auth: bytes | None = None
    ) -> tuple[int, bytes]:
        head = [b"POST %s HTTP/1.1" % path, b"Host: 127.0.0.1"]
        head += [b"Authorization: " + (auth if auth is not None else b"Bearer " + key.encode()), *lines]
        return _exchanged(server, b"\r\n".join([*head, b"Connection: close", b"", b""]) + body)

    return sent


def _exchanged(server: Server, request: bytes) -> tuple[int, bytes]:
    address, answer = urlsplit(server.url), b""
    with socket.create_connection((str(address.hostname), address.port or 0), timeout=10) as wire:
        wire.sendall(request)
        while chunk := wire.recv(65536):
            answer += chunk
    return int(answer.split(b" ")[1]), answer


# (what is odd, headers, the status)
HEADERS: list[tuple[str, list[bytes], int]] = [
    ("bytes that are no text", [JSON, LENGTH, b"X-Odd: \xff\xfe"], 200),
    ("a request id that is no word", [JSON, LENGTH, b"X-Request-Id: \xc3\xa9"], 200),
    ("a media type that is no text", [b"Content-Type: \xff", LENGTH], 415),
    ("no media type", [LENGTH], 415),
    ("a form", [b"Content-Type: multipart/form-data; boundary=x", LENGTH], 415),
    ("a form without its boundary", [b"Content-Type: multipart/form-data", LENGTH], 415),
    ("a charset that nobody knows", [b"Content-Type: application/json; charset=klingon", LENGTH], 200),
    ("nothing acceptable", [JSON, LENGTH, b"Accept: \xff;;;q=x"], 200),
    ("a cookie that cannot be read", [JSON, LENGTH, b"Cookie: lastro_session=\xff; ;;="], 200),
    ("a forwarded address that is none", [JSON, LENGTH, b"X-Forwarded-For: \xff, x, 1.1.1.1"], 200),
    ("another method in a header", [JSON, LENGTH, b"X-HTTP-Method-Override: DELETE"], 200),
    ("another protocol", [JSON, LENGTH, b"Connection: Upgrade", b"Upgrade: websocket"], 200),
    ("20,000 bytes in a header", [JSON, LENGTH, b"X-Big: " + b"a" * 20_000], 200),
    ("300 headers", [JSON, LENGTH, *[b"X-%d: 1" % number for number in range(300)]], 431),
    ("a length below zero", [JSON, b"Content-Length: -1"], 400),
    ("a length that is a word", [JSON, b"Content-Length: many"], 400),
    ("two lengths", [JSON, LENGTH, b"Content-Length: 1"], 400),
    ("a length beyond any memory", [JSON, b"Content-Length: 99999999999999999999"], 400),
    ("a length over the limit", [JSON, b"Content-Length: 99999999"], 413),
    ("a length that cuts the body", [JSON, b"Content-Length: 3"], 400),
]


@pytest.mark.parametrize(("why", "lines", "status"), HEADERS)
def test_odd_headers(send: Send, why: str, lines: list[bytes], status: int) -> None:
    """WM-25, PL-10: what is not used does not matter, and what is used is refused by its own status."""
    assert send(*lines)[0] == status, why


@pytest.mark.parametrize("odd", [b"", b"\xff", b"a" * 257, b"\xc3\xa9"])
def test_odd_idempotency_keys(send: Send, odd: bytes) -> None:
    """PL-10: a key that cannot be one is refused by a call that takes one."""
    delete = b"/v1/agent-state/delete"
    assert send(JSON, LENGTH, b"Idempotency-Key: " + odd, path=delete)[0] == 422
    assert send(JSON, LENGTH, b"Idempotency-Key: " + uuid4().bytes.hex().encode(), path=delete)[0] == 200


CHUNKS: list[tuple[str, bytes, int]] = [
    ("one chunk", b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY), 200),
    ("many chunks", b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n\r\n", 200),
    ("no hexadecimal length", b"zz\r\n", 400),
    ("a length beyond any memory", b"ffffffffffffffffff\r\n", 400),
    ("over the limit", (b"4000\r\n" + b" " * 0x4000 + b"\r\n") * 2 + b"0\r\n\r\n", 413),
]


@pytest.mark.parametrize(("why", "body", "status"), CHUNKS)
def test_bodies_in_chunks(send: Send, why: str, body: bytes, status: int) -> None:
    """WM-25: a body without a length is held to the same limit."""
    assert send(JSON, b"Transfer-Encoding: chunked", body=body)[0] == status, why


# Too much for the server's reader, which calls it a long address or long headers by how much of it came at once.
TOO_LONG = -1

PATHS: list[tuple[str, bytes, int]] = [
    ("bytes that are no text", b"/v1/\xff", 404),
    ("no text when decoded", b"/v1/%ff", 404),
    ("a NUL", b"/v1/%00", 404),
    ("a slash too many", PATH + b"/", 404),
    ("a parameter in the path", PATH + b";a=b", 404),
    ("up and down", b"/v1/../v1/agent-state/read", 404),
    ("an undecodable query", PATH + b"?a=%ff&b=%00", 200),
    ("a query of 60,000 bytes", PATH + b"?" + b"a" * 60_000, 200),
    ("2,000 parameters", PATH + b"?" + b"&".join(b"a%d=1" % number for number in range(2000)), 200),
    ("a query of 600,000 bytes", PATH + b"?" + b"a" * 600_000, TOO_LONG),
]


@pytest.mark.parametrize(("why", "path", "status"), PATHS)
def test_odd_paths(send: Send, why: str, path: bytes, status: int) -> None:
    """WM-25: an address that does not exist is a 404, and a query that no route reads changes nothing."""
    found, answer = send(JSON, LENGTH, path=path)
    assert found in ((414, 431) if status == TOO_LONG else (status,)), why
    if status == 404:
        assert b"application/problem+json" in answer


@pytest.mark.parametrize(
    "auth",
    [
        b"",
        b"Bearer",
        b"bearer ",
        b"Bearer \xff",
        b"Basic Zm9v",
        b"Bearer a b",
        b"Bearer " + b"a" * 8000,
        b"\xff",
    ],
)
def test_odd_keys(send: Send, auth: bytes) -> None:
    """PL-3: whatever is not a key opens nothing and breaks nothing."""
    status, answer = send(JSON, LENGTH, auth=auth)
    assert status == 401
    assert b"www-authenticate: bearer" in answer.lower()


def _cursor(*parts: Any) -> str:
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(parts)).decode()


CURSORS = [
    "a",
    "====",
    "\x00",
    "é",
    "%",
    "a" * 5000,
    _cursor(1, 2),
    _cursor("2026-11-30T12:00:00Z", "x"),
    _cursor("2026-11-30T12:00:00", UUID(int=7)),
    _cursor("0001-01-01T00:00:00+23:59", UUID(int=7)),
    _cursor("9999-12-31T23:59:59-23:59", UUID(int=7)),
    base64.urlsafe_b64encode(b"\x91" * 20_000).decode(),
    base64.urlsafe_b64encode(b"\xdc\xff\xff\xff\xff").decode(),
]


@pytest.mark.parametrize("cursor", CURSORS)
def test_a_cursor_that_no_list_gave(admin: OverHttp, profile: str, cursor: str) -> None:
    """PL-10: it is refused with its pointer; one that could have been given is a page."""
    path = f"/v1/profiles/{profile}/agent-state?cursor="
    refused = admin.get(path + quote(cursor))
    assert (refused.status, refused.body["errors"][0]["pointer"]) == (422, "/cursor")
    assert admin.get(path + _cursor(datetime(1, 1, 1, tzinfo=UTC), uuid4())).body["items"] == []
    assert len(admin.get(path + _cursor("9999-12-31T23:59:59Z", uuid4())).body["items"]) == 1


QUERIES = [
    "\x00",
    "p_\x00",
    "p_" + "é" * 20,
    "p_%",
    "@",
    "a@b\x00.c",
    "+" + "9" * 300,
    "\u202e",
    "x@" + "é." * 100,
]


@pytest.mark.parametrize("query", QUERIES)
def test_a_search_for_what_cannot_be_a_name(admin: OverHttp, query: str) -> None:
    """CO-3, WM-25: nobody is found."""
    found = admin.post("/v1/profiles/search", {"query": query})
    assert (found.status, found.body) == (200, {"items": []})


def test_an_address_may_look_like_a_pseudonym(admin: OverHttp, profile: str) -> None:
    """CO-3: `p_ana@example.com` is an e-mail address, and found."""
    pseudonym = admin.post("/v1/profiles/search", {"query": "p_ana@example.com"}).body["items"][0][
        "pseudonym"
    ]
    by_pseudonym = admin.post("/v1/profiles/search", {"query": f" {pseudonym.upper()} "})
    assert by_pseudonym.body["items"][0]["profile_id"] == profile


TEXTS = [
    "\x00",
    "a\x00b",
    "\x1f",
    "\n",
    "\u2028",
    "\x85",
    "\ufeff",
    "😀",
    "é" * 200,
    "\u202e",
    "'; --",
    "%s",
    "{}",
]


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_in_any_place(admin: OverHttp, text: str) -> None:
    """WM-25, PR-5: a text is stored as it is, refused, or not declared; and it reads back."""
    for members in (
        {"body": {"anything": text}},
        {"body": {"delivery": {text: [text]}}},
        {"body": {text: 1}},
    ):
        for mode in ("cas", "merge_by_key"):
            write = factories.write(mode=mode, **members)
            answer = admin.write(write)
            assert answer.status == 200
            assert admin.read(write["scope"]).body["body"] == (
                members["body"] if answer.body["stored"] else {}
            )
    names: list[dict[str, Any]] = [
        {"scope": {"kind": "task", "id": text}},
        {"agent": text},
        {"subject": {"type": "email", "value": text}},
    ]
    for members in names:
        assert admin.write(factories.write(**members)).status in {200, 422}


@pytest.mark.parametrize(
    "at", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "1969-12-31T23:59:59Z"]
)
def test_any_time_of_a_late_write(admin: OverHttp, at: str) -> None:
    """WM-21, WM-25: a write may say that it was made at any time."""
    write = factories.write({"step": "cart", "phone": "+5511912345678"}, written_at=at)
    assert admin.write(write).status == 200
    assert admin.read(write["scope"]).status == 200


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_in_a_proposal(token: OverHttp, text: str) -> None:
    """PR-2, WM-25: a control character is refused with its pointer, and anything else is kept."""
    good = {"kind": "features", "document": {"enabled": []}, "reason": "Why"}
    odd = {"reason": text, "drop": [text], "space_id": text, "document": {"enabled": [text]}}
    for member, value in odd.items():
        answer = token.post("/v1/config/diffs", good | {member: value})
        assert answer.status in {201, 422}
        if answer.status == 422:
            place = "/enabled" if member == "document" else f"/{member}"
            assert answer.body["errors"][0]["pointer"].startswith(place)
    assert token.post("/v1/config/diffs", good).status == 201
