"""What is kept of a message, and what an append refuses (HI-13, HI-21)."""

from typing import Any

import pytest

from history.models import Item
from tests.history.talk import PINS, Talk, assistant, items, turns, user
from workspaces import access
from workspaces.types import WorkspaceRef

ODD: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": "",
        "name": "Zoë 👩‍👩‍👧",
        "extra": {"b": 1, "a": [None, True, 1.0, -0.0, 2**62]},
    },
    {"role": "assistant", "content": None, "tool_calls": [], "reasoning_content": "\u2028\t\\"},
    {"type": "reasoning", "summary": [], "encrypted_content": "AAEC/+8=", "status": None},
    {},
]


def test_messages_come_back_as_they_were(talk: Talk) -> None:
    """HI-13, X3: byte for byte, unknown members, their order, empty texts and numbers included."""
    talk.append(*ODD)
    read = talk.messages()
    assert read == ODD
    assert [list(message) for message in read] == [list(message) for message in ODD]
    assert repr(read[0]["extra"]["a"]) == repr(ODD[0]["extra"]["a"])


def test_a_key_stores_once(talk: Talk) -> None:
    """HI-21: deduplicated by the caller's key per item, never by content: equal messages without a key are two."""
    first = talk.append(user("same"), key="turn-1")
    again = talk.append(user("same"), key="turn-1")
    assert (again.body["stored"], again.body["positions"]) == (0, first.body["positions"])
    assert talk.append(user("same"), user("same")).body["stored"] == 2
    assert len(talk.messages()) == 3


def test_a_key_for_something_else_is_refused(talk: Talk) -> None:
    """HI-21: nothing is stored, also of what came with it."""
    talk.append(user("one"), key="turn-1")
    answer = talk.call("append", items=[*items(user("two"), key="turn-1"), *items(user("three"))])
    assert (answer.status, answer.code) == (409, "decision_history_conflict")
    assert talk.messages() == [user("one")]


def test_some_of_a_request_may_be_known(talk: Talk) -> None:
    """HI-21: what a key stored before is passed over, the rest is added, each answered with its place."""
    talk.append(user("one"), key="k1")
    mixed = [*items(user("two"), key="k2"), *items(user("one"), key="k1"), *items(user("three"))]
    answer = talk.call("append", items=mixed)
    assert (answer.body["positions"], answer.body["stored"]) == ([2, 1, 3], 2)
    assert talk.messages() == [user("one"), user("two"), user("three")]


def test_a_request_sent_again_is_answered_again(talk: Talk) -> None:
    """PL-10: with an Idempotency-Key the first answer comes again, and nothing is stored twice."""
    body = {"items": items(user()), "create": True}
    first, again = (talk.call("append", {"Idempotency-Key": "a-1"}, **body) for _ in range(2))
    assert first.body == again.body
    assert talk.messages() == [user()]


def test_a_begin_sent_again_tells_the_same_token(talk: Talk) -> None:
    """PL-10, HI-5: the answer was lost; the token stands nowhere in clear, and another request is not told it."""
    key = {"Idempotency-Key": "b-1"}
    first = talk.call("begin", key, create=True, worker="chat-7")
    assert talk.call("begin", key, create=True, worker="chat-7").body == first.body
    assert talk.call("begin", key, create=True, worker="chat-8").code == "conflict"
    assert talk.call("begin", create=True).code == "decision_history_busy"
    token = first.body["reservation"]
    assert talk.call("commit", reservation=token, items=items(user())).status == 200
    assert talk.call("begin", key, create=True, worker="chat-7").code == "conflict"


@pytest.mark.parametrize(
    ("over", "pointer"),
    [
        ({"id": "taken"}, "/append/0/id"),
        ({"parent": "nobody"}, "/append/0/parent"),
        ({"kind": "removal"}, "/append/0/message"),
    ],
)
def test_an_item_that_cannot_hang_is_refused(talk: Talk, over: dict[str, Any], pointer: str) -> None:
    """HI-21: an id that is taken, a parent that is not there, a removal of nothing."""
    talk.append(user(), id="taken")
    answer = talk.append(user(), **over)
    assert (answer.status, answer.code) == (422, "decision_history_message_invalid")
    assert [problem["pointer"] for problem in answer.body["errors"]] == [pointer.replace("/append", "/items")]
    assert talk.messages() == [user()]


def test_rows_say_nothing(talk: Talk, home: WorkspaceRef) -> None:
    """HI-23, PL-12: ids, keys and messages are ciphertext; what stands in clear is places, times and sizes."""
    word = "canary-of-the-rows"
    talk.append(user(word), id=f"id-{word}", key=f"key-{word}")
    talk.decide(assistant(word))
    with access.bound(home.id):
        for item in Item.objects.all():
            kept = repr(
                {name: bytes(v) if isinstance(v, memoryview) else v for name, v in vars(item).items()}
            )
            assert word not in kept
            assert word.encode() not in bytes(item.body)
    assert talk.call("read").body["items"][0]["id"] == f"id-{word}"


def test_observations_are_answers_of_open_calls(talk: Talk) -> None:
    """HI-9, HI-13: an unanswered call is held back until the runtime's observation is there; then both are served."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    found = {"role": "tool", "tool_call_id": "c1", "content": "found"}
    talk.decide(*turns(1), user("look"), asked)
    held = talk.window().body
    assert (held["messages"], held["open_calls"]) == ([*turns(1), user("look")], ["c1"])
    talk.append(found, kind="observation", key="c1")
    assert talk.window().body["messages"] == [*turns(1), user("look"), asked, found]


def test_every_kind_travels(talk: Talk) -> None:
    """HI-25, HI-13: kind, parent, key, provisional and both times come back as they were given."""
    given = {
        "message": {"role": "tool", "tool_call_id": "c1", "content": "accepted"},
        "kind": "observation",
        "id": "o1",
        "key": "k1",
        "provisional": True,
        "recorded_at": "2026-11-30T12:00:00.123456Z",
        "expires_at": "2100-01-01T00:00:00Z",
    }
    token = talk.token()
    talk.call("commit", reservation=token, items=[given], pins=PINS)
    (item,) = talk.call("read").body["items"]
    assert {name: item[name] for name in given} == given
    assert (item["position"], item["parent"]) == (1, "")
