"""Recorded runs, each as three contexts: the naive transcript, observation masking, and the assembled one.

All three are OpenAI Chat messages of the same run with the same system prompt and the same user message, and one
function counts their tokens.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime_graphs import POLICY, World

from lastro.assembly.assembler import assemble
from lastro.assembly.graph import RuntimeGraph
from lastro.assembly.policy import Policy
from lastro.assembly.rendering.messages import messages_for
from lastro.assembly.results import Assembly
from lastro.assembly.snapshot import AssemblyRequest

Message = dict[str, Any]
Count = Callable[[str], int]

SYSTEM = "You help an operations team. Use tools, name ids exactly."
MASK = "[result left out]"
KEPT_RESULTS = 1
PER_MESSAGE = 3
"""What a chat format adds to a message: its role and its ends."""


@dataclass(frozen=True)
class Scenario:
    """A recorded run and what must hold of its context.

    `facts` are said somewhere in the run and needed to go on; `marks` are what only a selection says: what is stale,
    withheld, in conflict. Both must be in the assembled context, `absent` must not be. `outcomes` are those of some
    records. `reference` is what was published for a scenario of the same kind: tokens of the naive and of the
    assembled context.
    """

    name: str
    world: World
    asked: Mapping[str, Any]
    facts: Sequence[str]
    absent: Sequence[str] = ()
    marks: Sequence[str] = ()
    reference: tuple[int, int] | None = None
    outcomes: Mapping[str, str] = field(default_factory=dict)
    policy: Policy = POLICY


@dataclass(frozen=True)
class Contexts:
    """The three contexts of a scenario, and the assembly of the third."""

    naive: list[Message]
    masked: list[Message]
    assembled: list[Message]
    assembly: Assembly


def contexts(scenario: Scenario, count: Count) -> Contexts:
    """Make the three contexts of a recorded run."""
    scenario.world.count = count
    graph = scenario.world.graph()
    request = scenario.world.request(**scenario.asked)
    snapshot = graph.snapshot(request, scenario.policy)
    assembly = assemble(request, snapshot, scenario.policy, read=graph.read)
    shown = messages_for("openai.chat", assembly, request, participants=snapshot.participants)
    naive = [_system(), *transcript(graph, scenario.world, request)]
    return Contexts(naive, masked(naive), [_system(), *shown], assembly)


def tokens_of(messages: Sequence[Message], count: Count) -> int:
    """Count the tokens of messages: texts, names, arguments and ids of calls, and what the format adds."""
    return sum(PER_MESSAGE + sum(map(count, _texts(message))) for message in messages)


def kept(facts: Sequence[str], messages: Sequence[Message]) -> list[str]:
    """Give the facts that stand in messages."""
    text = "\n".join(text for message in messages for text in _texts(message))
    plain = text + json.dumps(text, ensure_ascii=False)
    return [fact for fact in facts if fact in plain or json.dumps(fact, ensure_ascii=False)[1:-1] in plain]


def transcript(graph: RuntimeGraph, world: World, request: AssemblyRequest) -> list[Message]:
    """Give what a host sends that replays everything of a conversation in the order in which it happened."""
    told = [message for value in world.written for message in _told(value, graph)]
    question = next((m for m in told if m.get("id") == request.answers), None)
    ordered = [m for m in told if m is not question] + ([question] if question else [])
    return [{name: value for name, value in message.items() if name != "id"} for message in ordered]


def masked(messages: Sequence[Message]) -> list[Message]:
    """Put a placeholder for every result of a tool but the latest ones."""
    results = [number for number, message in enumerate(messages) if message["role"] == "tool"]
    old = set(results[: max(len(results) - KEPT_RESULTS, 0)])
    return [{**m, "content": MASK} if number in old else m for number, m in enumerate(messages)]


def _told(value: dict[str, Any], graph: RuntimeGraph) -> list[Message]:
    teller = _TELLERS.get(value["type"])
    return teller(value, graph) if teller else []


def _said(value: dict[str, Any], graph: RuntimeGraph) -> list[Message]:
    text = "\n".join(part.get("text", "") for part in value["parts"])
    role = "assistant" if value["role"] == "assistant" else "user"
    return [{"id": value["id"], "role": role, "content": text}]


def _called(value: dict[str, Any], graph: RuntimeGraph) -> list[Message]:
    arguments = json.dumps(value["arguments"]["value"], ensure_ascii=False)
    call = {
        "id": value["id"],
        "type": "function",
        "function": {"name": value["tool"], "arguments": arguments},
    }
    return [{"role": "assistant", "content": None, "tool_calls": [call]}]


def _answered(value: dict[str, Any], graph: RuntimeGraph) -> list[Message]:
    result = graph.read(value["id"])
    told = {name: value[name] for name in ("status", "error", "retry") if name in value}
    text = result.decode() if result is not None else json.dumps(told, ensure_ascii=False)
    return [{"role": "tool", "tool_call_id": value["call"], "content": text}]


def _finished(value: dict[str, Any], graph: RuntimeGraph) -> list[Message]:
    told = {name: value[name] for name in ("status", "report", "files", "error", "retry") if name in value}
    return [{"role": "user", "content": json.dumps(told, ensure_ascii=False)}]


_TELLERS: Mapping[str, Callable[[dict[str, Any], RuntimeGraph], list[Message]]] = {
    "message": _said,
    "tool_call": _called,
    "tool_artifact": _answered,
    "run_finished": _finished,
}


def _system() -> Message:
    return {"role": "system", "content": SYSTEM}


def _texts(message: Message) -> list[str]:
    content = message["content"]
    texts = [content] if isinstance(content, str) else [part.get("text", "") for part in content or ()]
    for call in message.get("tool_calls", ()):
        texts += [call["id"], call["function"]["name"], call["function"]["arguments"]]
    return [*texts, message.get("tool_call_id", "")]
