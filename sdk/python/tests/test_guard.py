"""The token guard: what it reserves, what leaves, what it refuses (HI-14 to HI-17)."""

import json
from collections.abc import Callable
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastro.history.errors import (
    DecisionHistoryMessageInvalid,
    ProviderContextCountUnavailable,
    ProviderContextWindowExceeded,
)
from lastro.history.events import ProviderContextCount
from lastro.history.guard import (
    Fitted,
    Plan,
    Request,
    TokenGuard,
    fitted,
    require_countable,
    serialized,
)
from lastro.history.records import Message, Provider
from lastro.history.steps import Steps, taken
from lastro.history.windows import Window

CASES = Path(__file__).parent / "history_cases"
WIDE = TokenGuard(context_window_tokens=1_000_000)


def window(*messages: Message) -> Window:
    return Window(messages=messages, items=(), message_count=len(messages), bytes=0)


def user(text: str) -> Message:
    return {"role": "user", "content": text}


class Loop:
    """Runs the guard over windows of one message an exchange, oldest first to leave."""

    def __init__(self, guard: TokenGuard, tokens: Callable[[str], Any], *messages: Message) -> None:
        self.guard, self.tokens, self.messages = guard, tokens, messages
        self.seen: list[str] = []
        self.events: list[Any] = []

    def shorter(self, left: Window) -> Steps[Window | None]:
        return window(*left.messages[1:]) if len(left.messages) > 1 else None
        yield

    def count(self, request: Request) -> Any:
        self.seen.append(serialized(request))
        return self.tokens(self.seen[-1])

    def run(self, *, max_output_tokens: int = 100, **members: Any) -> Fitted:
        plan = Plan(
            provider="openai.chat",
            request_of=lambda left: {"model": "m", "messages": list(left.messages), **members},
            count=self.count,
            shorter=self.shorter,
            max_output_tokens=max_output_tokens,
            on_event=self.events.append,
        )
        return taken(fitted(self.guard, window(*self.messages), plan))


def test_the_whole_request_is_counted_and_the_reserve_rounds_up() -> None:
    """HI-14: instructions, tools, schemas and metadata are counted; ceil(1001 x 1.2) is 1202, not 1201 (case O20)."""
    case = json.loads((CASES / "O20-counting.json").read_text())
    given, expect = case["input"], case["expect"]["facts"]
    loop = Loop(WIDE, lambda _: given["counter_stub"]["returns"], *given["messages"])
    loop.run(
        max_output_tokens=case["operation"]["args"]["maxOutputTokens"],
        tools=given["tools"],
        metadata={"ledger": "east"},
    )
    for part in (*expect["counter_saw"], "parameters", "ledger"):
        assert part in loop.seen[0]
    assert [event.reservation for event in loop.events] == [expect["reserve_tokens"]]


@pytest.mark.parametrize("written", [1.2, "1.2", Decimal("1.2"), "6/5"])
@pytest.mark.parametrize(
    ("tokens", "reserved"), [(0, 512), (5, 518), (10, 524), (1001, 1714), (10**18, 12 * 10**17 + 512)]
)
def test_the_multiplier_is_exact(written: Any, tokens: int, reserved: int) -> None:
    """HI-14: 10 x 1.2 is 12, not the 13 of a float's error; a host's decimal context changes nothing."""
    guard = TokenGuard(context_window_tokens=1, input_token_multiplier=written)
    with localcontext(prec=2):
        assert guard.reserved(tokens, max_output_tokens=0) == reserved


@given(tokens=st.integers(0, 10**9), output=st.integers(0, 10**6), hundredths=st.integers(100, 400))
def test_the_reserve_is_the_smallest_that_covers(tokens: int, output: int, hundredths: int) -> None:
    """HI-14: in whole numbers the reserve covers the multiplied input, and one token less does not."""
    guard = TokenGuard(
        context_window_tokens=1, input_token_multiplier=f"{hundredths}/100", safety_margin_tokens=7
    )
    own = guard.reserved(tokens, max_output_tokens=output) - 7 - output
    assert (own - 1) * 100 < tokens * hundredths <= own * 100


@pytest.mark.parametrize(
    "bad",
    [
        {"context_window_tokens": 0},
        {"safety_margin_tokens": -1},
        {"input_token_multiplier": "0.9"},
        {"input_token_multiplier": "much"},
        {"input_token_multiplier": float("nan")},
        {"input_token_multiplier": float("inf")},
    ],
)
def test_bounds_that_are_none_are_refused(bad: dict[str, Any]) -> None:
    """HI-14: a ceiling or margin that cannot hold is refused when it is set."""
    with pytest.raises((ValueError, OverflowError)):
        TokenGuard(**{"context_window_tokens": 10, **bad})


def test_one_exchange_leaves_at_a_time_until_it_fits() -> None:
    """HI-15: over the ceiling the oldest leaves and it is counted again; HI-17: each count is an event of numbers."""
    guard = TokenGuard(context_window_tokens=1000, input_token_multiplier=1, safety_margin_tokens=0)
    loop = Loop(guard, lambda text: 200 * text.count("word"), *(user(f"word{n}") for n in range(8)))
    fit = loop.run()
    assert [message["content"] for message in fit.window.messages] == ["word4", "word5", "word6", "word7"]
    assert [event.count for event in loop.events] == [1600, 1400, 1200, 1000, 800]
    assert [event.fits for event in loop.events] == [False, False, False, False, True]
    assert fit.request["messages"] == list(fit.window.messages)
    names = ("provider", "count", "reservation", "window", "fits")
    assert ProviderContextCount.__slots__ == names
    assert loop.events[-1] == ProviderContextCount(
        provider="openai.chat", count=800, reservation=900, window=1000, fits=True
    )


def test_exactly_the_ceiling_fits() -> None:
    """HI-15: a reserve of the ceiling itself is within it, one token more is not."""
    guard = TokenGuard(context_window_tokens=2112)
    Loop(guard, lambda _: 1250, user("a")).run()
    with pytest.raises(ProviderContextWindowExceeded) as refused:
        Loop(guard, lambda _: 1251, user("a")).run()
    assert (refused.value.reserved, refused.value.allowed) == (2114, 2112)


def test_what_must_stay_and_does_not_fit_is_refused() -> None:
    """HI-15: when only the latest is left and it does not fit: ProviderContextWindowExceeded, naming both numbers."""
    loop = Loop(TokenGuard(context_window_tokens=1000), lambda _: 900, user("a"), user("CANARY"))
    with pytest.raises(ProviderContextWindowExceeded) as refused:
        loop.run()
    assert len(loop.events) == 2
    assert (refused.value.reserved, refused.value.allowed) == (1692, 1000)
    assert "CANARY" not in f"{refused.value!r}{loop.events!r}"


@pytest.mark.parametrize("count", [None, "12", 12.0, True, -1])
def test_a_count_that_is_none_is_refused(count: Any) -> None:
    """HI-15: a counter that gives no whole number of tokens is an unavailable count."""
    with pytest.raises(ProviderContextCountUnavailable):
        Loop(WIDE, lambda _: count, user("a")).run()


RESPONSES = {"model": "m", "input": [], "store": False, "metadata": {"a": "b"}, "truncation": "disabled"}
GEMINI: dict[str, Any] = {"contents": [], "generationConfig": {}}
CLAUDE = {"model": "m", "messages": [], "max_tokens": 5, "thinking": {"type": "enabled"}}
# (why, provider, a request that is counted, what makes it one that is not, the word that the refusal must name)
UNCOUNTABLE: list[tuple[str, Provider, dict[str, Any], dict[str, Any], str]] = [
    (
        "state at the provider",
        "openai.responses",
        RESPONSES,
        {"previous_response_id": "resp_1"},
        "previous_response_id",
    ),
    ("a conversation", "openai.responses", RESPONSES, {"conversation": {"id": "conv_1"}}, "conversation"),
    ("automatic truncation", "openai.responses", RESPONSES, {"truncation": "auto"}, "truncation"),
    ("a stored prompt", "openai.responses", RESPONSES, {"prompt": {"id": "pmpt_1"}}, "prompt"),
    ("automatic compaction", "openai.responses", RESPONSES, {"context_management": []}, "context_management"),
    (
        "a reference",
        "openai.responses",
        RESPONSES,
        {"input": [{"type": "item_reference", "id": "rs_1"}]},
        "reference",
    ),
    ("a cache", "gemini.contents", GEMINI, {"cachedContent": "cachedContents/1"}, "cachedContent"),
    ("a container", "anthropic.messages", CLAUDE, {"container": "c_1"}, "container"),
    (
        "automatic clearing",
        "anthropic.messages",
        CLAUDE,
        {"context_management": {"edits": []}},
        "context_management",
    ),
    ("a member unknown to us", "openai.chat", {"model": "m", "messages": []}, {"recall": True}, "recall"),
]


@pytest.mark.parametrize(
    ("why", "provider", "good", "bad", "named"), UNCOUNTABLE, ids=[row[0] for row in UNCOUNTABLE]
)
def test_what_cannot_be_counted_is_refused(
    why: str, provider: Provider, good: dict[str, Any], bad: dict[str, Any], named: str
) -> None:
    """HI-16: hidden state, automatic truncation and caches are refused by name; without them it is counted."""
    with pytest.raises(ProviderContextCountUnavailable) as refused:
        require_countable(provider, {**good, **bad})
    assert named in str(refused.value)
    require_countable(provider, good)
    require_countable(provider, {**good, **dict.fromkeys(bad)} | {"input": good.get("input")})


def test_another_format_needs_an_adapter() -> None:
    """HI-16: a format without a provider's endpoint behind it is not counted."""
    with pytest.raises(ProviderContextCountUnavailable):
        require_countable("aisdk.model", {})


def test_the_counter_sees_strict_json() -> None:
    """HI-14, X6: nothing is cut or normalized; a lone surrogate, and a number that is none, are refused."""
    text = "e\u0301\U0001f600\u2028"
    assert json.loads(serialized({"a": text})) == {"a": text}
    assert text in serialized({"a": text})
    for bad in ("\ud800", float("nan"), object()):
        with pytest.raises(DecisionHistoryMessageInvalid):
            serialized({"a": bad})
