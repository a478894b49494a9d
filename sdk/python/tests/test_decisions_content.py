"""What a step shows again: content modes, structured decisions, no history, a resume (HI-8, HI-13)."""

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from deciding import FORMS, PROVIDERS, TOOLS, Form, agent, observed, sent_messages
from loopback import Call, Fault, Loopback, Turn

import lastro.decisions
from lastro.decisions import (
    Answer,
    Ask,
    DecisionProvider,
    FinalAnswer,
    Observation,
    ProposedCalls,
    TypedAnswer,
)
from lastro.decisions.typed import TypedGenerator
from lastro.history import History, RamStore, SqliteStore
from lastro.history.errors import (
    AgentDecisionProviderSchemaViolation,
    DecisionHistoryLimitExceeded,
    DecisionHistoryMismatch,
)
from lastro.history.events import ResumedWithoutMessages

both_forms = pytest.mark.parametrize("form", FORMS)
each_provider = pytest.mark.parametrize("provider", PROVIDERS)
SECRET = "SECRET-77aa"
LOOK_AT = (Call("look", {"thing": SECRET}),)


def seen_of(call_id: str = "c1", **more: Any) -> Observation:
    return Observation(
        call_id=call_id, name="look", output={"found": 3}, inputs={"thing": "[projected]"}, **more
    )


@each_provider
@both_forms
def test_opaque_refs_never_brings_raw_arguments_back(provider: str, form: Form) -> None:
    """HI-13: in `opaque_refs` neither the model's arguments nor its words and signatures are kept or shown again."""
    history = History(RamStore(), namespace="n", content_mode="opaque_refs")
    with agent(provider, form=form, history=history) as one:
        session = one.provider.session("s")
        one.loopback.answers(
            Turn(f"Hm {SECRET}", LOOK_AT, thinking=SECRET), Turn(f"Found {SECRET}"), Turn("ok")
        )
        first = one.step(Ask(input=("find it",), tools=TOOLS), session)
        assert isinstance(first.decision, ProposedCalls)
        assert first.decision.calls[0].arguments == {"thing": SECRET}
        one.step(Ask(observations=(seen_of(first.decision.calls[0].call_id),), tools=TOOLS), session)
        one.step(Ask(input=("thanks",), tools=TOOLS), session)
        shown = json.dumps(one.loopback.generations)
        assert SECRET not in shown
        assert "[projected]" in shown
        assert "look" in as_text(one.loopback.generations[1])
        kept = session.read()
        assert kept is not None
        assert SECRET not in json.dumps([item.message for item in kept.items])
        assert kept.head.count == 6


def as_text(body: dict[str, Any]) -> str:
    return json.dumps(sent_messages(body))


@each_provider
@both_forms
def test_structured_decisions_keep_their_messages(provider: str, form: Form) -> None:
    """HI-13: the typed object comes back in the model's own message; observations are data, without invented ids."""
    answer = Answer(schema={"type": "object", "required": ["do"]}, parse=lambda value: value["do"])
    with agent(provider, form=form, interface="structured") as one:
        session = one.provider.session("s")
        one.loopback.answers(Turn('{"do": "look"}', thinking="t"), Turn('{"do": "stop"}'))
        assert one.step(Ask(input=("find it",), answer=answer), session).decision == TypedAnswer("look")
        step = one.step(Ask(observations=(seen_of(),), answer=answer), session)
        assert step.decision == TypedAnswer("stop")
        second = as_text(one.loopback.generations[1])
        assert json.dumps('{"do": "look"}') in second
        assert "[projected]" in second
        assert "c1" not in second
        assert '"required": ["do"]' in json.dumps(one.loopback.generations[1])


@each_provider
@both_forms
def test_without_history_nothing_is_kept(provider: str, form: Form) -> None:
    """HI-13: `history=False` needs no ids, keeps nothing, and shows real observations as data."""
    with agent(provider, form=form, history=False) as one:
        one.loopback.answers(Turn(calls=LOOK_AT, thinking="t"), Turn("done"))
        first = one.step(Ask(input=("find it",), tools=TOOLS))
        assert isinstance(first.decision, ProposedCalls)
        observation = seen_of(first.decision.calls[0].call_id, is_error=True, provisional=True)
        second = one.step(Ask(input=("go on",), observations=(observation,), tools=TOOLS))
        assert second.decision == FinalAnswer("done")
        shown = as_text(one.loopback.generations[1])
        assert first.decision.calls[0].call_id not in shown
        assert SECRET not in shown
        assert "find it" not in shown
        for part in ("[projected]", "found", "failed", "provisional", "go on"):
            assert part in shown
        assert one.provider.session("none").read() is None


def test_the_content_mode_is_pinned(tmp_path: Path) -> None:
    """HI-1: content mode and interface are part of the identity; another one later is refused before any request."""
    store = RamStore()
    with agent("openai.responses", history=History(store, namespace="n")) as one:
        one.loopback.answers(Turn("yes"))
        one.step(Ask(input=("hi",)), one.provider.session("s"))
    opaque = History(store, namespace="n", content_mode="opaque_refs")
    shape = Answer(schema={})
    for settings, ask in (
        ({"history": opaque}, Ask(input=("hi",))),
        (
            {"history": History(store, namespace="n"), "interface": "structured"},
            Ask(input=("hi",), answer=shape),
        ),
    ):
        with agent("openai.responses", **settings) as other:
            with pytest.raises(DecisionHistoryMismatch):
                other.step(ask, other.provider.session("s"))
            assert not other.loopback.seen


@each_provider
def test_a_resume_goes_on_where_it_stopped(provider: str, tmp_path: Path) -> None:
    """HI-8: with a store that outlives the process, the result of an approved call meets its call and signature."""
    run: dict[str, Any] = {"run_id": "r", "invocation_id": "i", "agent_ref": "a"}
    with agent(provider, history=History(SqliteStore(tmp_path / "h.db"), namespace="n")) as one:
        one.loopback.answers(Turn(calls=LOOK_AT, thinking="t"))
        first = one.step(Ask(input=("find it",), tools=TOOLS), one.provider.session(**run))
        memory = one.loopback.memory
        one.provider.history.close()
    with agent(provider, history=History(SqliteStore(tmp_path / "h.db"), namespace="n")) as later:
        later.loopback.memory = memory
        later.loopback.answers(Turn("done"))
        session = later.provider.session(**run, resumed=True)
        assert later.step(Ask(observations=observed(first), tools=TOOLS), session).decision == FinalAnswer(
            "done"
        )
        assert SECRET in as_text(later.loopback.generations[0])
        later.provider.history.close()


@each_provider
def test_a_resume_without_messages_says_so(provider: str) -> None:
    """HI-8: after a restart with RAM only, observations are shown as data, no id is made up, and the event says it."""
    events: list[Any] = []
    history = History(RamStore(), namespace="n", on_event=events.append)
    with agent(provider, history=history) as one:
        one.loopback.answers(Turn("done"))
        session = one.provider.session("s", resumed=True)
        step = one.step(Ask(observations=(seen_of("call_before"),), tools=TOOLS), session)
        assert step.decision == FinalAnswer("done")
        assert ResumedWithoutMessages(observations=1) in events
        assert "call_before" not in as_text(one.loopback.generations[0])
        assert "[projected]" in as_text(one.loopback.generations[0])


@each_provider
@both_forms
def test_a_provisional_result_is_not_the_result(provider: str, form: Form) -> None:
    """HI-9, HI-13: a long-running call waits for its final result, which then is served behind its call."""
    with agent(provider, form=form) as one:
        session = one.provider.session("s")
        one.loopback.answers(Turn(calls=LOOK_AT, thinking="t"), Turn("I wait."), Turn("Here."))
        first = one.step(Ask(input=("find it",), tools=TOOLS), session)
        (early,) = observed(first, look="ACCEPTED")
        waiting = Observation(call_id=early.call_id, name="look", output="ACCEPTED", provisional=True)
        one.step(Ask(input=("and?",), observations=(waiting,), tools=TOOLS), session)
        (final,) = observed(first, look="FINAL")
        one.step(Ask(input=("now?",), observations=(final,), tools=TOOLS), session)
        shown = as_text(one.loopback.generations[2])
        assert shown.index(SECRET) < shown.index("FINAL") < shown.index("and?")
        assert "ACCEPTED" not in shown


@each_provider
def test_all_that_a_step_is_given_is_shown(provider: str) -> None:
    """HI-9, X5: two things said at once are shown both, or the step is refused; neither is left out in silence."""
    for limit, fits in ((2, True), (1, False)):
        with agent(provider, history=History(RamStore(), namespace="n", max_messages=limit)) as one:
            one.loopback.answers(Turn("yes"))
            ask = Ask(input=("one thing", "another"))
            if fits:
                one.step(ask, one.provider.session("s"))
                assert "one thing" in as_text(one.loopback.generations[0])
            else:
                with pytest.raises(DecisionHistoryLimitExceeded) as refused:
                    one.step(ask, one.provider.session("s"))
                assert (refused.value.needed, refused.value.allowed) == (2, 1)
                assert not one.loopback.seen


def test_instructions_of_the_session_stay_first() -> None:
    """X4: system messages that the session keeps go to the place that the provider has for them, behind the host's."""
    kept: dict[str, dict[str, Any]] = {
        "openai.responses": {"role": "system", "content": "KEPT"},
        "openai.chat": {"role": "system", "content": "KEPT"},
        "anthropic.messages": {"role": "system", "content": "KEPT"},
        "gemini.contents": {"role": "system", "parts": [{"text": "KEPT"}]},
    }
    for provider in PROVIDERS:
        with agent(provider) as one:
            one.loopback.answers(Turn("yes"), Turn("yes"))
            session = one.provider.session("s")
            one.step(Ask(instructions="OWN", input=(kept[provider], "hi")), session)
            one.step(Ask(instructions="OWN", input=("more",)), session)
            for body in one.loopback.generations:
                text = json.dumps(body, sort_keys=True)
                assert text.count("KEPT") == text.count("OWN") == 1
                in_messages = provider in ("openai.chat", "openai.responses")
                assert ("KEPT" in as_text(body)) is in_messages


def test_a_repr_shows_no_content() -> None:
    """SD-11: what a step is given and what it decides can be put into a log line without its content."""
    for form in FORMS:
        with agent("openai.chat", form=form) as one:
            session = one.provider.session("s")
            one.loopback.answers(Turn(SECRET, LOOK_AT), Turn(SECRET))
            ask = Ask(instructions=SECRET, input=(SECRET,), tools=TOOLS)
            first = one.step(ask, session)
            report = observed(first, look=SECRET)
            last = one.step(Ask(observations=report, tools=TOOLS), session)
            assert SECRET not in repr((ask, first.decision, first, report, last.decision, last))
    assert SECRET not in repr((TypedAnswer(SECRET), seen_of(), one.provider))


def test_a_generator_of_objects() -> None:
    """HI-13: of a generator that gives only an object, the object is kept and shown again, and nothing is made up."""
    asked: list[Any] = []

    def generate(request: Any) -> Any:
        asked.append(request)
        return {"do": "look", "at": SECRET} if len(asked) == 1 else {"do": "stop"}

    answer = Answer(schema={"type": "object", "required": ["do"]}, parse=lambda value: value["do"])
    provider = DecisionProvider(TypedGenerator("own-model", generate=generate), interface="structured")
    session = provider.session("s")
    ask = Ask(instructions="Be brief.", input=("find it",), answer=answer)
    assert provider.decide(ask, session).decision == TypedAnswer("look")
    assert provider.decide(Ask(observations=(seen_of(),), answer=answer), session).decision == TypedAnswer(
        "stop"
    )
    assert [message["role"] for message in asked[1]["messages"]] == ["user", "assistant", "user"]
    assert json.loads(asked[1]["messages"][1]["content"]) == {"do": "look", "at": SECRET}
    assert {*asked[1]["messages"][1]} == {"role", "content"}


@pytest.mark.parametrize(
    "given", [{"at": 1}, None, object(), float("nan")], ids=["no action", "null", "not JSON", "no number"]
)
def test_a_generator_that_gives_no_object(given: Any) -> None:
    """HI-20: what is no object of the asked shape is a violation, of the host's generator as of any."""
    answer = Answer(schema={"type": "object", "required": ["do"]})
    provider = DecisionProvider(TypedGenerator("own", generate=lambda _: given), interface="structured")
    with pytest.raises(AgentDecisionProviderSchemaViolation):
        provider.decide(Ask(input=("find it",), answer=answer), provider.session("s"))
    assert provider.session("s").read() is None


def test_the_example_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """SD-8: the example of the package runs as it is written."""
    text = dedent((lastro.decisions.__doc__ or "").partition("observed:\n")[2])
    with Loopback() as loopback:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{loopback.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        loopback.answers(Turn(calls=(Call("free_rooms", {"day": "Friday"}),), thinking="t"), Turn("Room 12."))
        exec(compile(text, "example", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out == "Room 12.\n"


def test_gemini_calls_without_ids() -> None:
    """G1: calls that come without ids are told apart by their place, and answered in their order, without ids."""
    with agent("gemini.contents") as one:
        session = one.provider.session("s")
        body: dict[str, Any] = {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [
                            {
                                "functionCall": {"name": "look", "args": {"thing": "a"}},
                                "thoughtSignature": "c2ln",
                            },
                            {"functionCall": {"name": "look", "args": {"thing": "b"}}},
                        ],
                    },
                    "finishReason": "STOP",
                }
            ]
        }
        one.loopback.answers(Fault("body", 200, body), Turn("done"))
        first = one.step(Ask(input=("hi",), tools=TOOLS), session)
        assert isinstance(first.decision, ProposedCalls)
        ids = [call.call_id for call in first.decision.calls]
        assert len(set(ids)) == 2
        one.step(Ask(observations=tuple(reversed(observed(first))), tools=TOOLS), session)
        parts = sent_messages(one.loopback.generations[1])[-1]["parts"]
        assert [part["functionResponse"]["response"]["output"] for part in parts] == ["seen 0", "seen 1"]
        assert not any("id" in part["functionResponse"] for part in parts)
