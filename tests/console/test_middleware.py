"""What happens around every request: its id, its caller's address, and who meets sessions (PL-10, WM-19)."""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.http import HttpRequest
from django.test import Client, RequestFactory
from pytest_django import Settings

from console.middleware import RequestLog, client_address
from console.sessions import SessionStore
from tests import factories
from tests.api import InProcess, OverHttp
from tests.server import Server
from workspaces.types import WorkspaceRef

PROXIES = ("10.0.0.0/8", "fd00::/8")

# (why, the peer, X-Forwarded-For, the caller)
ADDRESSES: list[tuple[str, str, str | None, str]] = [
    ("nobody forwards", "192.0.2.1", None, "192.0.2.1"),
    ("a stranger may claim anything", "192.0.2.1", "198.51.100.1", "192.0.2.1"),
    ("a proxy is believed", "10.0.0.1", "198.51.100.1", "198.51.100.1"),
    ("a proxy on IPv6", "fd00::1", "2001:db8::1", "2001:db8::1"),
    ("a proxy on a server that listens on IPv6", "::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1"),
    ("a caller on such a server", "::ffff:192.0.2.1", None, "192.0.2.1"),
    ("what the caller put in front", "10.0.0.1", "203.0.113.9, 198.51.100.1", "198.51.100.1"),
    ("two proxies", "10.0.0.1", "198.51.100.1, 10.0.0.2", "198.51.100.1"),
    ("the caller claims to be behind two", "10.0.0.1", "203.0.113.9, 10.0.0.3, 198.51.100.1", "198.51.100.1"),
    ("only proxies", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.1"),
    ("a proxy that says nothing", "10.0.0.1", None, "10.0.0.1"),
    ("an empty list", "10.0.0.1", "", "10.0.0.1"),
    ("no address", "10.0.0.1", "unknown", "10.0.0.1"),
    ("a trick before no address", "10.0.0.1", "203.0.113.9, unknown", "10.0.0.1"),
    ("a port", "10.0.0.1", "198.51.100.1:4711", "10.0.0.1"),
    ("a zone", "10.0.0.1", "fe80::1%" + "a" * 200, "fe80::1"),
    ("another spelling", "10.0.0.1", "2001:DB8:0:0::1", "2001:db8::1"),
    ("a socket without an address", "", "198.51.100.1", ""),
    ("a name as peer", "proxy", "198.51.100.1", ""),
]


def request_from(peer: str, forwarded: str | None, **more: Any) -> HttpRequest:
    headers: dict[str, Any] = {} if forwarded is None else {"HTTP_X_FORWARDED_FOR": forwarded}
    factory = RequestFactory(REMOTE_ADDR=peer, **headers, **more)
    return factory.get("/healthz")


@pytest.mark.parametrize(("why", "peer", "forwarded", "caller"), ADDRESSES, ids=[row[0] for row in ADDRESSES])
def test_whose_forwarded_address_counts(
    settings: Settings, why: str, peer: str, forwarded: str | None, caller: str
) -> None:
    """WM-19: a forwarded address counts from a trusted proxy alone, and of several the last untrusted one."""
    settings.TRUSTED_PROXIES = PROXIES
    assert client_address(request_from(peer, forwarded)) == caller


def test_by_default_nobody_is_trusted(settings: Settings) -> None:
    """WM-19: without TRUSTED_PROXIES the peer is the caller, whatever it sends."""
    assert tuple(settings.TRUSTED_PROXIES) == ()
    assert client_address(request_from("127.0.0.1", "198.51.100.1")) == "127.0.0.1"


@pytest.mark.parametrize(
    ("peer", "is_secure"), [("10.0.0.1", True), ("::ffff:10.0.0.1", True), ("192.0.2.1", False)]
)
def test_only_a_proxy_says_that_a_request_came_by_https(
    settings: Settings, peer: str, is_secure: Any
) -> None:
    """PL-19: X-Forwarded-Proto of a stranger is dropped."""
    settings.TRUSTED_PROXIES = PROXIES
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    seen = []

    def answer(request: HttpRequest) -> Any:
        from django.http import HttpResponse

        seen.append(request.is_secure())
        return HttpResponse()

    RequestLog(answer)(request_from(peer, None, HTTP_X_FORWARDED_PROTO="https"))
    assert seen == [is_secure]


def test_two_headers_are_one_list(committed: None, server: Server) -> None:
    """WM-19: on the real server a caller's own X-Forwarded-For line never takes the place of the proxy's."""
    workspace = factories.make_ready_workspace()
    key = factories.make_key(workspace, networks=("198.51.100.0/24",))
    api = OverHttp(server.url, key)
    answer = api.http.get("/v1/sources/me", headers=[("X-Forwarded-For", "198.51.100.1")])
    assert answer.status_code == 403
    answer = api.http.get(
        "/v1/sources/me", headers=[("X-Forwarded-For", "198.51.100.1"), ("X-Forwarded-For", "203.0.113.1")]
    )
    assert answer.status_code == 403


ACCEPTED = ["a", "A-Z_09.~"[:-1], "f" * 64, "0b1e-4c.8_"]
REPLACED = ["", "a" * 65, "two words", "é", "a/b", "a\tb", "<x>", "a,b", "a~b", "%0a"]


@pytest.mark.parametrize("sent", ACCEPTED)
@pytest.mark.parametrize("path", ["/v1/sources/me", "/v1/nowhere", "/healthz", "/console/sign-in/"])
def test_a_request_id_is_echoed(db: None, sent: str, path: str) -> None:
    """PL-10: X-Request-Id comes back when it is of the form, on every kind of answer, and in the problem."""
    answer = InProcess(None).get(path, **{"X-Request-Id": sent})
    assert answer.headers["x-request-id"] == sent
    if answer.code:
        assert answer.body["request_id"] == sent


@pytest.mark.parametrize("sent", REPLACED)
def test_a_request_id_of_another_form_is_replaced(db: None, sent: str) -> None:
    """PL-10: what is not `[A-Za-z0-9._-]{1,64}` is not repeated: the request gets an id of ours."""
    answers = [InProcess(None).get("/v1/sources/me", **{"X-Request-Id": sent}) for _ in range(2)]
    ids = {answer.headers["x-request-id"] for answer in answers}
    assert len(ids) == 2
    assert all(found.startswith("req_") and len(found) == 36 for found in ids)
    assert {answer.body["request_id"] for answer in answers} == ids


def signed_in(workspace: WorkspaceRef, *roles: str) -> Client:
    """Give a browser in which a member is signed in."""
    person = factories.make_person(workspace, *roles)
    client = Client()
    session = SessionStore()
    session.update(
        {
            SESSION_KEY: str(person.id),
            BACKEND_SESSION_KEY: "django.contrib.auth.backends.ModelBackend",
            HASH_SESSION_KEY: person.get_session_auth_hash(),
        }
    )
    session.save()
    client.cookies["lastro_session"] = str(session.session_key)
    return client


def test_the_api_ignores_cookies(aurora: WorkspaceRef) -> None:
    """PL-10: who is signed in to the console is nobody at /v1, and /v1 sets no cookie."""
    client = signed_in(aurora, "owner", "security")
    assert client.get("/console/").status_code == 200
    for path in ("/v1/sources/me", "/v1/config/features", f"/v1/profiles/{uuid4()}/agent-state"):
        answer = client.get(path)
        assert answer.status_code == 401
        assert not answer.cookies
        assert "cookie" not in answer.headers.get("Vary", "").lower()


def test_a_key_needs_no_csrf_token(aurora: WorkspaceRef) -> None:
    """PL-10: a call with a key is never asked for a form's token, even from a signed-in browser."""
    client = signed_in(aurora, "owner")
    client.handler.enforce_csrf_checks = True
    answer = client.post(
        "/v1/batch",
        {"items": [{}]},
        content_type="application/json",
        headers={"Authorization": f"Bearer {factories.make_key(aurora)}"},
    )
    assert answer.status_code == 200


def test_the_console_ignores_tokens(aurora: WorkspaceRef) -> None:
    """PL-10: a token or key opens no page: it leads to the sign-in like no credential at all."""
    person = factories.make_person(aurora, "owner", "security")
    for text in (factories.make_token(aurora, person, "manage_people"), factories.make_key(aurora, "admin")):
        answer = InProcess(text).get("/console/")
        assert answer.status == 302
        assert "/console/sign-in/" in answer.headers["location"]


def test_times_on_the_wire_are_utc(aurora: WorkspaceRef, agent: InProcess) -> None:
    """PL-10: times are RFC 3339 in UTC."""
    scope = factories.scope()
    agent.write(factories.write(scope=scope))
    read = agent.read(scope).body
    for text in (read["updated_at"], read["valid_until"]):
        assert text.endswith("Z")
        assert "T" in text
