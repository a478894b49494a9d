"""The fake providers refuse what the real ones refuse, each in its own words, and nothing else."""

from typing import Any

import httpx
import pytest
from loopback import Fault, Loopback, Turn, accepts
from loopback_cases import ANTHROPIC, CHAT, GEMINI, RESPONSES, Pair

PAIRS = [*CHAT, *RESPONSES, *ANTHROPIC, *GEMINI]


@pytest.mark.parametrize("pair", PAIRS, ids=[f"{pair.rule}-{pair.why}" for pair in PAIRS])
def test_a_broken_window_is_refused_by_its_rule(pair: Pair) -> None:
    """HI-11: C1 to C7, R1 to R6, A1 to A10, G1 to G5: refused for the rule alone; put right it is taken."""
    refused = accepts(pair.provider, pair.broken, model=pair.model, knows=pair.knows, **pair.members)
    assert refused is not None
    assert refused.rule == pair.rule, refused
    members = pair.members if pair.right_members is None else pair.right_members
    assert accepts(pair.provider, pair.right, model=pair.model, knows=pair.knows, **members) is None


def test_every_rule_of_acceptance_has_a_broken_window() -> None:
    """HI-11: the providers' tables are covered; R7 and G4 say nothing about the shape of a request."""
    wanted = {
        *(f"C{n}" for n in (1, 2, 4, 5, 6, 7)),
        *(f"R{n}" for n in range(1, 7)),
        *(f"A{n}" for n in range(1, 11)),
        *(f"G{n}" for n in (1, 2, 3, 5)),
    }
    assert {pair.rule for pair in PAIRS} == wanted


def test_the_bypass_of_signatures_is_known() -> None:
    """HI-11, G3: the documented value passes; an earlier turn is not checked."""
    call = {"functionCall": {"name": "look", "args": {}}}
    loop = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {}}}]},
    ]
    passing = [
        loop[0],
        {"role": "model", "parts": [{**call, "thoughtSignature": "skip_thought_signature_validator"}]},
    ]
    assert accepts("gemini.contents", [*passing, loop[2]]) is None
    later = [
        *loop,
        {"role": "model", "parts": [{"text": "done"}]},
        {"role": "user", "parts": [{"text": "more"}]},
    ]
    assert accepts("gemini.contents", later) is None
    assert accepts("gemini.contents", loop) is not None
    assert accepts("gemini.contents", loop, model="gemini-2.5-loopback") is None


BODIES: list[tuple[str, str, dict[str, Any], tuple[str, ...]]] = [
    ("openai.chat", "/v1/chat/completions", {"model": "m", "messages": []}, ("error", "type")),
    ("openai.responses", "/v1/responses", {"model": "m", "input": []}, ("error", "type")),
    ("anthropic.messages", "/v1/messages", {"model": "m", "messages": []}, ("error", "type")),
    ("gemini.contents", "/v1beta/models/m:generateContent", {"contents": []}, ("error", "status")),
]


@pytest.mark.parametrize(("provider", "path", "body", "kind"), BODIES, ids=[row[0] for row in BODIES])
def test_errors_have_the_providers_form(
    provider: str, path: str, body: dict[str, Any], kind: tuple[str, ...]
) -> None:
    """HI-11: a refusal is a 400 with the error body of its provider."""
    with Loopback() as loopback:
        answer = httpx.post(loopback.url + path, json=body)
    assert answer.status_code == 400
    said = answer.json()
    for name in kind:
        said = said[name]
    assert said in ("invalid_request_error", "INVALID_ARGUMENT")
    assert answer.headers["x-request-id"]


def test_answers_and_faults_come_in_their_order() -> None:
    """HI-20: what a test wrote is answered once and in order, and every request is remembered as it came."""
    body = {"model": "m", "input": [{"role": "user", "content": "hé"}]}
    with Loopback() as loopback:
        loopback.answers(Fault("status", 503), Turn("one"), lambda seen: Turn(seen["input"][0]["content"]))
        answers = [httpx.post(f"{loopback.url}/v1/responses", json=body) for _ in range(4)]
        loopback.answers(Fault("cut"))
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.post(f"{loopback.url}/v1/responses", json=body)
    assert [answer.status_code for answer in answers] == [503, 200, 200, 500]
    texts = [answer.json()["output"][0]["content"][0]["text"] for answer in answers[1:3]]
    assert texts == ["one", "hé"]
    assert loopback.generations == [body] * 5


def test_the_counting_endpoints_check_and_count() -> None:
    """HI-14: each counts in its own words, more for a longer request, and refuses what it would not generate for."""
    with Loopback() as loopback:
        for path, inner, name in (
            ("/v1/responses/input_tokens", "input", "input_tokens"),
            ("/v1/messages/count_tokens", "messages", "input_tokens"),
            ("/v1beta/models/m:countTokens", "contents", "totalTokens"),
        ):
            counts = []
            for text in ("a", "a" * 400):
                message = (
                    {"role": "user", "parts": [{"text": text}]}
                    if inner == "contents"
                    else {"role": "user", "content": text}
                )
                counts.append(
                    httpx.post(loopback.url + path, json={"model": "m", inner: [message]}).json()[name]
                )
            assert counts[0] + 99 <= counts[1] <= counts[0] + 101
            assert httpx.post(loopback.url + path, json={"model": "m", inner: []}).status_code == 400
    both = {
        "contents": [{"role": "user", "parts": [{"text": "a"}]}],
        "generateContentRequest": {"contents": [1]},
    }
    with Loopback() as loopback:
        assert httpx.post(f"{loopback.url}/v1beta/models/m:countTokens", json=both).status_code == 400
