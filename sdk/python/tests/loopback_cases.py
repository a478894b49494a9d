"""Windows that a provider refuses, by rule, each beside the same one put right."""

from dataclasses import dataclass, field
from typing import Any

Messages = list[dict[str, Any]]


@dataclass(frozen=True)
class Pair:
    """A window that breaks one rule, and the window without that fault."""

    rule: str
    why: str
    provider: str
    broken: Messages
    right: Messages
    model: str = ""
    members: dict[str, Any] = field(default_factory=dict)
    knows: Messages = field(default_factory=list)
    right_members: dict[str, Any] | None = None


def ask(text: str = "hi") -> dict[str, Any]:
    return {"role": "user", "content": text}


def chat_calls(*ids: str, **more: Any) -> dict[str, Any]:
    function = {"name": "look", "arguments": "{}"}
    calls = [{"id": each, "type": "function", "function": function} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls, **more}


def chat_result(id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": "42"}


def said(text: str = "yes", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


CHAT = [
    Pair("C1", "a result without its call", "openai.chat", [ask(), chat_result("a")], [ask()]),
    Pair(
        "C1",
        "a result behind another message",
        "openai.chat",
        [ask(), chat_calls("a"), chat_result("a"), ask(), chat_result("a")],
        [ask(), chat_calls("a"), chat_result("a"), ask()],
    ),
    Pair(
        "C1",
        "two results of one call",
        "openai.chat",
        [ask(), chat_calls("a"), chat_result("a"), chat_result("a")],
        [ask(), chat_calls("a"), chat_result("a")],
    ),
    Pair(
        "C2",
        "half of a parallel group",
        "openai.chat",
        [ask(), chat_calls("a", "b"), chat_result("a"), ask()],
        [ask(), chat_calls("a", "b"), chat_result("b"), chat_result("a"), ask()],
    ),
    Pair("C2", "an open call at the end", "openai.chat", [ask(), chat_calls("a")], [ask()]),
    Pair(
        "C4",
        "an assistant message with nothing",
        "openai.chat",
        [ask(), {"role": "assistant", "content": None}],
        [ask(), said()],
    ),
    Pair("C4", "no calls in a list", "openai.chat", [ask(), said(tool_calls=[])], [ask(), said()]),
    Pair(
        "C5",
        "an id twice, at a strict server",
        "openai.chat",
        [ask(), chat_calls("a"), chat_result("a"), chat_calls("a"), chat_result("a")],
        [ask(), chat_calls("a"), chat_result("a"), chat_calls("b"), chat_result("b")],
        model="strict",
    ),
    Pair(
        "C5",
        "an id that Mistral does not take",
        "openai.chat",
        [ask(), chat_calls("call_12345"), chat_result("call_12345")],
        [ask(), chat_calls("abcDEF123"), chat_result("abcDEF123")],
        model="mistral-large",
    ),
    Pair(
        "C6",
        "thinking left out of a turn with a call",
        "openai.chat",
        [ask(), chat_calls("a"), chat_result("a"), said(reasoning_content="hm"), ask()],
        [
            ask(),
            chat_calls("a", reasoning_content="hm"),
            chat_result("a"),
            said(reasoning_content="hm"),
            ask(),
        ],
        model="deepseek-reasoner",
    ),
    Pair(
        "C7",
        "the assistant speaks last",
        "openai.chat",
        [ask(), said()],
        [ask(), said(), ask()],
        model="mistral",
    ),
]


def thought(id: str = "rs_1", **more: Any) -> dict[str, Any]:
    return {"type": "reasoning", "id": id, "summary": [], "encrypted_content": "sealed", **more}


def call(id: str = "c1", item: str = "fc_1", kind: str = "function_call") -> dict[str, Any]:
    return {"type": kind, "id": item, "call_id": id, "name": "look", "arguments": "{}"}


def result(id: str = "c1", kind: str = "function_call") -> dict[str, Any]:
    return {"type": f"{kind}_output", "call_id": id, "output": "42"}


WHOLE = [ask(), thought(), call(), result()]
APPROVAL = {
    "type": "mcp_approval_request",
    "id": "mcpr_1",
    "name": "look",
    "arguments": "{}",
    "server_label": "s",
}
APPROVED = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}

RESPONSES = [
    Pair("R1", "a result without its call", "openai.responses", [ask(), result()], WHOLE),
    Pair(
        "R1",
        "a result before its call",
        "openai.responses",
        [ask(), result(), call()],
        [ask(), call(), result()],
    ),
    Pair("R2", "an open call", "openai.responses", [ask(), thought(), call()], WHOLE),
    Pair("R2", "a call twice", "openai.responses", [ask(), call(), call(item="fc_2"), result()], WHOLE),
    Pair(
        "R3",
        "reasoning before a user's message",
        "openai.responses",
        [*WHOLE, thought("rs_2"), ask()],
        [*WHOLE, ask()],
    ),
    Pair("R3", "reasoning at the end", "openai.responses", [*WHOLE, thought("rs_2")], WHOLE),
    Pair(
        "R4",
        "a call without its reasoning",
        "openai.responses",
        [ask(), call(), result()],
        WHOLE,
        knows=WHOLE,
    ),
    Pair(
        "R5",
        "reasoning that nothing seals",
        "openai.responses",
        [ask(), {**thought(), "encrypted_content": None}, call(), result()],
        WHOLE,
    ),
    Pair("R5", "a reference", "openai.responses", [ask(), {"type": "item_reference", "id": "rs_1"}], [ask()]),
    Pair(
        "R6",
        "reasoning without its summary",
        "openai.responses",
        [ask(), {"type": "reasoning", "id": "rs_1", "encrypted_content": "sealed"}, call(), result()],
        WHOLE,
    ),
    *(
        Pair(
            rule,
            f"half of a {kind} pair",
            "openai.responses",
            [ask(), half],
            [ask(), call(kind=kind), result(kind=kind)],
        )
        for kind in (
            "custom_tool_call",
            "computer_call",
            "local_shell_call",
            "shell_call",
            "apply_patch_call",
        )
        for rule, half in (("R2", call(kind=kind)), ("R1", result(kind=kind)))
    ),
    Pair(
        "R2",
        "an approval that is missing",
        "openai.responses",
        [ask(), APPROVAL],
        [ask(), APPROVAL, APPROVED],
    ),
    Pair("R1", "an approval of nothing", "openai.responses", [ask(), APPROVED], [ask(), APPROVAL, APPROVED]),
]


def uses(*ids: str, before: Messages | None = None) -> dict[str, Any]:
    blocks = [{"type": "tool_use", "id": each, "name": "look", "input": {}} for each in ids]
    return {"role": "assistant", "content": [*(before or []), *blocks]}


def results(*ids: str, text: str = "") -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": each, "content": "42"} for each in ids]
    return {"role": "user", "content": [*blocks, *([{"type": "text", "text": text}] if text else [])]}


THINKING = {"type": "thinking", "thinking": "hm", "signature": "sig"}
ON = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
THOUGHT = [ask(), uses("a", before=[THINKING]), results("a")]
SEARCH = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}
TEXT = {"type": "text", "text": "so"}
CLAUDE = "claude-loopback"

ANTHROPIC = [
    Pair(
        "A1",
        "a result without its call",
        "anthropic.messages",
        [ask(), said(), results("a")],
        [ask(), said(), ask()],
    ),
    Pair(
        "A1",
        "a result one message late",
        "anthropic.messages",
        [ask(), uses("a"), results("a"), said(), results("a")],
        [ask(), uses("a"), results("a"), said(), ask()],
    ),
    Pair(
        "A2",
        "half of a group",
        "anthropic.messages",
        [ask(), uses("a", "b"), results("a")],
        [ask(), uses("a", "b"), results("b", "a")],
    ),
    Pair(
        "A2",
        "words before the results",
        "anthropic.messages",
        [ask(), uses("a"), {"role": "user", "content": [TEXT, *results("a")["content"]]}],
        [ask(), uses("a"), results("a", text="so")],
    ),
    Pair("A2", "an open call", "anthropic.messages", [ask(), uses("a")], [ask(), uses("a"), results("a")]),
    Pair(
        "A3",
        "an id twice",
        "anthropic.messages",
        [ask(), uses("a"), results("a"), uses("a"), results("a")],
        [ask(), uses("a"), results("a"), uses("b"), results("b")],
    ),
    Pair(
        "A4",
        "an empty text",
        "anthropic.messages",
        [ask(), {"role": "assistant", "content": [{"type": "text", "text": ""}]}, ask()],
        [ask(), said(), ask()],
    ),
    Pair(
        "A4",
        "an empty content",
        "anthropic.messages",
        [ask(), {"role": "assistant", "content": []}, ask()],
        [ask(), said(), ask()],
    ),
    Pair("A5", "the assistant speaks first", "anthropic.messages", [said(), ask()], [ask(), said(), ask()]),
    Pair(
        "A6",
        "thinking without its signature",
        "anthropic.messages",
        [ask(), uses("a", before=[{**THINKING, "signature": ""}]), results("a")],
        THOUGHT,
    ),
    Pair(
        "A6", "thinking left out", "anthropic.messages", [ask(), uses("a"), results("a")], THOUGHT, members=ON
    ),
    Pair(
        "A6",
        "thinking changed",
        "anthropic.messages",
        [ask(), uses("a", before=[{**THINKING, "thinking": "hm."}]), results("a")],
        THOUGHT,
        knows=THOUGHT,
    ),
    Pair("A7", "the assistant speaks last", "anthropic.messages", [ask(), said()], [ask()], model=CLAUDE),
    Pair(
        "A8",
        "calls without a tool list",
        "anthropic.messages",
        THOUGHT,
        THOUGHT,
        members={"tools": []},
        right_members={},
    ),
    Pair(
        "A9",
        "two of one role, at Bedrock",
        "anthropic.messages",
        [ask(), ask()],
        [ask(), said(), ask()],
        model="bedrock",
    ),
    Pair(
        "A9",
        "words behind a call",
        "anthropic.messages",
        [ask(), {"role": "assistant", "content": [*uses("a")["content"], TEXT]}, results("a")],
        [ask(), uses("a", before=[TEXT]), results("a")],
    ),
    Pair(
        "A10",
        "a server's call without its result",
        "anthropic.messages",
        [ask(), {"role": "assistant", "content": [SEARCH, TEXT]}, ask()],
        [ask(), {"role": "assistant", "content": [SEARCH, FOUND, TEXT]}, ask()],
    ),
]


def turn(*parts: dict[str, Any], role: str = "user") -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


WORD = {"text": "hi"}


def asks(name: str = "look", **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}}, **more}


def gives(name: str = "look", **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": 42}, **more}}


SIGNED = asks(thoughtSignature="c2ln")
LOOP = [turn(WORD), turn(SIGNED, role="model"), turn(gives())]

GEMINI = [
    Pair(
        "G1",
        "one response to two calls",
        "gemini.contents",
        [turn(WORD), turn(SIGNED, asks(), role="model"), turn(gives())],
        [turn(WORD), turn(SIGNED, asks(), role="model"), turn(gives(), gives())],
    ),
    Pair(
        "G1",
        "another function's response",
        "gemini.contents",
        [turn(WORD), turn(SIGNED, role="model"), turn(gives("find"))],
        LOOP,
    ),
    Pair(
        "G1",
        "a response to nothing",
        "gemini.contents",
        [turn(WORD), turn(WORD, role="model"), turn(gives())],
        LOOP,
    ),
    Pair(
        "G1",
        "another call's id",
        "gemini.contents",
        [
            turn(WORD),
            turn({**SIGNED, "functionCall": {"id": "1", "name": "look", "args": {}}}, role="model"),
            turn(gives(id="2")),
        ],
        [
            turn(WORD),
            turn({**SIGNED, "functionCall": {"id": "1", "name": "look", "args": {}}}, role="model"),
            turn(gives(id="1")),
        ],
    ),
    Pair("G1", "an open call", "gemini.contents", LOOP[:2], LOOP),
    Pair(
        "G2",
        "a call behind what the model said",
        "gemini.contents",
        [turn(WORD), turn(WORD, role="model"), *LOOP[1:]],
        LOOP,
    ),
    Pair(
        "G2",
        "the model speaks first",
        "gemini.contents",
        [turn(WORD, role="model"), turn(WORD)],
        [turn(WORD)],
    ),
    Pair(
        "G3",
        "a call of this turn without its signature",
        "gemini.contents",
        [turn(WORD), turn(asks(), role="model"), turn(gives())],
        LOOP,
    ),
    Pair(
        "G3",
        "a signature in another part",
        "gemini.contents",
        [turn(WORD), turn({**SIGNED, **asks("find")}, role="model"), turn(gives("find"))],
        LOOP,
        knows=LOOP,
    ),
    Pair(
        "G5",
        "a content without parts",
        "gemini.contents",
        [turn(WORD), turn(role="model"), turn(WORD)],
        [turn(WORD)],
    ),
    Pair("G5", "a part with nothing", "gemini.contents", [turn({})], [turn(WORD)]),
]
