"""Which calls are open, in the words of each provider (HI-13, O05, O12)."""

from typing import Any

import pytest

from lastro.history import History, Pins
from lastro.history.errors import DecisionHistoryInvalid
from lastro.history.records import Message, Provider


def chat(*ids: str) -> Message:
    return {"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": {}} for id in ids]}


def chat_result(id: str) -> Message:
    return {"role": "tool", "tool_call_id": id, "content": "done"}


def gemini(*names: str) -> Message:
    return {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}}} for name in names]}


def gemini_result(*names: str) -> Message:
    parts = [{"functionResponse": {"name": name, "response": {}}} for name in names]
    return {"role": "user", "parts": parts}


def anthropic(*ids: str) -> Message:
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": id, "name": "f", "input": {}} for id in ids],
    }


def anthropic_result(*ids: str) -> Message:
    content = [{"type": "tool_result", "tool_use_id": id, "content": "done"} for id in ids]
    return {"role": "user", "content": content}


def aisdk(*ids: str) -> Message:
    parts = [{"type": "tool-call", "toolCallId": id, "toolName": "f", "input": {}} for id in ids]
    return {"role": "assistant", "content": parts}


def aisdk_result(*ids: str) -> Message:
    output = {"type": "text", "value": "done"}
    parts = [{"type": "tool-result", "toolCallId": id, "toolName": "f", "output": output} for id in ids]
    return {"role": "tool", "content": parts}


def response(id: str) -> Message:
    return {"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"}


def response_result(id: str) -> Message:
    return {"type": "function_call_output", "call_id": id, "output": "done"}


ANSWERED: list[tuple[str, Provider, list[Message], list[Message], list[Message]]] = [
    ("one by one", "openai.chat", [chat("a", "b")], [chat_result("b")], [chat_result("a")]),
    (
        "a run of items",
        "openai.responses",
        [response("a"), response("b")],
        [response_result("b")],
        [response_result("a")],
    ),
    ("all in one message", "anthropic.messages", [anthropic("a", "b")], [anthropic_result("b", "a")], []),
    (
        "in two messages",
        "anthropic.messages",
        [anthropic("a", "b")],
        [anthropic_result("b")],
        [anthropic_result("a")],
    ),
    ("parts", "aisdk.model", [aisdk("a", "b")], [aisdk_result("a")], [aisdk_result("b")]),
    ("by name", "gemini.contents", [gemini("f", "g")], [gemini_result("g", "f")], []),
    ("one name twice", "gemini.contents", [gemini("f", "f")], [gemini_result("f")], [gemini_result("f")]),
]


def session_with(provider: Provider, messages: list[Message]) -> Any:
    session = History().session("s")
    session.append([{"role": "user", "content": "Go."}])
    session.decide(Pins(provider, "m"), lambda _: messages)
    return session


@pytest.mark.parametrize(("why", "provider", "made", "first", "second"), ANSWERED)
def test_each_call_takes_one_result(
    why: str, provider: Provider, made: list[Message], first: list[Message], second: list[Message]
) -> None:
    """HI-13: every call takes its result once, in the form of its provider; one result more is refused."""
    session = session_with(provider, made)
    for results in (first, second):
        if results:
            session.observe(results)
    for results in (first, second):
        if results:
            with pytest.raises(DecisionHistoryInvalid):
                session.observe(results)


@pytest.mark.parametrize("distance", [1, 40, 400])
def test_call_is_found_however_far_back(distance: int) -> None:
    """HI-13: a long-running call stays open while others are made and answered."""
    session = session_with("openai.chat", [chat("far")])
    for number in range(distance):
        session.append([chat(f"c{number}"), chat_result(f"c{number}")])
    session.observe([chat_result("far")])
    with pytest.raises(DecisionHistoryInvalid):
        session.observe([chat_result("far")])


def test_wrong_kind_is_no_result() -> None:
    """HI-13: an output of another kind of call answers none."""
    session = session_with("openai.responses", [response("a")])
    with pytest.raises(DecisionHistoryInvalid):
        session.observe([{"type": "custom_tool_call_output", "call_id": "a", "output": "done"}])
    session.observe([response_result("a")])
