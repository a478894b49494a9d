"""A good request of each route of history, and how each of its refusals is brought about (PL-8, PL-9)."""

from collections.abc import Callable
from typing import Any, Protocol
from uuid import uuid4

from history.models import Session
from tests.history.talk import PINS, PROVIDER, Talk, items, session, turns, user
from workspaces import access
from workspaces.types import WorkspaceRef

BEGIN, APPEND, COMMIT, ABORT = (f"/v1/history/{act}" for act in ("begin", "append", "commit", "abort"))
WINDOW, READ, FORK, REMOVE = (f"/v1/history/{act}" for act in ("window", "read", "fork", "items/remove"))
MAX_BYTES = 8 * 2**20

ITEMS = "/v1/history/items"

Changes = dict[str, Any]


class Cast(Protocol):
    """Who calls: `talk` speaks of a new session with one of the keys."""

    workspace: WorkspaceRef
    keys: dict[str, str]

    def talk(self, key: str = "good") -> Talk: ...


def good(talk: Talk, path: str) -> dict[str, Any]:
    """Give the body of a request that is answered, about a session of its own."""
    named = {"session": talk.session}
    if path in {BEGIN, APPEND}:
        return named | {"create": True} | ({"items": items(user())} if path == APPEND else {})
    if path in {COMMIT, ABORT}:
        return named | {"reservation": talk.token()}
    talk.decide(*turns(1))
    more: dict[str, dict[str, Any]] = {
        FORK: {"to": session(), "at": talk.call("read").body["items"][-1]["id"]},
        "/v1/history/recover": {"worker_stopped": True},
    }
    return named | more.get(path, {})


def _unnamed(cast: Cast, path: str) -> Changes:
    return _body(good(cast.talk(), path) | {"session": {}})


def _unknown(cast: Cast, path: str) -> Changes:
    body = good(cast.talk(), path) | {"session": session()}
    return _body({name: value for name, value in body.items() if name != "create"})


def _other(cast: Cast, path: str) -> Changes:
    """Name another provider or another conversation than the session does."""
    talk = cast.talk()
    body = good(talk, path)
    if path in {BEGIN, APPEND}:
        talk.append(user(), conversation_id="c-1")
        return _body(body | {"conversation_id": "c-2"})
    if path == COMMIT:
        talk.call("commit", reservation=body["reservation"], pins=PINS)
        return _body(body | {"reservation": talk.token(), "pins": PINS | {"model": "another"}})
    return _body(body | {"provider": "anthropic.messages"})


def _busy(cast: Cast, path: str) -> Changes:
    talk = cast.talk()
    body = good(talk, path)
    talk.token()
    return _body(body | ({"with_head": True} if path == ITEMS else {}))


def _conflict(cast: Cast, path: str) -> Changes:
    """Use a key, or a place, that something else has."""
    talk = cast.talk()
    body = good(talk, path)
    if path == FORK:
        return _body(body | {"to": talk.session})
    if path == REMOVE:
        talk.append({"other": 1}, kind="opaque", key="k")
        return _body(body | {"key": "k"})
    token = body.get("reservation")
    talk.call("append", items=items(user("one"), key="k"), create=True, reservation=token)
    return _body(body | {"items": items(user("two"), key="k")})


def _full(cast: Cast, path: str) -> Changes:
    if path == WINDOW:
        return _body(good(cast.talk(), path) | {"max_bytes": 1})
    if path in {APPEND, COMMIT}:
        return _body(good(cast.talk(), path) | {"items": items(user("x" * MAX_BYTES))})
    if path == REMOVE:
        talk = cast.talk()
        talk.append(user("x" * (MAX_BYTES - 40)))
        return _body({"session": talk.session})
    # A workspace that keeps one session: it is there already.
    talk = Talk(cast.talk("full").api, session_id="the only one")
    if talk.call("read").status == 404:
        talk.append(user(), id="m1")
    named = {"session": talk.session, "to": session(), "at": "m1"} if path == FORK else None
    return _body(named or good(cast.talk("full"), path)) | {"key": cast.keys["full"]}


def _broken(cast: Cast, path: str) -> Changes:
    talk = cast.talk()
    talk.append(*turns(1), {"role": "tool", "tool_call_id": "nobody", "content": "lost"})
    return _body({"session": talk.session, "provider": PROVIDER})


def _unkept(cast: Cast, path: str) -> Changes:
    return _body(good(cast.talk(), path) | {"items": items(user(), parent="nobody")})


def _lost(cast: Cast, path: str) -> Changes:
    talk = cast.talk()
    talk.append(user())
    return _body(_under(talk, path, "none"))


def _erased(cast: Cast, path: str) -> Changes:
    """Take the session away from under its reservation, as an erasure does."""
    talk = cast.talk()
    body = _under(talk, path, talk.token())
    with access.bound(cast.workspace.id):
        Session.objects.filter(id=Session.objects.latest("created_at").id).update(erasure_id=uuid4())
    return _body(body)


def _under(talk: Talk, path: str, token: str) -> dict[str, Any]:
    body = {"session": talk.session, "reservation": token}
    return body | ({"items": items(user())} if path == APPEND else {})


def _unsummarized(cast: Cast, path: str) -> Changes:
    summary = {"text": " ", "covers": 1, "digest": "0" * 64, "through": "nobody"}
    return _body(good(cast.talk(), path) | {"summary": summary})


def _unsaid(cast: Cast, path: str) -> Changes:
    return _body(good(cast.talk(), path) | {"worker_stopped": False})


def _body(body: dict[str, Any]) -> Changes:
    return {"body": body}


WAYS: dict[str, Callable[[Cast, str], Changes]] = {
    "decision_history_identity_missing": _unnamed,
    "decision_history_not_found": _unknown,
    "decision_history_mismatch": _other,
    "decision_history_busy": _busy,
    "decision_history_conflict": _conflict,
    "decision_history_limit_exceeded": _full,
    "decision_history_invalid": _broken,
    "decision_history_message_invalid": _unkept,
    "decision_history_reservation_lost": _lost,
    "decision_history_summary_invalid": _unsummarized,
    "decision_history_recovery_refused": _unsaid,
    "subject_erased": _erased,
}
