"""History with a word in every kind of content, on every way that succeeds, is refused or fails (HI-23, SD-11)."""

import json
from collections.abc import Callable
from typing import Any

from django.db import connection

from tests.api import Answer
from tests.history.talk import PINS, PROVIDER, items
from workspaces import access
from workspaces.types import WorkspaceRef

Call = Callable[..., Answer]


def play(call: Call, answers: list[Answer], word: str, phone: str) -> None:
    """Speak the word in a session: what reads it back is checked to hold it, and not kept among the answers."""
    identity = {"run_id": f"r-{word}", "invocation_id": word, "agent_ref": word, "namespace": word}

    def ask(what: str, *, status: int = 200, code: str = "", **members: Any) -> Answer:
        answer = call(
            "POST", f"/v1/history/{what}", {"session": identity, **members}, **members.pop("headers", {})
        )
        assert answer.status == status, answer.body
        assert not code or answer.code == code, answer.body
        return answer

    def reading(what: str, **members: Any) -> Any:
        """Read content back: the one kind of answer that may hold it."""
        answer = ask(what, **members)
        assert word in json.dumps(answer.body)
        answers.remove(answer)
        return answer.body

    said = {"role": "user", "content": word, word: [word]}
    whole = items(said, id=f"id-{word}", key=f"key-{word}")
    person = {"type": "phone_e164", "value": f"+55 11 {phone}"}
    ask("append", items=whole, create=True, conversation_id=f"c-{word}", subject=person)
    token = ask("begin", worker="a label").body["reservation"]
    # It may say which item is the leaf: an id that the caller gave.
    answers.pop()
    ask("begin", status=409, code="decision_history_busy")
    ask("append", items=items({"role": "assistant", "content": word}), reservation=token)
    summary = {"text": word, "covers": 1, "digest": "0" * 64, "through": f"id-{word}"}
    ask("commit", reservation=token, pins=PINS, summary=summary, items=items(said))
    ask("append", items=items({"checkpoint": word}, kind="opaque", id=f"o-{word}"))
    for what, members in (("read", {}), ("window", {}), ("items", {}), ("items", {"of": "path"})):
        reading(what, **members)
    ask("items/remove", ids=[f"o-{word}"], key=word)
    forked = call(
        "POST", "/v1/history/fork", {"session": identity, "to": {"session_id": word}, "at": f"id-{word}"}
    )
    assert forked.status == 200
    answers.remove(forked)
    _be_refused(ask, word)


def _be_refused(ask: Callable[..., Answer], word: str) -> None:
    invalid, message = "invalid_input", "decision_history_message_invalid"
    ask(
        "append",
        status=409,
        code="decision_history_conflict",
        items=items({"other": word}, key=f"key-{word}"),
    )
    ask("append", status=422, code=message, items=items({"x": word}, id=f"id-{word}"))
    ask("append", status=422, code=message, items=items({"x": word}, parent=word))
    ask("append", status=422, code=message, items=items({word: word}, kind="removal"))
    ask("append", status=422, code=invalid, items=items({"x": word}, kind=word))
    ask("append", status=422, code=invalid, items=[word], **{word: word})
    ask("append", status=422, code=invalid, items=items({"x": 1}), subject=word)
    ask("begin", status=422, code=invalid, subject={"type": "email", "value": word})
    ask("begin", status=409, code="decision_history_mismatch", conversation_id=f"other-{word}")
    ask(
        "commit",
        status=409,
        code="decision_history_reservation_lost",
        reservation=word,
        items=items({"x": word}),
    )
    ask("window", status=422, code="decision_history_limit_exceeded", max_bytes=1)
    ask("window", status=404, code="decision_history_not_found", leaf=f"no-{word}")
    ask("window", status=422, code=invalid, dialect=[word])
    ask("recover", status=409, code="decision_history_recovery_refused", worker_stopped=False)
    ask("append", items=items({"role": "tool", "tool_call_id": "nobody", "content": word}))
    ask("window", status=409, code="decision_history_invalid", provider=PROVIDER)


def damage(call: Call, workspace: WorkspaceRef, word: str) -> None:
    """Let the server fail at a damaged row with the word in its hands."""
    body = {
        "session": {"session_id": f"damaged-{word}"},
        "create": True,
        "items": items({"x": word}, id="m1"),
    }
    assert call("POST", "/v1/history/append", body).status == 200
    with access.bound(workspace.id), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE history_item SET body = set_byte(body, 20, 255 - get_byte(body, 20)) WHERE id ="
            " (SELECT id FROM history_item ORDER BY recorded_at DESC LIMIT 1)"
        )
    for what, more in (
        ("read", {}),
        ("window", {"provider": PROVIDER}),
        ("append", {"items": items({"y": word})}),
    ):
        answer = call("POST", f"/v1/history/{what}", {"session": body["session"], **more})
        assert (answer.status, answer.code) == (500, "stored_data_damaged")
