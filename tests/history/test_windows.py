"""The window over the server's store (HI-9 to HI-12, HI-21): as the SDK's, and at a cost that does not grow."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.api import Answer
from tests.history.talk import PINS, Talk, assistant, items, turns, user


def count_queries(call: Callable[[], Answer]) -> int:
    """Count the statements of a request that is answered."""
    with CaptureQueriesContext(
        connection,
    ) as seen:
        answer = call()
    assert answer.status == 200, answer.body
    return len(seen)


def fill(talk: Talk, count: int) -> None:
    """Bring a session to so many turns."""
    for start in range(0, count, 250):
        answer = talk.append(*turns(min(250, count - start), start=start))
        assert answer.status == 200, answer.body


def test_a_window_is_the_longest_tail_that_fits(talk: Talk) -> None:
    """HI-9: older exchanges stay outside; what is served is byte for byte what was stored."""
    talk.decide(*turns(20))
    window = talk.window(max_messages=6).body
    assert window["messages"] == turns(3, start=17)
    assert (window["trimmed"], window["message_count"]) == (True, 6)
    whole = talk.window().body
    assert (whole["messages"], whole["trimmed"]) == (turns(20), False)
    assert talk.messages() == turns(20)


def test_instructions_stand_first_and_are_outside_the_bounds(talk: Talk) -> None:
    """HI-9, X4: a system message of the beginning leads every window and is not counted."""
    system = {"role": "system", "content": "Be brief."}
    talk.decide(system, *turns(20))
    window = talk.window(max_messages=4).body
    assert window["messages"] == [system, *turns(2, start=18)]
    assert window["message_count"] == 4


def test_what_must_stay_and_does_not_fit_is_refused(talk: Talk) -> None:
    """HI-9: naming the bound, what is needed and what is allowed."""
    talk.decide(user("x" * 500), assistant())
    answer = talk.window(max_bytes=200)
    assert (answer.status, answer.code) == (422, "decision_history_limit_exceeded")
    assert (answer.body["bound"], answer.body["allowed"]) == ("max_bytes", 200)
    assert answer.body["needed"] > 500
    assert talk.window().status == 200


def test_a_branch_is_served_from_its_leaf(talk: Talk) -> None:
    """HI-21, X12: only messages on the path from the root to the chosen leaf are served."""
    first = items(user("a"), assistant("b"))
    first[1]["id"] = "answer"
    other = [*items(user("other"), parent="answer", id="u2"), *items(assistant("fine"), id="a2")]
    token = talk.token()
    talk.call("commit", reservation=token, items=[*first, *items(user("c"), assistant("d"))], pins=PINS)
    trunk = talk.call("read").body["head"]["leaf"]
    token = talk.token()
    assert talk.call("commit", reservation=token, items=other).status == 200
    branch = [user("a"), assistant("b"), user("other"), assistant("fine")]
    assert talk.window().body["messages"] == branch
    assert talk.window(leaf=trunk).body["messages"] == [user("a"), assistant("b"), user("c"), assistant("d")]
    assert talk.window(leaf="answer").body["messages"] == [user("a"), assistant("b")]
    assert talk.window(leaf="nothing").status == 404


def test_while_a_decision_runs_others_see_what_was_there(talk: Talk) -> None:
    """HI-5, HI-21: what is appended under the reservation is in the window of its holder alone."""
    talk.decide(*turns(1))
    token = talk.token()
    talk.call("append", reservation=token, items=items(user("more")))
    assert talk.window().body["messages"] == turns(1)
    assert talk.window(reservation=token).body["messages"] == [*turns(1), user("more")]


def test_a_window_needs_a_provider_once(talk: Talk) -> None:
    """HI-1, HI-11: named until the first decision pins it; another one is refused then."""
    talk.append(*turns(1))
    unnamed = talk.call("window")
    assert (unnamed.status, unnamed.body["errors"][0]["pointer"]) == (422, "/provider")
    assert talk.window().status == 200
    talk.decide(*turns(1, start=1))
    assert talk.call("window").body["messages"] == turns(2)
    assert talk.call("window", provider="anthropic.messages").code == "decision_history_mismatch"


@pytest.mark.parametrize("what", ["append", "decide", "window"])
def test_the_thousandth_message_costs_what_the_tenth_did(talk: Talk, what: str) -> None:
    """HI-21, HI-3: adds never rewrite; the statements at 1,000 messages are those at 10."""
    calls: dict[str, Callable[[], Answer]] = {
        "append": lambda: talk.append(user()),
        "decide": lambda: talk.decide(user(), assistant()),
        "window": lambda: talk.window(max_messages=8),
    }
    talk.decide(*turns(5))
    calls[what]()
    few = count_queries(calls[what])
    fill(talk, 500)
    assert count_queries(calls[what]) == few
    assert talk.call("read").body["head"]["count"] > 1000


def test_the_start_of_a_long_turn_is_found_by_its_index(talk: Talk) -> None:
    """HI-9, HI-21: the input that opened a turn of 900 messages is pinned without reading the turn."""
    rounds = []
    for number in range(450):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        rounds += [{"role": "assistant", "content": None, "tool_calls": [call]}]
        rounds += [{"role": "tool", "tool_call_id": f"c{number}", "content": "found"}]
    talk.decide(*turns(50), user("look everywhere"))
    few = 0
    for start in range(0, 900, 60):
        assert talk.append(*rounds[start : start + 60]).status == 200
        few = few or count_queries(lambda: talk.window(max_messages=9))
    assert count_queries(lambda: talk.window(max_messages=9)) == few
    window = talk.window(max_messages=9).body
    assert window["messages"] == [user("look everywhere"), *rounds[-8:]]
