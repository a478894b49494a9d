"""Refusals of history are its own: each has its code, and none of them reaches a provider (HI-20)."""

from collections.abc import Callable

import pytest

from lastro.history import History, Pins, RamStore, Session, Turn
from lastro.history.errors import (
    BY_CODE,
    AgentDecisionProviderSchemaViolation,
    AgentDecisionProviderUnavailable,
    DecisionHistoryError,
)
from lastro.history.records import Message

PINS = Pins("openai.chat", "model-1")
ASKED: list[str] = []


def provider(_: Turn) -> list[Message]:
    ASKED.append("asked")
    return [{"role": "assistant", "content": "Hello."}]


def history(**settings: int) -> History:
    return History(RamStore(max_sessions=1), namespace="n", summarize=lambda _: "", **settings)  # type: ignore[arg-type]


def talked(**settings: int) -> Session:
    session = history(**settings).session("s", provider="openai.chat")
    session.append([{"role": role, "content": "words"} for role in ("user", "assistant") * 4])
    return session


def busy() -> None:
    session = talked()

    def second(_: Turn) -> list[Message]:
        session.decide(PINS, provider)
        return []

    session.decide(PINS, second)


def mismatched() -> None:
    session = talked()
    session.decide(PINS, lambda _: [])
    session.decide(Pins("openai.chat", "model-2"), provider)


def full() -> None:
    host = history()
    host.session("s").append([{"role": "user", "content": "words"}])
    host.session("t").decide(PINS, provider)


def too_long() -> None:
    talked(max_bytes=20).decide(PINS, provider)


def badly_summarized() -> None:
    talked(max_messages=5).decide(PINS, provider)


def broken() -> None:
    session = history().session("s")
    session.append([{"role": "tool", "tool_call_id": "nobody's", "content": "done"}])
    session.decide(PINS, provider)


@pytest.mark.parametrize(
    ("refused", "code"),
    [
        (busy, "decision_history_busy"),
        (mismatched, "decision_history_mismatch"),
        (full, "decision_history_limit_exceeded"),
        (too_long, "decision_history_limit_exceeded"),
        (badly_summarized, "decision_history_summary_invalid"),
        (broken, "decision_history_invalid"),
    ],
)
def test_local_refusal_reaches_no_provider(refused: Callable[[], None], code: str) -> None:
    """HI-20: busy, limit, mismatch, summary, window: each keeps its code, and the provider is not asked."""
    ASKED.clear()
    with pytest.raises(DecisionHistoryError) as refusal:
        refused()
    assert refusal.value.code == code
    assert not isinstance(
        refusal.value, AgentDecisionProviderSchemaViolation | AgentDecisionProviderUnavailable
    )
    assert ASKED == []


def test_codes_are_told_apart() -> None:
    """HI-20: no two refusals share a code, so that a caller knows what to do next."""
    kinds = DecisionHistoryError.__subclasses__()
    assert len({kind.code for kind in kinds}) == len(kinds)
    assert all(BY_CODE[kind.code] is kind for kind in kinds)
