"""What a step refuses, and what it says of a provider that fails (HI-20), without a word of the content."""

import asyncio
import json
import logging
import traceback
from typing import Any

import pytest
from deciding import CANARY, FORMS, PROVIDERS, TOOLS, Form, agent
from loopback import Call, Fault, Turn

from lastro.decisions import Answer, Ask, FinalAnswer, Tool
from lastro.errors import LastroError
from lastro.history import History, RamStore
from lastro.history.errors import (
    AgentDecisionProviderSchemaViolation,
    AgentDecisionProviderUnavailable,
    DecisionHistoryBusy,
    DecisionHistoryIdentityMissing,
    DecisionHistoryLimitExceeded,
    DecisionHistoryMessageInvalid,
    DecisionHistorySummaryInvalid,
)

both_forms = pytest.mark.parametrize("form", FORMS)
each_provider = pytest.mark.parametrize("provider", PROVIDERS)
UNAVAILABLE = AgentDecisionProviderUnavailable
VIOLATION = AgentDecisionProviderSchemaViolation


def looking(arguments: Any = None, *, raw: str | None = None) -> Turn:
    return Turn(calls=(Call("look", arguments, raw),))


# (what comes, the error, how its provider_error_code begins)
COMING: list[tuple[str, Turn | Fault, type[LastroError], str]] = [
    ("an error of the server", Fault("status", 500, message=CANARY), UNAVAILABLE, "http_500"),
    ("overload", Fault("status", 529, message=CANARY), UNAVAILABLE, "http_529"),
    ("a limit", Fault("status", 429, message=CANARY), UNAVAILABLE, "http_429"),
    ("a refused key", Fault("status", 401, message=CANARY), UNAVAILABLE, "http_401"),
    ("a refused request", Fault("status", 400, message=CANARY), UNAVAILABLE, "http_400"),
    ("silence", Fault("timeout"), UNAVAILABLE, "timeout"),
    ("half of an answer", Fault("cut"), UNAVAILABLE, "connection"),
    ("no JSON", Fault("malformed"), VIOLATION, "malformed_json"),
    ("another object", Fault("body", 200, {"note": CANARY}), VIOLATION, "unexpected_shape"),
    ("a list", Fault("body", 200, [CANARY]), VIOLATION, "unexpected_shape"),
    ("nothing said", Turn(), VIOLATION, "no_decision"),
    ("an unknown capability", Turn(calls=(Call(f"rm_{CANARY}", {}),)), VIOLATION, "unknown_tool"),
    ("arguments of another shape", looking({"thing": 7, "x": CANARY}), VIOLATION, "arguments_mismatch"),
    ("arguments that are none", looking(raw=f'{{"thing": "{CANARY}'), VIOLATION, "malformed_arguments"),
    ("arguments that are a list", Turn(calls=(Call("book", [CANARY]),)), VIOLATION, "malformed_arguments"),
]  # fmt: skip
STOPPED: dict[str, dict[str, str]] = {
    "openai.responses": {
        "max_output_tokens": "truncated",
        "content_filter": "filtered",
        "refusal": "incomplete",
    },
    "openai.chat": {"length": "truncated", "content_filter": "filtered", "refusal": "refused"},
    "anthropic.messages": {"max_tokens": "truncated", "refusal": "refused", "pause_turn": "incomplete"},
    "gemini.contents": {
        "MAX_TOKENS": "truncated",
        "SAFETY": "filtered",
        "MALFORMED_FUNCTION_CALL": "malformed_call",
    },
}


@each_provider
@both_forms
@pytest.mark.parametrize(
    ("coming", "error", "code"), [row[1:] for row in COMING], ids=[row[0] for row in COMING]
)
def test_a_provider_that_fails(
    provider: str,
    form: Form,
    coming: Turn | Fault,
    error: type[LastroError],
    code: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """HI-20: typed by what the caller does next, asked once, nothing stored or quoted; asked again it succeeds."""
    caplog.set_level(logging.INFO)
    with agent(provider, form=form, is_hasty=code == "timeout") as one:
        session = one.provider.session("s")
        one.loopback.answers(Turn("before"), coming)
        one.step(Ask(input=(CANARY,), tools=TOOLS), session)
        before = session.read()
        with pytest.raises(error) as failed:
            one.step(Ask(instructions=CANARY, input=(CANARY,), tools=TOOLS), session)
        assert failed.value.provider_error_code.startswith(code)  # type: ignore[attr-defined]
        assert len(one.loopback.generations) == 2
        assert session.read() == before
        told = "".join(traceback.format_exception(failed.value.with_traceback(None)))
        assert CANARY not in told + repr(failed.value) + repr(failed.value.__context__) + caplog.text
        one.loopback.answers(Turn("after"))
        assert one.step(Ask(input=("hi",), tools=TOOLS), session).decision == FinalAnswer("after")


@pytest.mark.parametrize(
    ("provider", "stop"), [(name, stop) for name, stops in STOPPED.items() for stop in stops]
)
def test_an_answer_that_was_stopped(provider: str, stop: str) -> None:
    """HI-20: an answer that was cut, filtered or refused is no decision, and says which."""
    with agent(provider) as one:
        one.loopback.answers(Turn("half of it", (Call("look", {"thing": "a"}),), stop=stop))
        with pytest.raises(VIOLATION) as failed:
            one.step(Ask(input=("hi",), tools=TOOLS), one.provider.session("s"))
        assert failed.value.provider_error_code == STOPPED[provider][stop]
        assert one.provider.session("s").read() is None


def test_a_response_that_failed() -> None:
    """HI-20: Responses says by a status that its server failed: no fault of the model's format."""
    body = {"status": "failed", "error": {"code": "server_error", "message": CANARY}, "output": []}
    with agent("openai.responses") as one:
        one.loopback.answers(Fault("body", 200, body))
        with pytest.raises(UNAVAILABLE) as failed:
            one.step(Ask(input=("hi",)), one.provider.session("s"))
        assert failed.value.provider_error_code == "failed.server_error"
        assert CANARY not in "".join(traceback.format_exception(failed.value))


@both_forms
def test_nothing_listens(form: Form) -> None:
    """HI-20: a provider that cannot be reached is unavailable, whatever package was to reach it."""
    for provider in PROVIDERS:
        with agent(provider, form=form) as one:
            one.loopback.__exit__(None, None, None)
            with pytest.raises(UNAVAILABLE) as failed:
                one.step(Ask(input=("hi",)), one.provider.session("s"))
            assert failed.value.provider_error_code in ("connection", "timeout")
            one.loopback.__enter__()


def test_retries_are_the_hosts_word() -> None:
    """HI-20: a failure is asked again only by the package, and only as often as the host said."""
    for provider in PROVIDERS:
        with agent(provider, connector={"retries": 1}) as one:
            one.loopback.answers(Fault("status", 503), Turn("yes"))
            assert one.step(Ask(input=("hi",)), one.provider.session("s")).decision == FinalAnswer("yes")
            assert len(one.loopback.generations) == 2


SHAPE = Answer(schema={"type": "object", "properties": {"room": {"type": "integer"}}, "required": ["room"]})


@each_provider
@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("", "no_decision"),
        (f'{{"room": "{CANARY}"}}', "schema_mismatch"),
        (f"Room {CANARY}", "malformed_json"),
        ('{"room": NaN}', "malformed_json"),
        ("[" * 100_000, "malformed_json"),
    ],
    ids=lambda value: str(value)[:16],
)
def test_an_object_of_another_shape(provider: str, said: str, code: str) -> None:
    """HI-20: a structured answer is an object of the asked shape, or a violation that does not quote it."""
    with agent(provider, interface="structured") as one:
        one.loopback.answers(Turn(said))
        with pytest.raises(VIOLATION) as failed:
            one.step(Ask(input=("hi",), answer=SHAPE), one.provider.session("s"))
        assert failed.value.provider_error_code == code
        assert CANARY not in "".join(traceback.format_exception(failed.value))


def test_what_the_hosts_type_refuses_is_no_decision() -> None:
    """HI-20: `parse` may refuse; its words are not passed on."""

    def parse(value: Any) -> Any:
        raise ValueError(f"{value}")

    with agent("openai.responses", interface="structured") as one:
        one.loopback.answers(Turn(json.dumps({"room": 7, "note": CANARY})))
        with pytest.raises(VIOLATION) as failed:
            one.step(
                Ask(input=("hi",), answer=Answer(schema=SHAPE.schema, parse=parse)), one.provider.session("s")
            )
        assert failed.value.provider_error_code == "schema_mismatch"
        assert CANARY not in "".join(traceback.format_exception(failed.value))


@each_provider
def test_two_decisions_at_once(provider: str) -> None:
    """HI-5, HI-20: the second is DecisionHistoryBusy with the first one's worker; only one request goes out."""
    with agent(provider, form="async", history=History(RamStore(), namespace="n")) as one:
        session = one.provider.session("s", worker="w-7")
        one.loopback.answers(Turn("yes"))

        async def both() -> list[Any]:
            asks = (one.provider.adecide(Ask(input=("hi",)), session) for _ in range(2))
            return await asyncio.gather(*asks, return_exceptions=True)

        assert one.runner is not None
        step, busy = one.runner.run(both())
        assert step.decision == FinalAnswer("yes")
        assert isinstance(busy, DecisionHistoryBusy)
        assert busy.worker == "w-7"
        assert len(one.loopback.generations) == 1


def test_local_refusals_keep_their_code() -> None:
    """HI-20: limit, summary, identity and content refused here reach no provider, and the record stays as it was."""
    one_message = History(RamStore(), namespace="n", max_messages=1)
    with agent("openai.responses", history=one_message) as one:
        with pytest.raises(DecisionHistoryLimitExceeded):
            one.step(Ask(input=("a", "b")), one.provider.session("s"))
        assert not one.loopback.seen
    summarizing = History(RamStore(), namespace="n", max_messages=4, summarize=lambda _: "")
    with agent("openai.responses", history=summarizing) as one:
        session = one.provider.session("s")
        one.loopback.answers(Turn("yes"), Turn("yes"))
        one.step(Ask(input=("a",)), session)
        one.step(Ask(input=("b",)), session)
        before = session.read()
        with pytest.raises(DecisionHistorySummaryInvalid):
            one.step(Ask(input=("c",)), session)
        assert (len(one.loopback.seen), session.read()) == (2, before)
    with agent("openai.responses") as one:
        with pytest.raises(DecisionHistoryIdentityMissing):
            one.step(Ask(input=("hi",)))
        for bad in (Ask(input=("\ud800",)), Ask(instructions="\ud800", input=("hi",))):
            with pytest.raises(DecisionHistoryMessageInvalid):
                one.step(bad, one.provider.session("s"))
        assert not one.loopback.seen


def test_the_two_interfaces_are_not_mixed() -> None:
    """HI-1: a shape of an answer goes with the structured interface, and only with it; a guard needs its reserve."""
    with agent("openai.responses") as one, pytest.raises(ValueError, match="structured"):
        one.step(Ask(input=("hi",), answer=SHAPE), one.provider.session("s"))
    with (
        agent("openai.responses", interface="structured") as one,
        pytest.raises(ValueError, match="structured"),
    ):
        one.step(Ask(input=("hi",)), one.provider.session("s"))
    with pytest.raises(ValueError, match="max_output_tokens"), agent("openai.responses", guard="counter"):
        pass


def test_a_form_needs_its_client() -> None:
    """SD-7: the sync form needs the sync client, the async one the async client."""
    for provider in ("openai.responses", "openai.chat", "anthropic.messages"):
        with agent(provider, connector={"client": None}) as one, pytest.raises(TypeError, match="client="):
            one.step(Ask(input=("hi",)), one.provider.session("s"))


@pytest.mark.parametrize(
    "schema", [{"type": "room"}, {"$ref": "http://127.0.0.1:9/schema.json"}, {"items": [{"$ref": "a"}]}]
)
def test_a_schema_is_sound_when_it_is_declared(schema: dict[str, Any]) -> None:
    """HI-20: a schema that is none, or that would have to be fetched, is the host's fault and is refused at once."""
    with pytest.raises(ValueError, match="decision"):
        Answer(schema=schema)
    with pytest.raises(ValueError, match="look"):
        Tool(name="look", parameters={"properties": {"a": schema}})


def test_what_cannot_be_checked_is_no_decision() -> None:
    """HI-20: a schema that points to what it does not hold lets nothing through."""
    with agent("openai.responses", interface="structured") as one:
        one.loopback.answers(Turn('{"room": 7}'))
        with pytest.raises(VIOLATION):
            one.step(
                Ask(input=("hi",), answer=Answer(schema={"$ref": "#/nowhere"})), one.provider.session("s")
            )
