"""Every code that a route documents is answered by it, as documented (PL-8, PL-9).

The list comes from the OpenAPI document: a new route or refusal without a way to bring it about fails here. Each answer
is held against the document by Schemathesis: status, content type, headers and schema, which lists the codes.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import msgspec
import pytest
import requests
import schemathesis
import valkey
from django.conf import settings
from django.utils import timezone
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests import factories
from tests.api import OverHttp
from tests.assembly import refusals as of_assembly
from tests.assembly.graphs import Story
from tests.history import refusals as of_history
from tests.history.bounds import keep
from tests.history.talk import Talk, ready_workspace
from tests.privacy.approvals import four_eyes_on
from tests.privacy.packages import build, link
from tests.server import Server
from workspaces.hotstore import bucket_of
from workspaces.http import limits
from workspaces.http.openapi import document
from workspaces.rules.rights import KEY_SCOPES, PERMISSIONS
from workspaces.selectors.credentials import caller_of
from workspaces.types import Origin, WorkspaceRef

SCHEMA = schemathesis.openapi.from_dict(document())
CHECKS = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
EVERY_REFUSAL = [
    (path, method, code)
    for path, methods in document()["paths"].items()
    for method, operation in methods.items()
    for status, answer in operation["responses"].items()
    if status >= "400"
    for code in answer["content"]["application/problem+json"]["schema"]["properties"]["code"]["enum"]
]

ONLY_CONVERSATIONS = factories.order_type(agent_state={"scopes": ["conversation"], "cap_bytes": 4096})
FORGET, READ = "/v1/forget", "/v1/agent-state/read"
WRITE, DELETE, PROPOSE = "/v1/agent-state", "/v1/agent-state/delete", "/v1/config/diffs"
CHANGE, PROFILE = "/v1/config/diffs/{change_id}", "/v1/profiles/{profile_id}/agent-state"
APPROVE, DENY = f"{CHANGE}/approve", f"{CHANGE}/deny"
EXPORT, DOWNLOAD = "/v1/export", "/v1/packages/{run_id}/download"
HOLDS, LIFT = "/v1/legal-holds", "/v1/legal-holds/{hold_id}/lift"
LINK, UNLINK = "/v1/profiles/link", "/v1/profiles/unlink"
HISTORY = "/v1/history/"
HOLD = {"reason": "For a test", "ends_at": "2050-01-01T00:00:00Z"}
FEATURES = {"kind": "features", "document": {"enabled": ["agent_state"]}, "reason": "For a test"}


BUSY_ADDRESS = "203.0.113.77"
LARGEST_BODY = max(size for route, size in limits.BODY_BYTES.items() if route != "graph-payload")


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One request: a caller's key, and what differs from the good request of its route."""

    method: str
    path: str
    key: str | None
    body: Any = None
    raw: bytes | of_assembly.Claimed | None = None
    media_type: str = "application/json"
    query: str = ""
    idempotency_key: str | None = None
    url: str = ""
    forwarded_for: str = ""


class Cast:
    """The callers, good and otherwise, and what is there to be named."""

    def __init__(self, server: Server, broken: dict[str, Server]) -> None:
        self.url = server.url
        self.workspace = factories.make_ready_workspace("Aurora", ONLY_CONVERSATIONS)
        off = factories.make_ready_workspace("Boreal")
        factories.switch(off, "agent_state", on=False)
        factories.switch(self.workspace, "history", on=True)
        factories.switch(self.workspace, "context", on=True)
        full = ready_workspace("Cheio")
        keep(full, max_sessions=1)
        strict = factories.make_ready_workspace("Strict")
        self.keys = {
            "good": factories.make_key(self.workspace, *KEY_SCOPES),
            "other scope": factories.make_key(self.workspace, "context"),
            "one scope": factories.make_key(self.workspace, "agent_state"),
            "other agent": factories.make_key(self.workspace, *KEY_SCOPES, agents=("somebody-else",)),
            "elsewhere": factories.make_key(self.workspace, *KEY_SCOPES, networks=("203.0.113.9/32",)),
            "off": factories.make_key(off, *KEY_SCOPES),
            "full": factories.make_key(full, *KEY_SCOPES),
            "busy": factories.make_key(self.workspace, *KEY_SCOPES),
        }
        _spend(self.keys["busy"])
        roles = ("owner", "security", "privacy", "engineer")
        self.tokens = {
            "good": _token(self.workspace, roles, tuple(PERMISSIONS)),
            "other permission": _token(self.workspace, ("auditor",), ("view_usage",)),
            "colleague": _token(self.workspace, ("security",), ("change_features",)),
            "strict": _token(strict, ("security",), ("change_features", "approve_documents")),
        }
        four_eyes_on(strict, "features")
        self.changes: dict[str, dict[str, Any]] = {
            "unauthenticated": {"key": None},
            "forbidden": {"key": self.keys["elsewhere"]},
            "scope_missing": {"key": self.keys["other scope"]},
            "permission_missing": {"key": self.tokens["other permission"]},
            "agent_not_allowed": {"key": self.keys["other agent"]},
            "feature_off": {"key": self.keys["off"]},
            "payload_too_large": {"raw": b" " * (LARGEST_BODY + 1)},
            "invalid_json": {"raw": b'{"a": 1, "a": 2}'},
            "unsupported_media_type": {"media_type": "text/plain"},
            "rate_limited": {"key": self.keys["busy"]},
            **{code: {"url": found.url} for code, found in broken.items()},
        }
        ana = {"type": "email", "value": "ana@example.com"}
        self.written(subject=ana)
        search = Ask(
            method="POST", path="/v1/profiles/search", key=self.keys["good"], body={"query": ana["value"]}
        )
        self.profile_id = self.send(search).json()["items"][0]["profile_id"]
        run = build(self.workspace, ana)
        self.run_id, self.query = str(run.id), "?" + link(self.workspace, run).partition("?")[2]
        # Past the front, which says itself who calls.
        self.busy_address = {"url": server.url_of("writer"), "forwarded_for": BUSY_ADDRESS}
        _spend_bucket("address", BUSY_ADDRESS.encode())

    def good(self, path: str, method: str) -> Ask:
        """Give a request of a route that is answered, each time with names of its own."""
        operation = document()["paths"][path][method]
        takes_key = any("key" in option for option in operation["security"])
        body = self._body(path, operation)
        real = path.replace("{kind}", "features").replace("{profile_id}", self.profile_id)
        if "{hold_id}" in real:
            real = real.replace("{hold_id}", self.holding())
        if "{request_id}" in real:
            real = real.replace("{request_id}", self.erasing())
        real = real.replace("{run_id}", self.run_id)
        if path == of_assembly.PAYLOAD:
            real = of_assembly.payload(self.story(), is_sent=method == "get")
        if "{assembly_id}" in real:
            real = real.replace("{assembly_id}", self.assembly())
        if "{change_id}" in real:
            author = "colleague" if path == DENY else "good"
            real = real.replace("{change_id}", self.proposed(FEATURES, author=author))
        return Ask(
            method=method.upper(),
            path=real,
            key=(self.keys if takes_key else self.tokens)["good"] if operation["security"] else None,
            body=body,
            raw=of_assembly.CONTENT if path == of_assembly.PAYLOAD and method == "put" else None,
            query=self.query if path == DOWNLOAD else "",
        )

    def _body(self, path: str, operation: dict[str, Any]) -> Any:
        made: dict[str, Callable[[], Any]] = {
            WRITE: factories.write,
            READ: self._place,
            DELETE: self._place,
            PROPOSE: lambda: FEATURES,
            CHANGE: lambda: FEATURES,
            FORGET: lambda: {"target": "conversation", "conversation_id": uuid4().hex},
            EXPORT: lambda: {"profile_id": self.profile_id},
            HOLDS: lambda: HOLD | {"target": "conversation", "conversation_id": uuid4().hex},
            LINK: lambda: {"first": {"handle": self.known()}, "second": {"handle": self.known()}},
            UNLINK: lambda: {"handle": self.linked()[1]},
        }
        if "requestBody" not in operation or path == of_assembly.PAYLOAD:
            return None
        if path in made:
            return made[path]()
        if path.startswith(HISTORY):
            return of_history.good(self.talk(), path)
        if path in of_assembly.PATHS:
            return of_assembly.good(self.story(), path)
        examples = operation["requestBody"]["content"]["application/json"].get("examples", {})
        return next((found["value"] for found in examples.values()), None)

    def talk(self, key: str = "good") -> Talk:
        """Speak of a new session."""
        client = OverHttp(self.url, self.keys[key])
        return Talk(client, run_id=uuid4().hex, invocation_id="1", agent_ref="order-taker")

    def story(self) -> Story:
        """Record a new conversation."""
        return Story(OverHttp(self.url, self.keys["good"]))

    def assembly(self) -> str:
        """Assemble a context of a new conversation; give its id."""
        story = self.story()
        story.stored(*story.whole())
        return str(story.assembled()["assembly_id"])

    def _place(self) -> dict[str, Any]:
        write = factories.write()
        return {name: write[name] for name in ("scope", "agent")}

    def send(self, ask: Ask) -> requests.Response:
        headers = {"Content-Type": ask.media_type} if ask.body is not None or ask.raw is not None else {}
        # Nobody is kept waiting for a package: no worker runs.
        headers |= {"Prefer": "respond-async"}
        headers |= {"X-Forwarded-For": ask.forwarded_for} if ask.forwarded_for else {}
        headers |= {"Authorization": f"Bearer {ask.key}"} if ask.key else {}
        headers |= {"Idempotency-Key": ask.idempotency_key} if ask.idempotency_key else {}
        raw = (
            ask.raw
            if ask.raw is not None
            else msgspec.json.encode(ask.body)
            if ask.body is not None
            else None
        )
        with requests.Session() as session:
            session.trust_env = False
            address = (ask.url or self.url) + ask.path + ask.query
            return session.request(ask.method, address, data=raw, headers=headers, timeout=30)

    def proposed(self, body: dict[str, Any], *, author: str = "good") -> str:
        ask = Ask(method="POST", path=PROPOSE, key=self.tokens[author], body=body)
        return str(self.send(ask).json()["diff_id"])

    def erasing(self) -> str:
        """Ask for an erasure; give its id."""
        body = {"target": "conversation", "conversation_id": uuid4().hex}
        ask = Ask(method="POST", path=FORGET, key=self.keys["good"], body=body)
        return str(self.send(ask).json()["request_id"])

    def holding(self, **target: str) -> str:
        """Place a hold; give its id."""
        body = HOLD | (target or {"target": "conversation", "conversation_id": uuid4().hex})
        return str(
            self.send(Ask(method="POST", path=HOLDS, key=self.tokens["good"], body=body)).json()["hold_id"]
        )

    def known(self) -> dict[str, str]:
        """Name a person whom nobody has named yet; give the handle."""
        handle = {"type": "app_user_id", "value": uuid4().hex}
        self.written(subject=handle)
        return handle

    def linked(self) -> tuple[str, dict[str, str]]:
        """Link two; give the id of the person, and the second handle."""
        first, second = self.known(), self.known()
        body = {"first": {"handle": first}, "second": {"handle": second}}
        answer = self.send(Ask(method="POST", path=LINK, key=self.keys["good"], body=body)).json()
        return answer["profile_id"], second

    def forgotten(self, **target: Any) -> None:
        """Ask for an erasure that no worker comes to."""
        assert self.send(Ask(method="POST", path=FORGET, key=self.keys["good"], body=target)).ok

    def written(self, **members: Any) -> dict[str, Any]:
        """Store a state; give the write."""
        write = factories.write(**members)
        answer = self.send(Ask(method="PUT", path=WRITE, key=self.keys["good"], body=write))
        assert answer.json()["stored"]
        return write


def _token(workspace: WorkspaceRef, roles: tuple[str, ...], permissions: tuple[str, ...]) -> str:
    person = factories.make_person(workspace, *roles)
    return factories.make_token(workspace, person, *permissions)


def _spend(key: str) -> None:
    """Empty the bucket of a key for an hour."""
    caller = caller_of(key, origin=Origin(), now=timezone.now())
    _spend_bucket("key", caller.credential_id.bytes)


def _spend_bucket(kind: str, id: bytes) -> None:
    """Empty a bucket for an hour: what it holds is the moment at which it is full again."""
    hour = 3600
    with valkey.Valkey.from_url(settings.HOT_STORE_URL) as store:
        moment = int((time.time() + hour) * 1_000_000)
        store.set(bucket_of(kind, id), moment, ex=hour)


def _changed(ask: Ask, **changes: Any) -> Ask:
    return msgspec.structs.replace(ask, **changes)


def _not_possible_now(cast: Cast, ask: Ask, path: str) -> Ask:
    """Ask while something else is under way, or is over."""
    if path == HOLDS:
        place = cast.written()["scope"]["id"]
        cast.forgotten(target="conversation", conversation_id=place)
        return _changed(ask, body=ask.body | {"conversation_id": place})
    if path == LIFT:
        cast.send(ask)
        return ask
    profile, handle = cast.linked()
    cast.holding(target="profile", profile_id=profile)
    cast.forgotten(target="profile", profile_id=profile)
    if path == LINK:
        return _changed(ask, body=ask.body | {"first": {"handle": handle}})
    return _changed(ask, body={"handle": handle})


def _legal_hold(cast: Cast, ask: Ask, path: str) -> Ask:
    profile, handle = cast.linked()
    cast.holding(target="profile", profile_id=profile)
    return _changed(ask, body={"handle": handle})


def _invalid_input(cast: Cast, ask: Ask, path: str) -> Ask:
    return (
        _changed(ask, query="?cursor=x")
        if path == PROFILE or ask.method == "GET"
        else _changed(ask, raw=b"[]")
    )


def _not_found(cast: Cast, ask: Ask, path: str) -> Ask:
    if path == EXPORT:
        return _changed(ask, body={"profile_id": str(uuid4())})
    if path == HOLDS:
        return _changed(ask, body=HOLD | {"target": "profile", "profile_id": str(uuid4())})
    if path in {LINK, UNLINK}:
        nobody = {"handle": {"type": "app_user_id", "value": uuid4().hex}}
        return _changed(ask, body=nobody if path == UNLINK else ask.body | {"second": nobody})
    names = ("change_id", "profile_id", "request_id", "run_id", "hold_id", "payload_id", "assembly_id")
    ids = {f"{{{name}}}": str(uuid4()) for name in names}
    last = {"{kind}": "nothing", **ids}
    for name, value in last.items():
        path = path.replace(name, value)
    return _changed(ask, path=path)


def _conflict(cast: Cast, ask: Ask, path: str) -> Ask:
    """Use a key that another request was answered under."""
    if path == WRITE:
        cast.send(_changed(ask, idempotency_key="once"))
        return _changed(ask, body=ask.body | {"body": {"step": "done"}}, idempotency_key="once")
    key = uuid4().hex
    cast.send(_changed(ask, idempotency_key=key))
    return _changed(ask, raw=msgspec.json.encode(ask.body) + b" ", idempotency_key=key)


def _subject_mismatch(cast: Cast, ask: Ask, path: str) -> Ask:
    first = cast.written(subject={"type": "email", "value": "ana@example.com"})
    return _changed(ask, body=first | {"subject": {"type": "email", "value": "bia@example.com"}})


def _invalid_document(cast: Cast, ask: Ask, path: str) -> Ask:
    if path in {PROPOSE, CHANGE}:
        return _changed(ask, body=FEATURES | {"document": {"enabled": ["nothing"]}})
    # A field of its own for each route: what one has stored would refuse the proposal of the next.
    gone, value = ("qty", 1) if path == APPROVE else ("remark", "x")
    fields = {name: field for name, field in ONLY_CONVERSATIONS["fields"].items() if name != gone}
    document = {"types": [ONLY_CONVERSATIONS | {"fields": fields}]}
    change = cast.proposed({"kind": "object-types", "document": document, "reason": "Nobody holds it yet"})
    cast.written(body={gone: value})
    return _changed(ask, path=path.replace("{change_id}", change))


def _wrong_version(cast: Cast, ask: Ask, path: str) -> Ask:
    if path in {PROPOSE, CHANGE}:
        return _changed(ask, body=FEATURES | {"replaces": 4711})
    earlier = cast.proposed(FEATURES)
    cast.send(ask)
    return _changed(ask, path=path.replace("{change_id}", earlier))


def _own_change(cast: Cast, ask: Ask, path: str) -> Ask:
    """Approve or deny what is one's own, or edit or withdraw what is somebody else's."""
    if path == APPROVE:
        return _approval_required(cast, ask, path)
    change = cast.proposed(FEATURES, author="good" if path == DENY else "colleague")
    return _changed(ask, path=path.replace("{change_id}", change))


def _approval_required(cast: Cast, ask: Ask, path: str) -> Ask:
    """Ask where four eyes hold."""
    change = cast.proposed(FEATURES, author="strict")
    return _changed(ask, path=path.replace("{change_id}", change), key=cast.tokens["strict"])


# What a body says instead, by the code that it brings about.
OTHER_WORDS: dict[str, dict[str, Any]] = {
    "agent_state_conflict": {"if_version": 5},
    "invalid_field_value": {"body": {"step": 7}},
    "scope_kind_not_declared": {"scope": factories.scope(kind="task")},
}


def _subject_erased(cast: Cast, ask: Ask, path: str) -> Ask:
    place = cast.written()["scope"]
    body = {"target": "conversation", "conversation_id": place["id"]}
    cast.send(Ask(method="POST", path=FORGET, key=cast.keys["good"], body=body))
    return _changed(ask, body=ask.body | {"scope": place})


WAYS: dict[str, Callable[[Cast, Ask, str], Ask]] = {
    "invalid_input": _invalid_input,
    "not_found": _not_found,
    "conflict": _conflict,
    "subject_mismatch": _subject_mismatch,
    "invalid_document": _invalid_document,
    "wrong_version": _wrong_version,
    "subject_erased": _subject_erased,
    "not_possible_now": _not_possible_now,
    "legal_hold": _legal_hold,
    "own_change": _own_change,
    "approval_required": _approval_required,
}


def _refused(cast: Cast, code: str, ask: Ask, path: str) -> Ask:
    """Give a request that is refused with a code."""
    if path in {DELETE, FORGET} and code in {"hot_store_unavailable", "outcome_unknown"}:
        kept = cast.written()
        named = {"target": "conversation", "conversation_id": kept["scope"]["id"]}
        ask = _changed(
            ask, body=named if path == FORGET else {name: kept[name] for name in ("scope", "agent")}
        )
    if path == DOWNLOAD and code == "rate_limited":
        return _changed(ask, **cast.busy_address)
    if path.startswith(HISTORY) and code in of_history.WAYS:
        return _changed(ask, **of_history.WAYS[code](cast, path))
    of_context = of_assembly.way(path, ask.method, code)
    if of_context is not None:
        return _changed(ask, **of_context(cast, cast.story()))
    if code in WAYS:
        return WAYS[code](cast, ask, path)
    if code in OTHER_WORDS:
        return _changed(ask, body=ask.body | OTHER_WORDS[code])
    is_context = path in (*of_assembly.PATHS, of_assembly.PAYLOAD) and code == "scope_missing"
    return _changed(ask, **({"key": cast.keys["one scope"]} if is_context else cast.changes[code]))


@contextmanager
def _unable_to_publish() -> Iterator[str]:
    """Give the URL of the hot store as a user who may mark there, and not what publishing takes."""
    url, name = settings.HOT_STORE_URL, f"tests-{uuid4().hex}"
    with valkey.Valkey.from_url(url) as store:
        store.execute_command("ACL", "SETUSER", name, "on", f">{name}", "~*", "+@all", "-getrange")
        yield f"{url}{'&' if '?' in url else '?'}username={name}&password={name}"
        store.execute_command("ACL", "DELUSER", name)


@pytest.fixture(scope="module")
def cast(server: Server, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cast]:
    """The cast, and servers to which a store is missing or half there, by the code that this brings about."""
    nowhere = "postgres://lastro:none@127.0.0.1:1/lastro"
    with _unable_to_publish() as half_there:
        stores: dict[str, dict[str, Any]] = {
            # A generation of its own: what the hot store has is answered without a database.
            "unavailable": {"DATABASE_URL": nowhere, "HOT_STORE_GENERATION": "999999"},
            "hot_store_unavailable": {"HOT_STORE_URL": "redis://127.0.0.1:1/0"},
            "outcome_unknown": {"HOT_STORE_URL": half_there},
        }
        broken = {
            code: Server(tmp_path_factory.mktemp(code), **urls).start() for code, urls in stores.items()
        }
        with django_db_blocker.unblock():
            yield Cast(server, broken)
        for one in broken.values():
            one.stop()


@pytest.mark.parametrize(("path", "method", "code"), EVERY_REFUSAL)
def test_a_route_refuses_as_documented(cast: Cast, path: str, method: str, code: str) -> None:
    """PL-8, PL-9: the code is answered, the answer fits the document, and without its cause the request is answered."""
    ask = cast.good(path, method)
    response = cast.send(_refused(cast, code, ask, path))
    assert response.json()["code"] == code
    names = dict.fromkeys(re.findall(r"\{(\w+)\}", path), "x")
    case: schemathesis.Case[Any] = SCHEMA[path][method.upper()].Case(path_parameters=names)
    case.validate_response(response, checks=CHECKS)
    assert cast.send(cast.good(path, method)).ok
