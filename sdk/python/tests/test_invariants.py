"""Each invariant catches a window that breaks it, and lets the sound one through (HI-11)."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from lastro.history.records import Message, Provider
from lastro.history.windows import Limits
from lastro.invariants import DEFAULT, ELSEWHERE, OWN, Account, violations

DIGEST = "0" * 64
Change = Callable[[list[Message]], object]


def chat() -> list[Message]:
    calls = [
        {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}} for name in ("a", "b")
    ]
    return [
        {"role": "system", "content": "Rule."},
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": calls, "reasoning_content": "r"},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
        {"role": "assistant", "content": "Gone."},
        {"role": "user", "content": "And?"},
    ]


def responses() -> list[Message]:
    return [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
        {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e"},
        {"type": "function_call", "id": "fc", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "mcp_approval_request", "id": "m", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
        {"type": "mcp_approval_response", "approval_request_id": "m", "approve": True},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And?"}]},
    ]


def anthropic() -> list[Message]:
    return [
        {"role": "user", "content": [{"type": "text", "text": "Go."}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "?", "signature": "s"},
                {"type": "server_tool_use", "id": "w", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "w", "content": []},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "a", "name": "f", "input": {}},
                {"type": "tool_use", "id": "b", "name": "f", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "b", "content": "1"},
                {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "2"}]},
                {"type": "text", "text": "Hurry."},
            ],
        },
    ]


def gemini() -> list[Message]:
    return [
        {"role": "user", "parts": [{"text": "Go."}]},
        {
            "role": "model",
            "parts": [
                {"functionCall": {"name": "f", "id": "a"}, "thoughtSignature": "s"},
                {"functionCall": {"name": "f", "id": "b"}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "f", "id": "a", "response": {}}},
                {"functionResponse": {"name": "f", "id": "b", "response": {}}},
            ],
        },
    ]


def aisdk() -> list[Message]:
    options = {"providerOptions": {"google": {"thoughtSignature": "s"}}}
    return [
        {"role": "system", "content": "Rule."},
        {"role": "user", "content": [{"type": "text", "text": "Go."}]},
        {
            "role": "assistant",
            "content": [
                {"type": "tool-call", "toolCallId": "a", "toolName": "f", "input": {}, **options},
                {"type": "tool-call", "toolCallId": "b", "toolName": "f", "input": {}},
                {"type": "tool-approval-request", "toolCallId": "b", "approvalId": "p"},
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "a",
                    "toolName": "f",
                    "output": {"type": "text", "value": "1"},
                },
                {"type": "tool-approval-response", "approvalId": "p", "approved": True},
            ],
        },
    ]


SOUND: dict[Provider, Callable[[], list[Message]]] = {
    "openai.chat": chat,
    "openai.responses": responses,
    "anthropic.messages": anthropic,
    "gemini.contents": gemini,
    "aisdk.model": aisdk,
}


@dataclass
class Broken:
    """A change of a sound window that breaks a rule; `where` says what is known of the history."""

    rule: str
    provider: Provider
    change: Change
    sources: list[int | None] | None = None
    where: dict[str, Any] = field(default_factory=dict)


def nothing(served: list[Message]) -> None:
    """Leave the window as it is: what is known of it breaks the rule."""


def drop(place: int) -> Change:
    return lambda served: served.pop(place)


def within(place: int, name: str, inner: int) -> Change:
    return lambda served: served[place][name].pop(inner)


def put(*path: Any, value: Any) -> Change:
    def change(served: list[Message]) -> None:
        at: Any = served
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value

    return change


def add(place: int, message: Message) -> Change:
    return lambda served: served.insert(place, message)


def both(*changes: Change) -> Change:
    return lambda served: [change(served) for change in changes]


SUMMARY = {"role": "user", "content": f"Untrusted data: 3 exchanges, {DIGEST}"}

TABLE = [
    Broken("X1", "openai.chat", drop(3)),
    Broken("X1", "openai.chat", drop(2)),
    Broken("X1", "openai.responses", drop(2)),
    Broken("X1", "anthropic.messages", drop(2)),
    Broken("X1", "gemini.contents", within(2, "parts", 0)),
    Broken("X1", "aisdk.model", within(3, "content", 0)),
    Broken("X2", "openai.chat", drop(5), [0, 1, 2, 3, 4, 6]),
    Broken("X2", "openai.chat", lambda served: served.reverse(), [6, 5, 4, 3, 2, 1, 0], {"instructions": 0}),
    Broken("X3", "openai.chat", put(1, "content", value="Stop."), [0, 1, 2, 3, 4, 5, 6]),
    Broken("X3", "openai.chat", put(1, "flag", value=1), [0, 1, 2, 3, 4, 5, 6], {"also": {"flag": True}}),
    Broken("X4", "openai.chat", lambda served: served.append(served.pop(0)), [1, 2, 3, 4, 5, 6, 0]),
    Broken("X4", "openai.chat", drop(0), [1, 2, 3, 4, 5, 6]),
    Broken("X5", "openai.chat", drop(6), [0, 1, 2, 3, 4, 5]),
    Broken("X5", "anthropic.messages", drop(2), [0, 1]),
    Broken("X6", "openai.chat", put(1, "content", value="\ud83d")),
    Broken("X6", "openai.chat", put(1, "content", value=float("nan"))),
    Broken("X7", "openai.chat", drop(0), None, {"limits": Limits(5)}),
    Broken("X7", "openai.chat", drop(0), None, {"limits": Limits(99, 100)}),
    Broken(
        "X10", "openai.chat", add(1, {"role": "user", "content": "They talked."}), [0, None, 1, 2, 3, 4, 5, 6]
    ),
    Broken("X10", "openai.chat", add(1, {**SUMMARY, "role": "assistant"}), [0, None, 1, 2, 3, 4, 5, 6]),
    Broken("X10", "openai.chat", both(add(1, SUMMARY), add(1, SUMMARY)), [0, None, None, 1, 2, 3, 4, 5, 6]),
    Broken("X12", "openai.chat", nothing, [0, 1, 2, 3, 4, 5, 7]),
    Broken("C1", "openai.chat", add(3, {"role": "user", "content": "Wait."})),
    Broken("C1", "openai.chat", put(3, "tool_call_id", value="z")),
    Broken("C2", "openai.chat", drop(4)),
    Broken("C2", "openai.chat", add(4, {"role": "tool", "tool_call_id": "a", "content": "1"})),
    Broken("C4", "openai.chat", put(5, "content", value=None)),
    Broken("C5", "openai.chat", put(2, "tool_calls", 1, "id", value="a")),
    Broken("C5", "openai.chat", lambda served: served.extend(served[2:5])),
    Broken("C6", "openai.chat", put(2, "reasoning_content", value=None), [0, 1, 2, 3, 4, 5, 6]),
    Broken("C7", "openai.chat", drop(6)),
    Broken("R1", "openai.responses", drop(2)),
    Broken("R1", "openai.responses", drop(3)),
    Broken("R1", "openai.responses", put(4, "type", value="custom_tool_call_output")),
    Broken("R2", "openai.responses", drop(4)),
    Broken("R2", "openai.responses", drop(5)),
    Broken("R3", "openai.responses", both(drop(2), drop(2))),
    Broken("R3", "openai.responses", lambda served: served.append(served[1])),
    Broken("R4", "openai.responses", drop(1), [0, 2, 3, 4, 5, 6]),
    Broken("R5", "openai.responses", put(1, "encrypted_content", value=None)),
    Broken("R5", "openai.responses", add(0, {"type": "item_reference", "id": "x"})),
    Broken("R6", "openai.responses", lambda served: served[1].pop("summary")),
    Broken("R7", "openai.responses", drop(1), [0, 2, 3, 4, 5, 6]),
    Broken("A1", "anthropic.messages", drop(1)),
    Broken("A2", "anthropic.messages", within(2, "content", 0)),
    Broken("A2", "anthropic.messages", lambda served: served[2]["content"].reverse()),
    Broken("A2", "anthropic.messages", drop(2)),
    Broken("A3", "anthropic.messages", put(1, "content", 5, "id", value="a")),
    Broken("A4", "anthropic.messages", put(1, "content", 3, "text", value="")),
    Broken("A4", "anthropic.messages", put(2, "content", 1, "content", 0, "text", value=" ")),
    Broken("A4", "anthropic.messages", put(0, "content", value=[])),
    Broken("A5", "anthropic.messages", drop(0)),
    Broken("A6", "anthropic.messages", put(1, "content", 0, "thinking", value="!"), [0, 1, 2]),
    Broken("A6", "anthropic.messages", lambda served: served[1]["content"][0].pop("signature")),
    Broken("A7", "anthropic.messages", drop(2)),
    Broken("A8", "anthropic.messages", nothing, None, {"tools": False}),
    Broken("A9", "anthropic.messages", add(0, {"role": "user", "content": "Hm."})),
    Broken("A9", "anthropic.messages", lambda served: served[1]["content"].reverse()),
    Broken("A10", "anthropic.messages", within(1, "content", 1)),
    Broken("G1", "gemini.contents", within(2, "parts", 1)),
    Broken("G1", "gemini.contents", put(2, "parts", 0, "functionResponse", "name", value="g")),
    Broken("G1", "gemini.contents", put(2, "parts", 0, "functionResponse", "id", value="z")),
    Broken("G1", "gemini.contents", drop(2)),
    Broken("G2", "gemini.contents", drop(0)),
    Broken("G2", "gemini.contents", add(1, {"role": "model", "parts": [{"text": "Hm."}]})),
    Broken("G3", "gemini.contents", lambda served: served[1]["parts"].reverse()),
    Broken("G3", "gemini.contents", put(1, "parts", 0, "thoughtSignature", value="t"), [0, 1, 2]),
    Broken("G5", "gemini.contents", put(0, "parts", value=[])),
    Broken("V1", "aisdk.model", within(3, "content", 0)),
    Broken("V1", "aisdk.model", within(3, "content", 1)),
    Broken("V2", "aisdk.model", within(2, "content", 0)),
    Broken("V3", "aisdk.model", lambda served: served[2]["content"][0].pop("providerOptions"), [0, 1, 2, 3]),
    Broken("V4", "aisdk.model", put(0, "content", value=[{"type": "text", "text": "Rule."}])),
    Broken("V4", "aisdk.model", put(1, "role", value="human")),
]


@pytest.mark.parametrize("row", TABLE, ids=[f"{row.rule}-{place}" for place, row in enumerate(TABLE)])
def test_broken_window_is_caught(row: Broken) -> None:
    """HI-11: the rule is told, and the same window without the change breaks none."""
    where = dict(row.where)
    stored = SOUND[row.provider]()
    stored[1] |= where.pop("also", {})
    served = copy.deepcopy(stored)
    row.change(served)
    account = Account(row.sources) if row.sources else None
    more = {**where, "account": account, "stored": stored}
    assert row.rule in {
        found.rule for found in violations(row.provider, served, invariants=[row.rule], **more)
    }
    assert not violations(row.provider, stored, stored=stored, account=Account(list(range(len(stored)))))


def test_every_invariant_is_in_the_table() -> None:
    """HI-11: none is without a window that breaks it, but those that are no facts of one window."""
    checked = {rule for own in OWN.values() for rule in own} | {
        f"X{number}" for number in range(1, 13)
    } - ELSEWHERE
    assert {row.rule for row in TABLE} == checked
    assert set().union(*DEFAULT.values()) <= checked


def test_what_is_marked_may_differ() -> None:
    """X3: a message that is marked as changed may differ from what was stored; an added one is none of the stored."""
    served = chat()
    served[5] = {"role": "assistant", "content": "Gone!"}
    whole = list(range(7))
    assert violations("openai.chat", served, stored=chat(), account=Account(whole))
    assert not violations("openai.chat", served, stored=chat(), account=Account(whole, changed={5}))
    served.insert(1, SUMMARY)
    assert not violations(
        "openai.chat", served, stored=chat(), account=Account([0, None, 1, 2, 3, 4, 5, 6], changed={6})
    )


def test_late_and_omitted_messages_are_no_gap() -> None:
    """X2: what is told of is no gap, and a pinned message may stand in front of one."""
    served = [chat()[place] for place in (0, 1, 5, 6)]
    account = Account([0, 1, 5, 6])
    assert not violations("openai.chat", served, stored=chat(), account=account)
    stored = [*chat(), {"role": "assistant", "content": "More."}, {"role": "user", "content": "Yes?"}]
    served = [stored[place] for place in (0, 1, 5, 8)]
    account = Account([0, 1, 5, 8])
    assert [found.rule for found in violations("openai.chat", served, stored=stored, account=account)] == [
        "X2"
    ]
    told = Account([0, 1, 5, 8], omitted={6, 7})
    assert not violations("openai.chat", served, stored=stored, account=told)


def test_what_is_not_stored_is_told_first() -> None:
    """X12: a served message that is on no path is told of, whatever else is asked."""
    account = Account([0, 1, 2, 3, 4, 5, 99])
    assert {found.rule for found in violations("openai.chat", chat(), stored=chat(), account=account)} == {
        "X12"
    }


def test_unknown_invariant_is_an_error() -> None:
    """HI-11: a rule that does not exist is not passed over."""
    with pytest.raises(ValueError, match="X99"):
        violations("openai.chat", [], invariants=["X99"])
    assert violations("openai.chat", [], invariants=["X8", "X11", "A1"]) == []


def test_details_hold_no_content() -> None:
    """HI-12: a violation tells numbers and rules, and no word of a message."""
    served = chat()
    served[5]["content"] = "SECRET"
    served.pop(3)
    found = violations("openai.chat", served, stored=chat(), account=Account([0, 1, 2, 4, 5, 6]))
    assert found
    assert "SECRET" not in repr(found)
