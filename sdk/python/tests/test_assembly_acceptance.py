"""Every context of a made-up world, and of each recorded run, is taken by its provider over HTTP (CA-19)."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loopback import accepts
from runtime_graphs import World
from runtime_graphs.made_up import worlds
from scenarios import Scenario
from scenarios.others import OTHERS
from scenarios.published import PUBLISHED

from lastro.assembly.rendering.messages import Format, messages_for

FORMATS: Sequence[Format] = ("openai.chat", "openai.responses", "anthropic.messages", "gemini.contents")
MANY = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


def sent(world: World, provider: Format, **asked: Any) -> list[dict[str, Any]]:
    """Give a context as it is sent."""
    graph = world.graph()
    assembly = world.assemble(graph=graph, **asked)
    people = world.snapshot(graph=graph, **asked).participants
    return messages_for(provider, assembly, world.request(**asked), participants=people)


def require_accepted(provider: Format, messages: Sequence[dict[str, Any]]) -> None:
    """Show messages to a provider; nothing to show is nothing to refuse."""
    if messages:
        refused = accepts(provider, messages)
        assert refused is None, (refused, messages)


def asked_of(world: World, random: Random) -> dict[str, Any]:
    """Draw a request: for another participant, in the middle of a run, with what must be exact, under a budget."""
    ids = [one["id"] for one in world.written if one["type"] in ("tool_artifact", "tool_memory")]
    said = [one["id"] for one in world.written if one["type"] == "message" and one["branch"] == "main"]
    return {
        "participant": random.choice(("lead", "other")),
        "branch": random.choice(("main", "twig")),
        "kind": random.choice(("chat", "multi_model", "autonomous", "scheduled")),
        "run": random.choice((None, "run-1", "run-o")),
        "answers": random.choice((None, *said)),
        "need_exact": tuple(random.sample(ids, min(len(ids), random.randint(0, 3)))),
        "route": random.choice(("openai", "elsewhere")),
    }


@pytest.mark.parametrize("provider", FORMATS)
def test_every_context_is_taken(provider: Format) -> None:
    """CA-19: of any world and any request, calls with their results, the user's turn first, no empty message."""

    @MANY
    @given(worlds(), st.randoms(use_true_random=False))
    def check(world: World, random: Random) -> None:
        require_accepted(provider, sent(world, provider, **asked_of(world, random)))

    check()


@pytest.mark.parametrize("provider", FORMATS)
@pytest.mark.parametrize("make", [*PUBLISHED, *OTHERS], ids=lambda make: make.__name__)
def test_every_recorded_run_is_taken(make: Callable[[], Scenario], provider: Format) -> None:
    """CA-19: the contexts of all recorded runs."""
    scenario = make()
    require_accepted(provider, sent(scenario.world, provider, **scenario.asked))


@pytest.mark.parametrize("provider", FORMATS)
def test_a_context_without_its_question_is_refused(provider: Format) -> None:
    """CA-19: the provider does look: a result whose call is left out is not taken."""
    world = World()
    world.says("m1", "Weigh it.")
    signed = {"thoughtSignature": "c2lnbmF0dXJl"}
    call = world.call("call-1", "scale", round=1, provider_metadata=signed)
    world.artifact("a1", tool="scale", call=call, result={"tonnes": 20})
    messages = sent(world, provider, run="run-1", answers="m1")
    require_accepted(provider, messages)
    broken = [message for message in messages if not _asks(message)]
    assert len(broken) == len(messages) - 1
    assert accepts(provider, broken) is not None


def _asks(message: dict[str, Any]) -> bool:
    parts = [
        part for name in ("content", "parts") if isinstance(message.get(name), list) for part in message[name]
    ]
    kinds = {message.get("type"), *(part.get("type") for part in parts)}
    is_asked = any("functionCall" in part for part in parts)
    return bool(message.get("tool_calls")) or is_asked or bool(kinds & {"function_call", "tool_use"})
