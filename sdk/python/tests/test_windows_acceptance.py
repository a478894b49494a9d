"""Every window of a made-up conversation is taken by its provider, which knows its own messages (HI-11)."""

import pytest
from conversations.generators import NOW, Conversation, broken_conversations, conversations
from hypothesis import HealthCheck, given, settings
from loopback import accepts

from lastro.history.errors import DecisionHistoryInvalid, DecisionHistoryLimitExceeded
from lastro.history.records import Provider
from lastro.history.windows import Limits, Window, window_of

MANY = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
HTTP: tuple[Provider, ...] = ("openai.chat", "openai.responses", "anthropic.messages", "gemini.contents")
BYTES = 10**9


def windows_of(conversation: Conversation, *, repair: bool = False, dialect: str = "") -> list[Window]:
    """Give the windows at every number of messages."""
    found: list[Window] = []
    for count in range(1, len(conversation.path) + 2):
        try:
            window = window_of(
                conversation.branch,
                provider=conversation.branch.provider,
                leaf=conversation.leaf,
                now=NOW,
                limits=Limits(count, BYTES),
                repair=repair,
                dialect=dialect,
            )
        except DecisionHistoryLimitExceeded:
            continue
        if window.messages and window not in found:
            found.append(window)
    return found


def require_accepted(
    conversation: Conversation, window: Window, *, model: str = "", known: bool = True, beyond: str = ""
) -> None:
    """Show a window to its provider. `known`: all is as it was made; `beyond`: no rule of ours."""
    provider = conversation.branch.provider
    own = [item.message for item in conversation.path] if known else []
    sent = list(window.messages)
    members = {}
    if provider in ("anthropic.messages", "gemini.contents"):
        members = {"system": [message for message in sent if message.get("role") in ("system", "developer")]}
        sent = [message for message in sent if message.get("role") not in ("system", "developer")]
    if sent:
        refused = accepts(provider, sent, model=model, knows=own, **members)
        assert refused is None or refused.rule == beyond, (refused, sent)


@pytest.mark.parametrize("provider", HTTP)
def test_every_window_is_taken(provider: Provider) -> None:
    """HI-11: at every number of messages, calls with their results, signatures where they were, pairs together."""

    @MANY
    @given(conversations(provider))
    def check(conversation: Conversation) -> None:
        for window in windows_of(conversation):
            require_accepted(conversation, window)

    check()


@pytest.mark.parametrize("provider", HTTP)
def test_every_repaired_window_is_taken(provider: Provider) -> None:
    """HI-11: what another tool left broken is served, repaired, in a form that the provider takes."""

    @MANY
    @given(broken_conversations(provider))
    def check(conversation: Conversation) -> None:
        try:
            repaired = windows_of(conversation, repair=True)
        except DecisionHistoryInvalid:
            pytest.fail("a repair does not refuse")
        for window in repaired:
            # An item that is stored twice under one id is no rule of the table; Responses refuses it all the same.
            require_accepted(conversation, window, known=False, beyond="duplicate")

    check()


STRICT: list[tuple[Provider, str, str]] = [
    ("anthropic.messages", "strict-alternation", "bedrock-prefill"),
    ("openai.chat", "mistral", "mistral-first"),
]


@pytest.mark.parametrize(("provider", "dialect", "model"), STRICT, ids=[row[1] for row in STRICT])
def test_stricter_servers_take_their_dialect(provider: Provider, dialect: str, model: str) -> None:
    """HI-11, C5, A9: with the dialect of a stricter server, that server takes every window."""

    @MANY
    @given(conversations(provider))
    def check(conversation: Conversation) -> None:
        for window in windows_of(conversation, dialect=dialect):
            last = window.messages[-1].get("role")
            if dialect != "mistral" or last in ("user", "tool"):
                require_accepted(conversation, window, model=model)

    check()
