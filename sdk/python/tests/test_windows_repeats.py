"""What a history holds twice, what a provider began and never ended, windows that cannot begin (R3, R4, A10, A5)."""

from typing import Any

import pytest
from conversations.branch import IndexedBranch

from lastro.history import History
from lastro.history.errors import DecisionHistoryInvalid
from lastro.history.records import NewItem, Provider
from lastro.history.windows import Limits, Window, window_of

Message = dict[str, Any]


def window(provider: Provider, messages: list[Message], *, most: int = 128, repair: bool = False) -> Window:
    session = History(repair=repair).session("one", provider=provider)
    session.append([NewItem(message, id=f"m{place}") for place, message in enumerate(messages)])
    return session.window(limits=Limits(most))


def told(found: Window) -> list[tuple[str, str]]:
    return [(omission.item, omission.reason) for omission in found.omissions]


def says(role: str, text: str, **members: Any) -> Message:
    return {"type": "message", "role": role, "content": text, **members}


def reasons(name: str) -> Message:
    return {"type": "reasoning", "id": name, "summary": [], "encrypted_content": "enc"}


def calls(name: str) -> Message:
    return {"type": "function_call", "id": f"fc_{name}", "call_id": name, "name": "look", "arguments": "{}"}


def output(name: str, text: str = "done") -> Message:
    return {"type": "function_call_output", "call_id": name, "output": text}


def block(kind: str, **members: Any) -> Message:
    return {"type": kind, **members}


def spoken(role: str, *blocks: Message) -> Message:
    return {"role": role, "content": list(blocks)}


TEXT = block("text", text="Well.")
BEGUN = block("server_tool_use", id="srv_1", name="web_search", input={})
ENDED = block("web_search_tool_result", tool_use_id="srv_1", content=[])


def test_response_that_was_stored_twice_is_served_once() -> None:
    """R3, R4: a copy behind its original, in the same response, is no second item of the request."""
    found = window(
        "openai.responses",
        [
            says("user", "Hi."),
            reasons("r"),
            calls("c"),
            reasons("r"),
            calls("c"),
            output("c"),
            says("user", "Go."),
        ],
    )
    assert found.items == ("m0", "m1", "m2", "m5", "m6")
    assert told(found) == [("m3", "repeated"), ("m4", "repeated")]
    assert not found.changed


def test_round_that_was_stored_twice_is_served_once() -> None:
    """R1, R2: with the copy of a call its result goes too; where the result is another one, both stay."""
    start = [says("user", "Hi."), reasons("r"), calls("c"), output("c"), reasons("r"), calls("c")]
    once = window("openai.responses", [*start, output("c"), says("user", "Go.")])
    assert once.items == ("m0", "m1", "m2", "m3", "m7")
    twice = window("openai.responses", [*start, output("c", "otherwise"), says("user", "Go.")])
    assert twice.items == tuple(f"m{place}" for place in range(8))
    assert twice.changed == ("m4", "m5")
    assert [message.get("id") for message in twice.messages[4:6]] == [None, None]


def test_copy_whose_original_left_is_served() -> None:
    """X5: what is outside of the window takes nothing from what is in it."""
    turn = [says("user", "Hi."), reasons("r"), says("assistant", "Ho.", id="msg")]
    found = window("openai.responses", [*turn, *turn, says("user", "Go.")], most=4)
    assert found.items == ("m3", "m4", "m5", "m6")
    assert not found.omissions


def test_other_words_under_a_known_id_lose_the_id() -> None:
    """X3, X5: no word is lost, the user's own neither; the change is marked."""
    found = window(
        "openai.responses",
        [says("user", "Hi.", id="a"), says("assistant", "One.", id="b"), says("user", "Hi.", id="a"),
         says("assistant", "Two.", id="b"), says("user", "Go.")],
    )  # fmt: skip
    assert found.items == ("m0", "m1", "m2", "m3", "m4")
    assert found.changed == ("m2", "m3")
    assert [message["content"] for message in found.messages] == ["Hi.", "One.", "Hi.", "Two.", "Go."]


def test_reasoning_that_is_not_sent_again_takes_the_id_of_what_came_with_it() -> None:
    """R4: both go, or their ids do."""
    found = window(
        "openai.responses",
        [says("user", "Hi."), reasons("r"), calls("c"), reasons("r"), calls("d"), output("c"), output("d")],
    )
    assert found.items == ("m0", "m1", "m2", "m4", "m5", "m6")
    assert "id" not in found.messages[3]


def test_tool_that_a_provider_never_ended_is_not_sent() -> None:
    """A10: a user spoke before its result came; without repair the rule and the id are told."""
    messages = [spoken("user", TEXT), spoken("assistant", TEXT, BEGUN), spoken("user", TEXT)]
    with pytest.raises(DecisionHistoryInvalid) as caught:
        window("anthropic.messages", messages)
    assert (caught.value.rule, caught.value.calls) == ("A10", ("srv_1",))
    found = window("anthropic.messages", messages, repair=True)
    assert found.items == ("m0", "m1", "m2")
    assert found.messages[1]["content"] == [TEXT]


def test_paused_turn_is_sent_as_it_is() -> None:
    """A10: at the end of the history the provider is still to go on."""
    messages = [spoken("user", TEXT), spoken("assistant", TEXT, BEGUN)]
    assert window("anthropic.messages", messages).messages[1] == messages[1]


@pytest.mark.parametrize("most", [5, 128])
def test_paused_turn_and_what_goes_on_with_it_stay_together(most: int) -> None:
    """A10: use and result in two messages in a row are one response, which a limit does not cut."""
    use, result = block("tool_use", id="t", name="look", input={}), block("tool_result", tool_use_id="t")
    messages = [
        spoken("user", TEXT),
        spoken("assistant", BEGUN),
        spoken("assistant", ENDED, TEXT, use),
        spoken("user", result),
        spoken("assistant", TEXT),
        spoken("user", TEXT),
    ]
    items = window("anthropic.messages", messages, most=most).items
    assert ("m1" in items) == ("m2" in items) == (most > 5)


def test_paused_turn_in_front_of_what_was_read_is_no_fault() -> None:
    """A10, HI-9: in a long turn the first half of a pair may not have been read; it is not taken for broken."""
    use, result = block("tool_use", id="t", name="look", input={}), block("tool_result", tool_use_id="t")
    pairs = [
        message
        for _ in range(40)
        for message in (spoken("assistant", BEGUN), spoken("assistant", ENDED, TEXT))
    ]
    messages = [spoken("user", TEXT), *pairs, spoken("assistant", use), spoken("user", result)]
    for most in range(3, 30):
        branch = IndexedBranch("anthropic.messages")
        for message in messages:
            branch.add(message)
        items = window_of(
            branch, provider=branch.provider, leaf=branch.leaf, now=0, limits=Limits(most)
        ).items
        halves = [int(item[1:]) for item in items[1:-2]]
        assert len(halves) % 2 == 0
        assert items[0] == "i0"


def test_result_of_a_tool_that_no_provider_began_is_not_sent() -> None:
    """A10: the other half of such a pair, which another tool left behind."""
    messages = [spoken("user", TEXT), spoken("assistant", ENDED, TEXT), spoken("user", TEXT)]
    with pytest.raises(DecisionHistoryInvalid, match="A10"):
        window("anthropic.messages", messages)
    assert window("anthropic.messages", messages, repair=True).messages[1]["content"] == [TEXT]


def test_results_without_any_user_are_refused() -> None:
    """A5, G2: a current result is never left out in silence where no user ever spoke (HI-9)."""
    use, result = block("tool_use", id="t", name="look", input={}), block("tool_result", tool_use_id="t")
    for repair in (False, True):
        with pytest.raises(DecisionHistoryInvalid, match="A5"):
            window("anthropic.messages", [spoken("assistant", use), spoken("user", result)], repair=repair)
    called, answered = {"functionCall": {"name": "f"}}, {"functionResponse": {"name": "f", "response": {}}}
    with pytest.raises(DecisionHistoryInvalid, match="G2"):
        window(
            "gemini.contents", [{"role": "model", "parts": [called]}, {"role": "user", "parts": [answered]}]
        )


def test_broken_history_with_nothing_to_serve_is_refused() -> None:
    """HI-11: an orphan alone is told, and not answered with an empty window."""
    orphan = spoken("user", block("tool_result", tool_use_id="gone"))
    with pytest.raises(DecisionHistoryInvalid, match="A1"):
        window("anthropic.messages", [orphan])
    assert not window("anthropic.messages", [orphan], repair=True).messages


def test_greeting_alone_is_no_fault() -> None:
    """A5: before the first user speaks there is nothing to send."""
    assert not window("anthropic.messages", [spoken("assistant", TEXT)]).messages


def test_results_with_and_without_an_id_are_of_one_call() -> None:
    """G1: exactly one response answers a call, the last one that came."""
    found = window(
        "gemini.contents",
        [
            {"role": "user", "parts": [{"text": "Go."}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "id": "1"}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"v": 1}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "id": "1", "response": {"v": 2}}}]},
        ],
    )
    assert [len(message["parts"]) for message in found.messages] == [1, 1, 1]
    assert found.messages[2]["parts"][0]["functionResponse"]["response"] == {"v": 2}
