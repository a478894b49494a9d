"""What a window keeps, holds back and leaves out, one decision each (HI-9, HI-11, HI-23)."""

import json
from pathlib import Path
from typing import Any

import pytest
from conversations.branch import Branch, IndexedBranch
from conversations.writers import WRITERS, Made

from lastro.history import History, RamStore, SqliteStore
from lastro.history.errors import DecisionHistoryInvalid, DecisionHistoryLimitExceeded
from lastro.history.records import Item, Message, NewItem, Provider
from lastro.history.windows import Limits, Omission, Window, window_of
from lastro.invariants import violations

PROVIDERS: tuple[Provider, ...] = tuple(WRITERS)
CHAT = WRITERS["openai.chat"]


def window_for(branch: Branch, *, messages: int = 128, leaf: str = "", now: float = 0, **more: Any) -> Window:
    limits = more.pop("limits", Limits(messages))
    return window_of(
        branch, provider=branch.provider, leaf=leaf or branch.leaf, now=now, limits=limits, **more
    )


def called(branch: Branch, *ids: str, text: str = "") -> list[Made]:
    """Add a response that calls tools."""
    calls = [Made(name, f"tool_{name}") for name in ids]
    for message in WRITERS[branch.provider].response(text, calls, opaque="", number=len(branch.items)):
        branch.add(message)
    return calls


def answered(branch: Branch, call: Made, text: str = "done", **members: Any) -> None:
    for message in WRITERS[branch.provider].results([(call, text)]):
        branch.add(message, **members)


def said(branch: Branch, text: str, **members: Any) -> None:
    branch.add(WRITERS[branch.provider].user(text), **members)


def replied(branch: Branch, text: str, **members: Any) -> None:
    for message in WRITERS[branch.provider].response(text, (), opaque="", number=len(branch.items)):
        branch.add(message, **members)


def words_of(window: Window) -> str:
    return json.dumps(window.messages, ensure_ascii=False)


def long_turn(branch: Branch, rounds: int, *, text: str = "Go on until it is done.") -> None:
    said(branch, text)
    for number in range(rounds):
        for call in called(branch, f"c{number}"):
            answered(branch, call, f"result {number}")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_input_of_a_long_turn_is_pinned(provider: Provider) -> None:
    """HI-9: inside a long tool loop old rounds leave one by one, and the input that opened the turn stays in front."""
    branch = Branch(provider)
    long_turn(branch, 20)
    window = window_for(branch, messages=6)
    assert window.items == ("i0", "i37", "i38", "i39", "i40")
    assert (window.message_count, window.trimmed, window.through) == (5, True, "i36")
    assert not window.omissions


@pytest.mark.parametrize("provider", PROVIDERS)
def test_earlier_turns_leave_whole(provider: Provider) -> None:
    """HI-9: of an earlier turn nothing is left when it does not fit, though its answer alone would."""
    branch = Branch(provider)
    long_turn(branch, 1)
    replied(branch, "It is done.")
    said(branch, "Thanks.")
    replied(branch, "Welcome.")
    said(branch, "Bye.")
    assert window_for(branch, messages=6).items == ("i4", "i5", "i6")
    assert window_for(branch, messages=7).items == tuple(f"i{place}" for place in range(7))


def test_latest_exchange_stays_though_its_turn_does_not_fit() -> None:
    """HI-9: the latest complete exchange and what came since stay; its turn is cut inside where it must be."""
    branch = Branch("openai.chat")
    long_turn(branch, 10)
    replied(branch, "It is done.")
    said(branch, "Thanks.")
    assert window_for(branch, messages=3).items == ("i0", "i21", "i22")
    with pytest.raises(DecisionHistoryLimitExceeded) as refusal:
        window_for(branch, messages=2)
    assert (refusal.value.bound, refusal.value.needed, refusal.value.allowed) == ("max_messages", 3, 2)


def test_bytes_are_those_of_compact_json() -> None:
    """HI-9: the bound of bytes is met exactly, instructions not counted."""
    branch = Branch.of("openai.chat", [{"role": "system", "content": "R" * 500}])
    for text in ("盘点", "仓库"):
        said(branch, text)
        replied(branch, text)
    size = len(
        json.dumps(window_for(branch).messages[1:], ensure_ascii=False, separators=(",", ":")).encode()
    )
    assert window_for(branch, limits=Limits(128, size)).bytes == size
    assert window_for(branch, limits=Limits(128, size)).items[1] == "i1"
    assert window_for(branch, limits=Limits(128, size - 1)).items[1] == "i3"
    with pytest.raises(DecisionHistoryLimitExceeded) as refusal:
        window_for(branch, limits=Limits(128, 60))
    assert refusal.value.bound == "max_bytes"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_unanswered_round_is_held_back(provider: Provider) -> None:
    """HI-9, HI-13: a call without its result is not served, nor are the results of its siblings; its id is told."""
    branch = Branch(provider)
    said(branch, "Check both.")
    first, _ = called(branch, "c_a", "c_b")
    answered(branch, first)
    said(branch, "Never mind.")
    window = window_for(branch)
    assert window.items == ("i0", branch.leaf)
    assert window.open_calls == ("c_b",)
    assert {omission.reason for omission in window.omissions} == {"held_back"}
    assert len(window.omissions) == len(branch.items) - 2


@pytest.mark.parametrize("provider", PROVIDERS)
def test_late_result_is_served_behind_its_call(provider: Provider) -> None:
    """HI-9: a result that comes when the turn has moved on is served right behind its call, as it was stored."""
    branch = Branch(provider)
    said(branch, "Delete it.")
    (call,) = called(branch, "adk-7")
    said(branch, "How large is it?")
    replied(branch, "40 GB.")
    answered(branch, call, "confirmed")
    window = window_for(branch)
    assert window.items == ("i0", "i1", "i4", "i2", "i3")
    assert not window.changed
    assert not window.omissions


@pytest.mark.parametrize("provider", PROVIDERS)
def test_late_result_out_of_reach_is_refused_by_name(provider: Provider) -> None:
    """HI-9: a new result whose call is too far back is a refusal that names the call, and says what is needed."""
    branch = Branch(provider)
    said(branch, "Delete it.")
    (call,) = called(branch, "adk-7")
    for number in range(40):
        said(branch, f"Question {number}?")
        replied(branch, f"Answer {number}.")
    assert window_for(branch, messages=4).open_calls == ()
    answered(branch, call, "confirmed")
    with pytest.raises(DecisionHistoryLimitExceeded) as refusal:
        window_for(branch, messages=4)
    assert "adk-7" in refusal.value.calls
    assert refusal.value.needed == len(branch.items) == window_for(branch, messages=83).message_count
    said(branch, "And now?")
    window = window_for(branch, messages=4)
    assert Omission(branch.items[-2].id, "left_with_call") in window.omissions


def test_late_result_brings_a_call_of_gemini() -> None:
    """G2: what a model said before a late result, and the call that it made then, are one content."""
    branch = Branch("gemini.contents")
    said(branch, "Delete it.")
    (call,) = called(branch, "adk-7")
    said(branch, "How large?")
    replied(branch, "40 GB.")
    answered(branch, call, "confirmed")
    (delete,) = called(branch, "adk-8")
    answered(branch, delete)
    window = window_for(branch)
    assert [content["role"] for content in window.messages] == [
        "user",
        "model",
        "user",
        "user",
        "model",
        "user",
    ]
    assert window.changed == ("i3", "i5")
    assert not violations("gemini.contents", window.messages, invariants=["G1", "G2", "G5", "X1"])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_provisional_result_is_replaced(provider: Provider) -> None:
    """HI-9: a provisional result is served as what it is, its call stays open, and the final one takes its place."""
    branch = Branch(provider)
    said(branch, "Export it.")
    (call,) = called(branch, "job")
    answered(branch, call, "accepted", provisional=True)
    assert window_for(branch).open_calls == ("job",)
    replied(branch, "It has begun.")
    answered(branch, call, "finished")
    window = window_for(branch)
    assert window.items == ("i0", "i1", "i4", "i3")
    assert window.omissions == (Omission("i2", "superseded"),)
    assert not window.open_calls
    assert "accepted" not in words_of(window)


def test_provisional_exchange_is_not_complete() -> None:
    """HI-9: the latest complete exchange stays, and one that waits for its final result is none."""
    branch = Branch("openai.chat")
    said(branch, "Hello.")
    replied(branch, "Hello.")
    said(branch, "Export it.")
    (call,) = called(branch, "job")
    answered(branch, call, "accepted", provisional=True)
    with pytest.raises(DecisionHistoryLimitExceeded):
        window_for(branch, messages=4)
    answered(branch, call, "finished")
    assert window_for(branch, messages=4).items == ("i2", "i3", "i5")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_record_of_no_execution_is_its_result(provider: Provider) -> None:
    """HI-9, HI-13: the runtime's record that a call was not executed is served as its result, marked as such."""
    branch = Branch(provider)
    said(branch, "Start it.")
    called(branch, "dead")
    branch.add({"call_id": "dead"}, kind="not_executed")
    said(branch, "Are you back?")
    window = window_for(branch)
    assert not window.open_calls
    assert "Not executed" in words_of(window)
    assert not violations(provider, window.messages)


def test_result_is_worth_more_than_a_record_of_none() -> None:
    """HI-13: a result that came after all is served, in whichever order both were stored."""
    for kinds in (("observation", "not_executed"), ("not_executed", "observation")):
        branch = Branch("openai.chat")
        said(branch, "Start it.")
        (call,) = called(branch, "c")
        for kind in kinds:
            answered(branch, call, kind, kind=kind)
        assert "observation" in words_of(window_for(branch))


def test_results_of_one_response_are_joined() -> None:
    """A2: results that came one by one stand in one message behind their calls, the user's words behind them."""
    branch = Branch("anthropic.messages")
    said(branch, "Check both.")
    first, second = called(branch, "c_a", "c_b")
    answered(branch, first)
    for message in WRITERS["anthropic.messages"].results([(second, "done")], extra="and this"):
        branch.add(message)
    window = window_for(branch)
    assert [block["type"] for block in window.messages[2]["content"]] == [
        "tool_result",
        "tool_result",
        "text",
    ]
    assert window.changed == ("i2", "i3")
    assert window.items == ("i0", "i1", "i2")


def test_words_beside_a_late_result_stay_in_their_place() -> None:
    """X5: what a user says beside a late result is input where it was said."""
    branch = Branch("anthropic.messages")
    said(branch, "Delete it.")
    (call,) = called(branch, "c")
    said(branch, "How large?")
    replied(branch, "40 GB.")
    for message in WRITERS["anthropic.messages"].results([(call, "confirmed")], extra="and be quick"):
        branch.add(message)
    window = window_for(branch)
    assert window.items == ("i0", "i1", "i4", "i2", "i3", "i4")
    assert window.messages[-1] == {"role": "user", "content": [{"type": "text", "text": "and be quick"}]}
    assert window.changed == ("i4",)


@pytest.mark.parametrize("provider", ["anthropic.messages", "gemini.contents"])
def test_words_beside_a_partial_result_are_served(provider: Provider) -> None:
    """X5: while the round is held back, what the user said beside its results is input; then it is with them again."""
    branch = Branch(provider)
    said(branch, "Check both.")
    first, second = called(branch, "c_a", "c_b")
    for message in WRITERS[provider].results([(first, "fine")], extra="never mind the other"):
        branch.add(message)
    window = window_for(branch)
    assert window.items == ("i0", "i2")
    assert window.omissions == (Omission("i1", "held_back"),)
    assert "never mind the other" in words_of(window)
    assert "fine" not in words_of(window)
    answered(branch, second, "bad")
    window = window_for(branch)
    assert window.items == ("i0", "i1", "i2")
    assert all(text in words_of(window) for text in ("fine", "bad", "never mind the other"))
    assert not violations(provider, window.messages)


def test_approval_answers_a_call() -> None:
    """V1: a call whose approval was asked for waits for the approval, and is served with it and with its result."""
    branch = Branch("aisdk.model")
    said(branch, "Delete it.")
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "delete", "input": {}}
    asked = {"type": "tool-approval-request", "approvalId": "p", "toolCallId": "c"}
    branch.add({"role": "assistant", "content": [call, asked]})
    assert window_for(branch).open_calls == ("c",)
    given = {"type": "tool-approval-response", "approvalId": "p", "approved": True}
    branch.add({"role": "tool", "content": [given]})
    assert window_for(branch).items == ("i0", "i1", "i2")
    result = {
        "type": "tool-result",
        "toolCallId": "c",
        "toolName": "delete",
        "output": {"type": "text", "value": "ok"},
    }
    branch.add({"role": "tool", "content": [result]})
    assert window_for(branch).items == ("i0", "i1", "i2", "i3")
    assert not violations("aisdk.model", window_for(branch).messages)


@pytest.mark.parametrize(("provider", "rule"), [("openai.chat", "C5"), ("anthropic.messages", "A3")])
def test_repeated_ids_are_told_apart(provider: Provider, rule: str) -> None:
    """C5, A3: a repeated id is renamed in call and result alike; the stored messages keep theirs."""
    branch = Branch(provider)
    for text in ("ALPHA", "BRAVO"):
        said(branch, f"Read {text}.")
        calls = called(branch, "call_0", "call_1")
        for call in reversed(calls):
            answered(branch, call, f"{text} of {call.id}")
        replied(branch, "Read.")
    stored = json.dumps([item.message for item in branch.items])
    window = window_for(branch)
    assert not violations(provider, window.messages)
    assert "i6" in window.changed
    assert "i1" not in window.changed
    assert all(text in words_of(window) for text in ("ALPHA of call_0", "BRAVO of call_1"))
    assert json.dumps([item.message for item in branch.items]) == stored
    assert rule in {found.rule for found in violations(provider, [item.message for item in branch.items])}


def test_late_result_of_a_repeated_id_is_of_the_open_call() -> None:
    """HI-9: of two calls with one id the open one is answered, though the other is nearer."""
    branch = Branch("openai.chat")
    said(branch, "Ask me first.")
    (waiting,) = called(branch, "call_0")
    said(branch, "Read b.")
    (nearer,) = called(branch, "call_0")
    answered(branch, nearer, "BRAVO")
    replied(branch, "Read.")
    answered(branch, waiting, "CONFIRMED")
    window = window_for(branch)
    assert window.items == ("i0", "i1", "i6", "i2", "i3", "i4", "i5")
    assert not violations("openai.chat", window.messages)


def test_latest_exchange_stays_however_much_was_asked_since() -> None:
    """HI-9: where what was asked since the latest exchange passes the bound, all that is needed is told."""
    branch = Branch("openai.chat")
    said(branch, "Hello.")
    replied(branch, "Hello.")
    for number in range(300):
        said(branch, f"Are you there, {number}?")
    with pytest.raises(DecisionHistoryLimitExceeded) as refusal:
        window_for(branch)
    assert refusal.value.needed == 302


@pytest.mark.parametrize("count", range(3, 16))
def test_response_in_many_items_is_read_whole(count: int) -> None:
    """HI-9, R2: a response of several items of which only the last ones were read is not taken for a whole one."""
    branch = Branch("openai.responses")
    said(branch, "Check ten.")
    calls = called(branch, *(f"c{number}" for number in range(10)))
    answered(branch, calls[-1])
    said(branch, "And?")
    replied(branch, "Nothing.")
    assert window_for(branch, messages=count).items == ("i0", "i12", "i13")


def test_ids_of_mistral() -> None:
    """C5: with the dialect `mistral` ids are nine letters and digits."""
    branch = Branch("openai.chat")
    long_turn(branch, 3)
    window = window_for(branch, dialect="mistral")
    ids = [call["id"] for message in window.messages for call in message.get("tool_calls", ())]
    assert len(set(ids)) == 3
    assert all(len(name) == 9 and name.isalnum() for name in ids)
    assert not violations("openai.chat", window.messages)


@pytest.mark.parametrize("provider", ["anthropic.messages", "gemini.contents", "openai.chat"])
def test_strict_alternation(provider: Provider) -> None:
    """A9: with the dialect `strict-alternation` what one role says in a row is one message, and counts as one."""
    branch = Branch(provider)
    said(branch, "Start it.")
    called(branch, "dead")
    said(branch, "Are you back?")
    replied(branch, "Yes.")
    said(branch, "Good.")
    window = window_for(branch, dialect="strict-alternation")
    roles = [message["role"] for message in window.messages]
    assert roles == ["user", "assistant" if provider != "gemini.contents" else "model", "user"]
    assert window.message_count == 3
    assert window_for(branch, dialect="strict-alternation", messages=3) == window


def test_nothing_is_on_a_server() -> None:
    """R5, R4: with the dialect `stateless`, reasoning that only the server has goes, and the id that came with it."""
    branch = Branch("openai.responses")
    said(branch, "Plan.")
    branch.add({"type": "reasoning", "id": "rs_1", "summary": []})
    branch.add(
        {
            "type": "message",
            "role": "assistant",
            "id": "msg_1",
            "content": [{"type": "output_text", "text": "A."}],
        }
    )
    with pytest.raises(DecisionHistoryInvalid, match="R5"):
        window_for(branch, dialect="stateless")
    window = window_for(branch, dialect="stateless", repair=True)
    assert window.omissions == (Omission("i1", "repaired", "R5"),)
    assert "id" not in window.messages[-1]
    assert window_for(branch).items == ("i0", "i1", "i2")


BROKEN: list[tuple[str, Provider, str, list[Message]]] = [
    ("a result of nothing", "openai.chat", "C1", [{"role": "tool", "tool_call_id": "c", "content": "x"}]),
    (
        "an output of nothing",
        "openai.responses",
        "R1",
        [{"type": "function_call_output", "call_id": "c", "output": ""}],
    ),
    (
        "a result of nothing",
        "anthropic.messages",
        "A1",
        [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]}],
    ),
    (
        "a response to nothing",
        "gemini.contents",
        "G1",
        [{"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}],
    ),
    (
        "a result of nothing",
        "aisdk.model",
        "V2",
        [
            {
                "role": "tool",
                "content": [{"type": "tool-result", "toolCallId": "c", "toolName": "f", "output": {}}],
            }
        ],
    ),
    ("reasoning before a user", "openai.responses", "R3", [{"type": "reasoning", "id": "rs", "summary": []}]),
    (
        "reasoning twice",
        "openai.responses",
        "R3",
        [
            {"type": "reasoning", "id": "rs", "summary": []},
            {"type": "reasoning", "id": "rt", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A."}]},
        ],
    ),
    (
        "reasoning without a summary",
        "openai.responses",
        "R6",
        [
            {"type": "reasoning", "id": "rs", "encrypted_content": "e"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A."}]},
        ],
    ),
    (
        "text behind a call",
        "anthropic.messages",
        "A9",
        [
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "t", "name": "f", "input": {}},
                    {"type": "text", "text": "Hm."},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]},
        ],
    ),
    (
        "text before a result",
        "anthropic.messages",
        "A2",
        [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "So:"},
                    {"type": "tool_result", "tool_use_id": "t", "content": "x"},
                ],
            },
        ],
    ),
    (
        "thinking without its signature",
        "anthropic.messages",
        "A6",
        [
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "?"}, {"type": "text", "text": "A."}],
            }
        ],
    ),
    ("half an emoji", "openai.chat", "X6", [{"role": "assistant", "content": "\ud83d"}]),
]


@pytest.mark.parametrize(
    ("why", "provider", "rule", "messages"), BROKEN, ids=[f"{row[2]} {row[0]}" for row in BROKEN]
)
def test_broken_history(why: str, provider: Provider, rule: str, messages: list[Message]) -> None:
    """HI-11: what breaks a rule is refused by its name; with repair the rest is served, and told of."""
    branch = Branch(provider)
    said(branch, "Hello.")
    for message in messages:
        branch.add(message)
    said(branch, "Are you there?")
    with pytest.raises(DecisionHistoryInvalid) as refusal:
        window_for(branch)
    assert refusal.value.rule == rule
    window = window_for(branch, repair=True)
    assert not violations(provider, window.messages)
    assert any(omission.rule == rule for omission in window.omissions) or window.changed
    assert branch.items[1].message == messages[0]


EMPTY: list[tuple[Provider, Message]] = [
    ("openai.chat", {"role": "assistant", "content": None}),
    ("openai.chat", {"role": "assistant", "content": "", "tool_calls": []}),
    ("anthropic.messages", {"role": "assistant", "content": []}),
    ("anthropic.messages", {"role": "assistant", "content": [{"type": "text", "text": " \n"}]}),
    ("anthropic.messages", {"role": "user", "content": ""}),
    ("gemini.contents", {"role": "model", "parts": []}),
    ("gemini.contents", {"role": "user"}),
    ("aisdk.model", {"role": "assistant", "content": []}),
]


@pytest.mark.parametrize(("provider", "message"), EMPTY)
def test_what_says_nothing_is_left_out(provider: Provider, message: Message) -> None:
    """C4, A4, G5: an empty message blocks no conversation: it is left out, and told of."""
    branch = Branch(provider)
    said(branch, "Hello.")
    branch.add(message)
    said(branch, "Are you there?")
    window = window_for(branch)
    assert window.items == ("i0", "i2")
    assert window.omissions == (Omission("i1", "empty"),)


def test_signature_in_an_empty_text_stays() -> None:
    """G3: a part without text may carry a signature."""
    branch = Branch("gemini.contents")
    said(branch, "Hello.")
    branch.add({"role": "model", "parts": [{"text": "", "thoughtSignature": "s"}]})
    assert window_for(branch).messages[-1] == branch.items[-1].message


@pytest.mark.parametrize("provider", ["anthropic.messages", "gemini.contents"])
def test_window_starts_with_a_user(provider: Provider) -> None:
    """A5, G2: what a model said before any user is outside."""
    branch = Branch(provider)
    replied(branch, "Welcome.")
    said(branch, "Hello.")
    replied(branch, "Hello.")
    window = window_for(branch)
    assert window.items == ("i1", "i2")
    assert window.trimmed


def test_greeting_stays_where_it_is_taken() -> None:
    """HI-9: a provider that takes a model's greeting first is served it."""
    branch = Branch("openai.chat")
    replied(branch, "Welcome.")
    said(branch, "Hello.")
    assert window_for(branch).items == ("i0", "i1")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_nothing_stored(provider: Provider) -> None:
    """HI-9: a session without a message has an empty window."""
    window = window_of(Branch(provider), provider=provider, leaf="", now=0)
    assert (window.messages, window.message_count, window.bytes, window.trimmed) == ((), 0, 2, False)


def test_only_the_branch_is_served() -> None:
    """X12: what is on another branch is not served."""
    branch = Branch("openai.chat")
    said(branch, "A cat's name?", id="u1")
    replied(branch, "Miso.", id="a1")
    said(branch, "Another one.", id="u2")
    replied(branch, "Pepper.", id="old")
    assert window_for(branch, leaf="u2").items == ("u1", "a1", "u2")
    replied(branch, "Salt.", id="new", parent="u2")
    assert window_for(branch, leaf="new").items == ("u1", "a1", "u2", "new")


EXPIRING: list[tuple[str, dict[int, float], tuple[str, ...]]] = [
    ("nothing", {}, ("i0", "i1", "i2", "i3", "i4", "i5")),
    ("a result takes its round", {2: 50.0}, ("i0", "i3", "i4", "i5")),
    ("a call takes its result", {1: 50.0}, ("i0", "i3", "i4", "i5")),
    ("a plain answer takes its question", {3: 50.0}, ("i4", "i5")),
    ("a question takes its turn", {0: 50.0}, ("i4", "i5")),
    ("the end itself is too late", {5: 100.0}, ()),
    ("a later one has not come", {5: 100.5}, ("i0", "i1", "i2", "i3", "i4", "i5")),
]


@pytest.mark.parametrize(("why", "ends", "served"), EXPIRING, ids=[row[0] for row in EXPIRING])
def test_expired_exchange_leaves_whole(why: str, ends: dict[int, float], served: tuple[str, ...]) -> None:
    """HI-23: an expired message is never served, and its exchange leaves whole, each item told of."""
    branch = Branch("openai.chat")
    said(branch, "Look.", expires_at=ends.get(0))
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    branch.add({"role": "assistant", "content": None, "tool_calls": calls}, expires_at=ends.get(1))
    branch.add({"role": "tool", "tool_call_id": "c", "content": "seen"}, expires_at=ends.get(2))
    replied(branch, "Seen.", expires_at=ends.get(3))
    said(branch, "And?", expires_at=ends.get(4))
    replied(branch, "Nothing.", expires_at=ends.get(5))
    window = window_for(branch, now=100.0)
    if not served:
        served = ("i0", "i1", "i2", "i3")
    assert window.items == served
    told = {omission.item for omission in window.omissions if omission.reason == "expired"}
    assert told == {item.id for item in branch.items} - set(served)
    assert not window.trimmed


def test_expired_instruction_is_not_served() -> None:
    """HI-23: an instruction has an end as any message has."""
    branch = Branch("openai.chat")
    branch.add({"role": "system", "content": "Until noon: say hello."}, expires_at=50.0)
    branch.add({"role": "system", "content": "Be kind."})
    said(branch, "Hello.")
    window = window_for(branch, now=60.0)
    assert window.items == ("i1", "i2")
    assert window.omissions == (Omission("i0", "expired"),)


def test_instructions_stay_first_wherever_they_were_stored() -> None:
    """X4: an instruction given in the middle is in front, and does not leave with the turn it was given in."""
    branch = Branch("openai.chat")
    branch.add({"role": "system", "content": "Be kind."})
    said(branch, "Hello.")
    branch.add({"role": "developer", "content": "Answer in French."})
    replied(branch, "Bonjour.")
    for _ in range(5):
        said(branch, "Encore.")
        replied(branch, "Bonjour.")
    assert window_for(branch, messages=2).items[:2] == ("i0", "i2")


def test_instruction_that_the_store_does_not_give_apart() -> None:
    """X4: an instruction met on the way is served in front as well."""

    class Leading(Branch):
        def instructions(self) -> list[Item]:
            return self.items[:1]

    branch = Leading("openai.chat")
    branch.add({"role": "system", "content": "Be kind."})
    said(branch, "Hello.")
    branch.add({"role": "developer", "content": "Answer in French."})
    replied(branch, "Bonjour.")
    assert window_for(branch).items == ("i0", "i2", "i1", "i3")


@pytest.mark.parametrize("limit", [2, 128])
@pytest.mark.parametrize("kind", ["ram", "sqlite"])
def test_instructions_of_another_branch_are_not_served(kind: str, limit: int, tmp_path: Path) -> None:
    """X12, X4: of two branches that were given other rules, each is served its own, and what both share."""
    store = RamStore() if kind == "ram" else SqliteStore(tmp_path / "history.sqlite")
    session = History(store, namespace="tests").session("one", provider="openai.chat")
    session.append([item("system", "s1"), item("user", "u1"), item("assistant", "a1")])
    session.append([item("user", "u2"), item("developer", "s2"), item("assistant", "a2"), item("user", "u3")])
    session.append([item("system", "s3", parent="a1"), item("user", "u4"), item("assistant", "a4")])
    limits = Limits(max_messages=limit)
    assert session.window(limits=limits).items[:3] == ("s1", "s3", "u1" if limit > 2 else "u4")
    first = session.window(leaf="a2", limits=limits).items
    assert first[:2] == ("s1", "s2")
    assert "s3" not in first


def item(role: str, name: str, *, parent: str = "") -> NewItem:
    return NewItem({"role": role, "content": f"Words of {name}."}, id=name, parent=parent)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("kind", ["opaque", "removal"])
def test_records_of_others_are_not_messages(provider: Provider, kind: str) -> None:
    """HI-25: another framework's record is in no window."""
    branch = Branch(provider)
    said(branch, "Hello.")
    branch.add({"checkpoint": "..."}, kind=kind)
    assert window_for(branch).items == ("i0",)


def test_cost_does_not_grow_with_the_session() -> None:
    """HI-9, PF-4: a window reads as much of ten thousand messages as of a thousand."""
    read: list[int] = []
    for turns in (250, 2_500):
        branch = Branch("openai.chat")
        for number in range(turns):
            long_turn(branch, 1, text=f"Question {number}?")
            replied(branch, "Answered.")
        branch.read = 0
        window_for(branch)
        read.append(branch.read)
    assert read[0] == read[1] < 256


@pytest.mark.parametrize("provider", PROVIDERS)
def test_index_of_turns_spares_reading_them(provider: Provider) -> None:
    """HI-9: where a store finds the start of a turn, a huge turn is not read; the window is the same."""
    plain, indexed = Branch(provider), IndexedBranch(provider)
    for branch in (plain, indexed):
        long_turn(branch, 1_000)
        branch.read = 0
    assert window_for(plain, messages=20) == window_for(indexed, messages=20)
    assert window_for(indexed, messages=20).items[0] == "i0"
    assert plain.read > 2_000
    assert indexed.read < 100


ODD: list[Message] = [
    {},
    {"role": 7},
    {"role": "assistant", "content": 5, "tool_calls": "none"},
    {"role": "assistant", "content": ["a", None, 3, {"type": "tool_use"}], "tool_calls": [None, {"id": 5}]},
    {"role": "model", "parts": [{"functionCall": "f"}, "x"], "content": {}},
    {"role": "tool", "content": [{"type": "tool-result"}], "tool_call_id": None},
    {
        "role": "user",
        "content": [{"type": "tool_result", "content": {"a": 1}}],
        "parts": [{"functionResponse": {}}],
    },
    {"type": ["reasoning"], "summary": 3},
    {"type": "function_call", "call_id": {"a": 1}},
    {"type": "item_reference", "id": "x"},
]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_odd_messages_are_no_fault_of_the_code(provider: Provider) -> None:
    """HI-11: a message of any shape is served, left out or refused by a rule."""
    for message in ODD:
        branch = Branch(provider)
        said(branch, "Hello.")
        branch.add(message)
        said(branch, "Hello?")
        window_for(branch, repair=True, dialect="stateless strict-alternation mistral")
        try:
            window_for(branch)
        except DecisionHistoryInvalid as refusal:
            assert refusal.rule  # noqa: PT017


def test_refusals_hold_no_content() -> None:
    """HI-12: a refusal names rules, calls and numbers, and no word of a message."""
    branch = Branch("openai.chat")
    said(branch, "SECRET " * 50)
    branch.add({"role": "tool", "tool_call_id": "c9", "content": "SECRET"})
    with pytest.raises(DecisionHistoryInvalid) as invalid:
        window_for(branch)
    with pytest.raises(DecisionHistoryLimitExceeded) as limit:
        window_for(branch, limits=Limits(128, 10))
    assert "SECRET" not in f"{invalid.value!r}{limit.value!r}"
    assert invalid.value.calls == ("c9",)
