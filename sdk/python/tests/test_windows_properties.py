"""Windows of made-up conversations, at every limit: the invariants of each provider hold (HI-9 to HI-11)."""

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from conversations.account import account_of
from conversations.branch import IndexedBranch
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
from lastro.history.formats import is_instruction, opens_turn
from lastro.history.records import Provider
from lastro.history.windows import Limits, Window, window_of
from lastro.invariants import violations

EVERYTHING = Limits(10**6, 10**9)
Check = Callable[[Conversation, list[Limits]], None]


def some(examples: int) -> settings:
    return settings(
        max_examples=examples, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )


def window_for(conversation: Conversation, limits: Limits, **more: Any) -> Window:
    provider = conversation.branch.provider
    leaf = conversation.leaf
    return window_of(conversation.branch, provider=provider, leaf=leaf, now=NOW, limits=limits, **more)


def answer_for(conversation: Conversation, limits: Limits) -> Window | DecisionHistoryLimitExceeded:
    try:
        return window_for(conversation, limits)
    except DecisionHistoryLimitExceeded as refusal:
        return refusal


def limits_for(conversation: Conversation) -> list[Limits]:
    """Give every number of messages, and a bound of bytes for each message that could be the first one out."""
    count = len(conversation.path)
    sizes = [len(json.dumps(item.message, ensure_ascii=False).encode()) for item in conversation.path]
    return [
        *(Limits(number, 10**9) for number in range(count + 2)),
        *(Limits(10**6, sum(sizes[place:])) for place in range(count)),
    ]


def hold(provider: Provider, check: Check, *, examples: int, share: float, expiring: bool = True) -> None:
    """Hold a property against conversations, each at a share of the limits there are."""

    @some(examples)
    @given(conversations(provider, expiring=expiring), st.integers(0, 2**32))
    def held(conversation: Conversation, seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311
        check(conversation, [limits for limits in limits_for(conversation) if chance.random() < share])

    held()


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


def keeps_invariants(conversation: Conversation, bounds: list[Limits]) -> None:
    before = copy.deepcopy(conversation.branch.items)
    for limits in bounds:
        answer = answer_for(conversation, limits)
        if isinstance(answer, Window):
            require_invariants(conversation, answer, limits)
            assert answer == answer_for(conversation, limits)
            require_same_by_index(conversation, answer, limits)
    assert conversation.branch.items == before


def require_same_by_index(conversation: Conversation, window: Window, limits: Limits) -> None:
    """An index pins a message of the user's alone; where words beside results opened a turn, that is an earlier one."""
    other = answer_for(indexed(conversation), limits)
    assert isinstance(other, Window)
    require_invariants(conversation, other, limits)
    if conversation.branch.provider not in ("anthropic.messages", "gemini.contents"):
        assert other == window


def indexed(conversation: Conversation) -> Conversation:
    """Give the same conversation, in a store that finds the start of a turn by itself."""
    branch = IndexedBranch(conversation.branch.provider, conversation.branch.items)
    return Conversation(branch, conversation.leaf)


def is_longest(conversation: Conversation, bounds: list[Limits]) -> None:
    everything = window_for(conversation, EVERYTHING)
    for limits in bounds:
        answer = answer_for(conversation, limits)
        if isinstance(answer, Window):
            assert answer.message_count >= most_of_whole_turns(conversation, everything, limits)
            assert answer.message_count <= everything.message_count
        else:
            assert answer.needed > answer.allowed
            require_suffices(conversation, limits, answer)


def most_of_whole_turns(conversation: Conversation, everything: Window, limits: Limits) -> int:
    """Count the longest tail of the unbounded window that starts with what a user says and is within the bounds."""
    provider = conversation.branch.provider
    messages = [message for message in everything.messages if not is_instruction(provider, message)]
    for place, message in enumerate(messages):
        tail = messages[place:]
        size = len(json.dumps(tail, ensure_ascii=False, separators=(",", ":")).encode())
        starts = opens_turn(provider, message)
        if starts and len(tail) <= limits.max_messages and size <= limits.max_bytes:
            return len(tail)
    return 0


def require_suffices(
    conversation: Conversation, limits: Limits, refusal: DecisionHistoryLimitExceeded
) -> None:
    wider = {
        "max_messages": limits.max_messages,
        "max_bytes": limits.max_bytes,
        refusal.bound: refusal.needed,
    }
    answer = answer_for(conversation, Limits(**wider))
    assert isinstance(answer, Window) or answer.bound != refusal.bound


@pytest.mark.parametrize("provider", PROVIDERS)
def test_invariants(provider: Provider) -> None:
    """HI-11, HI-10: what came about as it should is never refused as broken; X1 to X9 and the provider's own hold."""
    hold(provider, keeps_invariants, examples=60, share=0.2)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_longest_that_fits(provider: Provider) -> None:
    """HI-9: no tail of whole turns that fits is longer; where a window is refused, what it says is needed suffices."""
    hold(provider, is_longest, examples=60, share=0.2, expiring=False)


@pytest.mark.long
@pytest.mark.parametrize("provider", PROVIDERS)
def test_at_every_limit(provider: Provider) -> None:
    """HI-9, HI-11: the same, of more conversations, each at every limit."""
    hold(provider, keeps_invariants, examples=100, share=1)
    hold(provider, is_longest, examples=100, share=1, expiring=False)


def holds_when_broken(provider: Provider, *, examples: int) -> None:
    @some(examples)
    @given(broken_conversations(provider), st.integers(0, 40))
    def held(conversation: Conversation, count: int) -> None:
        for limits in (Limits(count), EVERYTHING):
            try:
                require_invariants(conversation, window_for(conversation, limits, repair=True), limits)
                require_invariants(conversation, window_for(conversation, limits), limits)
            except (DecisionHistoryLimitExceeded, DecisionHistoryInvalid):
                continue

    held()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_broken_histories(provider: Provider) -> None:
    """HI-11: a broken history is refused by its rule, or served repaired, acceptable and accounted for."""
    holds_when_broken(provider, examples=150)


@pytest.mark.long
@pytest.mark.parametrize("provider", PROVIDERS)
def test_more_broken_histories(provider: Provider) -> None:
    """HI-11: the same, of more of them."""
    holds_when_broken(provider, examples=2_000)


def test_every_repair_is_possible() -> None:
    """HI-11: with repair no history is refused as broken, whatever was lost, repeated or moved."""
    for provider in PROVIDERS:

        @some(60)
        @given(broken_conversations(provider))
        def held(conversation: Conversation) -> None:
            window_for(conversation, EVERYTHING, repair=True)

        held()
