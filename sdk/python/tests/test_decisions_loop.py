"""Whole loops of an agent with each provider's package: steps, parallel calls, opaque metadata, trimming, guard."""

import json
from typing import Any

import pytest
from deciding import (
    COUNTING,
    FORMS,
    PROVIDERS,
    TOOLS,
    Agent,
    Form,
    agent,
    answered_messages,
    as_sent,
    observed,
    sent_messages,
)
from loopback import Call, Fault, Turn

from lastro.decisions import Ask, FinalAnswer, Observation, ProposedCalls
from lastro.decisions.transport import require_direct
from lastro.history import History, RamStore
from lastro.history.errors import (
    DecisionHistoryInvalid,
    DecisionHistoryMismatch,
    ProviderContextCountUnavailable,
    ProviderContextWindowExceeded,
)
from lastro.history.events import ProviderContextCount, SummaryMade
from lastro.history.guard import TokenGuard
from lastro.history.sessions import Session

both_forms = pytest.mark.parametrize("form", FORMS)
each_provider = pytest.mark.parametrize("provider", PROVIDERS)
TWO_LOOKS = (Call("look", {"thing": "ä \U0001f600"}), Call("look", {"thing": "b"}))


def started(agent: Agent, name: str = "s", **more: Any) -> Session:
    return agent.provider.session(name, **more)


@each_provider
@both_forms
def test_a_loop_of_steps(provider: str, form: Form) -> None:
    """HI-13: over several steps the provider's messages, ids, signatures and thinking return as they came, to the byte.

    The provider itself checks pairs and signatures, and answers 400 where one is broken.
    """
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    connector = {"options": thinking} if provider == "anthropic.messages" else {}
    with agent(provider, form=form, connector=connector) as one:
        session = started(one)
        one.loopback.answers(
            Turn("Two things.", TWO_LOOKS, thinking="which?"),
            Turn(calls=(Call("book", {"room": 7}),), thinking="that one"),
            Turn("Booked.", thinking="done"),
        )
        first = one.step(Ask(instructions="Be brief.", input=("A room",), tools=TOOLS), session)
        assert isinstance(first.decision, ProposedCalls)
        assert [dict(call.arguments) for call in first.decision.calls] == [
            call.arguments for call in TWO_LOOKS
        ]
        assert first.decision.text == "Two things."
        second = one.step(Ask(instructions="Be brief.", observations=observed(first), tools=TOOLS), session)
        third = one.step(
            Ask(instructions="Be brief.", observations=observed(second, book={"ok": True}), tools=TOOLS),
            session,
        )
        assert third.decision == FinalAnswer("Booked.")
        asked = [sent_messages(body) for body in one.loopback.generations]
        for place in (1, 2):
            back = answered_messages(provider, one.loopback.answered[place - 1])
            start = asked[place].index(back[0])
            assert as_sent(asked[place][start : start + len(back)]) == as_sent(back)
        assert as_sent(asked[2][: len(asked[1])]) == as_sent(asked[1])
        assert all("Be brief." in json.dumps(body) for body in one.loopback.generations)
        assert "seen 1" in as_sent(asked[1])


@each_provider
@both_forms
def test_a_pending_proposal_is_never_shown_as_executed(provider: str, form: Form) -> None:
    """HI-13: until the runtime reports, the proposal is held back; a result of a call that nobody made is refused."""
    with agent(provider, form=form) as one:
        session = started(one)
        one.loopback.answers(Turn(calls=TWO_LOOKS, thinking="t"), Turn("Still waiting."), Turn("Both seen."))
        first = one.step(Ask(input=("look",), tools=TOOLS), session)
        half = one.step(Ask(input=("and now?",), tools=TOOLS, observations=observed(first)[:1]), session)
        assert half.decision == FinalAnswer("Still waiting.")
        shown = json.dumps(one.loopback.generations[1])
        assert "seen 0" not in shown
        assert len(half.window.open_calls) == 1
        stranger = Observation(call_id="call_nobody", name="steal", output="x")
        with pytest.raises(DecisionHistoryInvalid):
            one.step(Ask(observations=(stranger,), tools=TOOLS), session)
        with pytest.raises(DecisionHistoryInvalid):
            one.step(Ask(observations=observed(first)[:1], tools=TOOLS), session)
        assert len(one.loopback.generations) == 2
        late = one.step(Ask(input=("well?",), observations=observed(first)[1:], tools=TOOLS), session)
        assert late.decision == FinalAnswer("Both seen.")
        shown = json.dumps(one.loopback.generations[2])
        assert shown.index("seen 0") < shown.index("seen 1") < shown.index("and now?")


@each_provider
@both_forms
def test_a_long_conversation_is_trimmed_whole(provider: str, form: Form) -> None:
    """HI-9, HI-10: under a small bound the oldest exchanges leave whole, every window is taken, all is kept."""
    store = RamStore()
    with agent(provider, form=form, history=History(store, namespace="n", max_messages=9)) as one:
        session = started(one)
        for turn in range(6):
            one.loopback.answers(Turn(calls=TWO_LOOKS, thinking=f"t{turn}"), Turn(f"answer {turn}"))
            first = one.step(Ask(input=(f"question {turn}",), tools=TOOLS), session)
            last = one.step(Ask(observations=observed(first), tools=TOOLS), session)
            assert last.window.message_count <= 9
        assert last.window.trimmed
        assert "question 0" not in json.dumps(one.loopback.generations[-1])
        assert "question 5" in json.dumps(one.loopback.generations[-1])
        kept = session.read()
        assert kept is not None
        assert "question 0" in json.dumps([item.message for item in kept.items])
        assert len(one.loopback.answered) == 12


def talk(one: Agent, session: Session, *, turns: int) -> None:
    for turn in range(turns):
        one.loopback.answers(Turn(f"answer {turn} " + "x" * 400))
        one.step(Ask(input=(f"question {turn}",), tools=TOOLS), session)


@pytest.mark.parametrize("provider", COUNTING)
@both_forms
def test_the_guard_trims_before_it_generates(provider: str, form: Form) -> None:
    """HI-14, HI-15, HI-17: the endpoint counts the request that is then sent; old exchanges leave one by one."""
    events: list[Any] = []
    guard = TokenGuard(context_window_tokens=1100)
    settings: dict[str, Any] = {"guard": guard, "max_output_tokens": 100, "on_event": events.append}
    with agent(provider, form=form, **settings) as one:
        session = started(one)
        talk(one, session, turns=5)
        counts = [event for event in events if isinstance(event, ProviderContextCount)]
        assert [event.fits for event in counts].count(False) >= 2
        assert counts[-1].fits
        assert len(one.loopback.generations) == 5
        assert all(event.reservation == -(-event.count * 6 // 5) + 612 for event in counts)
        counted = one.loopback.countings[-1]
        counted = counted.get("generateContentRequest", counted)
        assert sent_messages(counted) == sent_messages(one.loopback.generations[-1])
        assert "look" in json.dumps(counted)
        assert "question 0" not in json.dumps(one.loopback.generations[-1])
        assert "question 4" in json.dumps(one.loopback.generations[-1])
        kept = session.read()
        assert kept is not None
        assert kept.head.count == 10


@pytest.mark.parametrize("provider", COUNTING)
@both_forms
def test_what_does_not_fit_is_refused_before_a_generation(provider: str, form: Form) -> None:
    """HI-15: the latest alone over the ceiling: ProviderContextWindowExceeded; nothing generated, nothing stored."""
    with agent(
        provider, form=form, guard=TokenGuard(context_window_tokens=1100), max_output_tokens=100
    ) as one:
        session = started(one)
        talk(one, session, turns=2)
        before = session.read()
        with pytest.raises(ProviderContextWindowExceeded):
            one.step(Ask(input=("y" * 4000,), tools=TOOLS), session)
        assert len(one.loopback.generations) == 2
        assert session.read() == before


@pytest.mark.parametrize("provider", COUNTING)
@both_forms
@pytest.mark.parametrize(
    "fault", [Fault("status", 500), Fault("cut"), Fault("malformed"), Fault("timeout")], ids=lambda f: f.kind
)
def test_without_a_count_nothing_is_generated(provider: str, form: Form, fault: Fault) -> None:
    """HI-15: a count that cannot be had is ProviderContextCountUnavailable; asked for once, nothing generated."""
    guard = TokenGuard(context_window_tokens=9000)
    is_hasty = fault.kind == "timeout"
    with agent(provider, form=form, is_hasty=is_hasty, guard=guard, max_output_tokens=100) as one:
        one.loopback.counts.append(fault)
        with pytest.raises(ProviderContextCountUnavailable):
            one.step(Ask(input=("hi",)), started(one))
        assert (len(one.loopback.countings), len(one.loopback.generations)) == (1, 0)


@pytest.mark.parametrize("provider", COUNTING)
def test_only_a_direct_endpoint_counts(provider: str) -> None:
    """HI-16: at another address than the provider's own nothing is counted, unless the host vouches or counts."""
    settings: dict[str, Any] = {"max_output_tokens": 100, "connector": {"counts_here": False}}
    with agent(provider, guard=TokenGuard(context_window_tokens=9000), **settings) as one:
        with pytest.raises(ProviderContextCountUnavailable):
            one.step(Ask(input=("hi",)), started(one))
        assert not one.loopback.seen
    with agent(provider, guard="counter", **settings) as one:
        one.loopback.answers(Turn("yes"))
        one.step(Ask(input=("hi",)), started(one))
        assert not one.loopback.countings


@pytest.mark.parametrize(
    ("url", "is_direct"),
    [
        ("https://api.openai.com/v1/", True),
        ("https://api.openai.com", True),
        ("http://api.openai.com/v1/", False),
        ("https://api.openai.com.example/v1/", False),
        ("https://api.openai.com@example.com/", False),
        ("https://example.com/api.openai.com/", False),
    ],
)
def test_which_address_is_direct(url: str, is_direct: bool) -> None:  # noqa: FBT001
    """HI-16: the provider's own host over HTTPS, and nothing that looks like it."""
    if is_direct:
        require_direct(url, host="api.openai.com", vouched=False)
        return
    with pytest.raises(ProviderContextCountUnavailable):
        require_direct(url, host="api.openai.com", vouched=False)


@both_forms
def test_chat_needs_a_counter_of_the_host(form: Form) -> None:
    """HI-16: Chat Completions has no counting endpoint; the host's counter sees the whole request, async ones too."""
    with (
        agent(
            "openai.chat", form=form, guard=TokenGuard(context_window_tokens=9000), max_output_tokens=9
        ) as one,
        pytest.raises(ProviderContextCountUnavailable),
    ):
        one.step(Ask(input=("hi",)), started(one))
    seen: list[str] = []

    def at_once(text: str) -> int:
        seen.append(text)
        return 5

    async def later(text: str) -> int:
        return at_once(text)

    guard = TokenGuard(context_window_tokens=9000, counter=later if form == "async" else at_once)
    with agent("openai.chat", form=form, guard=guard, max_output_tokens=9) as one:
        one.loopback.answers(Turn("yes"))
        one.step(Ask(instructions="SENTINEL", input=("hi",), tools=TOOLS), started(one))
        assert json.loads(seen[0]) == one.loopback.generations[0]


def test_a_counter_that_fails_is_no_count() -> None:
    """HI-15: what a host's counter raises is an unavailable count, without its words; a sync step awaits nothing."""

    def broken(text: str) -> int:
        raise RuntimeError(text)

    async def later(text: str) -> int:
        return 1

    for counter in (broken, later):
        guard = TokenGuard(context_window_tokens=9000, counter=counter)
        with agent("openai.chat", guard=guard, max_output_tokens=9) as one:
            with pytest.raises(ProviderContextCountUnavailable) as refused:
                one.step(Ask(input=("CANARY",)), started(one))
            assert refused.value.__context__ is None
            assert "CANARY" not in repr(refused.value)
            assert not one.loopback.seen


UNCOUNTED: list[tuple[str, dict[str, Any]]] = [
    ("openai.responses", {"previous_response_id": "resp_1"}),
    ("openai.responses", {"conversation": "conv_1"}),
    ("openai.responses", {"truncation": "auto"}),
    ("anthropic.messages", {"container": "c_1"}),
    ("gemini.contents", {"cachedContent": "cachedContents/1"}),
]


@pytest.mark.parametrize(("provider", "options"), UNCOUNTED)
def test_hidden_state_is_refused_before_it_is_counted(provider: str, options: dict[str, Any]) -> None:
    """HI-16: a request with state, truncation or a cache at the provider reaches neither endpoint."""
    settings: dict[str, Any] = {"guard": TokenGuard(context_window_tokens=9000), "max_output_tokens": 100}
    with agent(provider, connector={"options": options}, **settings) as one:
        with pytest.raises(ProviderContextCountUnavailable):
            one.step(Ask(input=("hi",)), started(one))
        assert not one.loopback.seen


@pytest.mark.parametrize("provider", COUNTING)
@both_forms
def test_a_summary_is_counted_too(provider: str, form: Form) -> None:
    """HI-18, HI-19: what leaves for the guard is summarized as user data, and the result is counted again."""
    events: list[Any] = []
    asked: list[Any] = []

    def summarize(request: Any) -> str:
        asked.append(request)
        return "SUMMARY of the start"

    history = History(RamStore(), namespace="n", summarize=summarize, on_event=events.append)
    guard = TokenGuard(context_window_tokens=1150)
    with agent(provider, form=form, history=history, guard=guard, max_output_tokens=100) as one:
        session = started(one)
        talk(one, session, turns=5)
        assert asked
        assert any(isinstance(event, SummaryMade) for event in events)
        last = [seen for seen in one.loopback.seen if "SUMMARY" in seen.text]
        assert last[-1].provider == provider
        assert {seen.counting for seen in last} == {True, False}
        leading = sent_messages(one.loopback.generations[-1])[0]
        assert leading["role"] == "user"
        assert "SUMMARY of the start" in json.dumps(leading)


@each_provider
def test_what_is_pinned_stays(provider: str) -> None:
    """HI-1: another model on a session that has decided is DecisionHistoryMismatch, and reaches no provider."""
    history = History(RamStore(), namespace="n")
    with agent(provider, history=history) as one:
        session = started(one)
        one.loopback.answers(Turn("yes"))
        one.step(Ask(input=("hi",)), session)
    with agent(provider, history=history, connector={"model": "another-loopback"}) as other:
        with pytest.raises(DecisionHistoryMismatch):
            other.step(Ask(input=("hi",)), session)
        assert not other.loopback.seen
