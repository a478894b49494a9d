"""Windows of made-up conversations, at every limit: the invariants of each provider hold (HI-9 to HI-11)."""

import copy
import json
from typing import Any

import pytest
from conversations.account import account_of
from conversations.generators import (
    NOW,
    PROVIDERS,
    Conversation,
    broken_conversations,
    conversations,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lastro.history.errors import DecisionHistoryInvalid, DecisionHistoryLimitExceeded
from lastro.history.records import Provider
from lastro.history.windows import Limits, Window, window_of
from lastro.invariants import violations

MANY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
EVERYTHING = Limits(10**6, 10**9)


def window_for(conversation: Conversation, limits: Limits, **more: Any) -> Window:
    provider = conversation.branch.provider
    return window_of(
        conversation.branch, provider=provider, leaf=conversation.leaf, now=NOW, limits=limits, **more
    )


def limits_for(conversation: Conversation) -> list[Limits]:
    """Give every number of messages, and a bound of bytes for each message that could be the first one out."""
    count = len(conversation.path)
    sizes = [len(json.dumps(item.message, ensure_ascii=False).encode()) for item in conversation.path]
    return [
        *(Limits(number, 10**9) for number in range(count + 2)),
        *(Limits(10**6, sum(sizes[place:])) for place in range(count)),
    ]


def require_invariants(conversation: Conversation, window: Window, limits: Limits) -> None:
    path = conversation.path
    found = violations(
        conversation.branch.provider,
        window.messages,
        stored=[item.message for item in path],
        account=account_of(window, [item.id for item in path]),
        limits=limits,
    )
    assert not found, found


@pytest.mark.parametrize("provider", PROVIDERS)
def test_invariants_at_every_limit(provider: Provider) -> None:
    """HI-11, HI-9: what came about as it should is never refused as broken, and every window keeps the invariants."""

    @MANY
    @given(conversations(provider))
    def check(conversation: Conversation) -> None:
        before = copy.deepcopy(conversation.branch.items)
        for limits in limits_for(conversation):
            try:
                window = window_for(conversation, limits)
            except DecisionHistoryLimitExceeded as refusal:
                assert refusal.needed > refusal.allowed
                continue
            require_invariants(conversation, window, limits)
            assert window == window_for(conversation, limits)
        assert conversation.branch.items == before

    check()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_broken_histories(provider: Provider) -> None:
    """HI-11: a broken history is refused by its rule, or served repaired, acceptable and accounted for."""

    @MANY
    @given(broken_conversations(provider), st.integers(0, 40))
    def check(conversation: Conversation, count: int) -> None:
        for limits in (Limits(count), EVERYTHING):
            try:
                require_invariants(conversation, window_for(conversation, limits, repair=True), limits)
                require_invariants(conversation, window_for(conversation, limits), limits)
            except (DecisionHistoryLimitExceeded, DecisionHistoryInvalid):
                continue

    check()
