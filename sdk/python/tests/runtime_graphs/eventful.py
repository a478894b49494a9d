"""Made-up worlds in which much happens afterwards: answers, finalizations, resolutions, settlements, ends of runs."""

from random import Random
from typing import Any

from hypothesis import strategies as st

from runtime_graphs import World, at
from runtime_graphs.made_up import STATUSES, worlds

REQUESTS: tuple[dict[str, Any], ...] = (
    {"kind": "chat"},
    {"kind": "chat", "branch": "leaf", "run": "run-1"},
    {"kind": "multi_model", "branch": "twig"},
    {"kind": "autonomous", "run": "run-1"},
    {"kind": "subagent_child", "participant": "other", "run": "run-c"},
    {"kind": "parent_resume", "checkpoint": "check", "run": "run-1"},
    {"kind": "scheduled", "need_exact": ("mem-1", "a-2", "mem-3")},
    {"kind": "branch_send", "branch": "leaf", "parents": ("m-0", "m-1")},
)
"""Requests about such a world, one of each kind of run at least."""


@st.composite
def eventful_worlds(draw: st.DrawFn) -> World:
    """Draw a world, and then what changes much of it."""
    world = draw(worlds())
    random = draw(st.randoms(use_true_random=False))
    world.says("m-1", "On the other branch.", branch="twig")
    world.add("branch", "leaf", parent="twig", fork_message="m-1")
    for number in range(draw(st.integers(2, 14))):
        random.choice(_EVENTS)(world, random, f"e-{number}")
    world.add(
        "checkpoint",
        "check",
        participant="lead",
        run="run-1",
        waits_for=_some(world, random, "tool_call"),
        memories=_some(world, random, "tool_memory"),
        messages=_some(world, random, "message"),
    )
    return world


def _names(world: World, kind: str) -> list[str]:
    return [record["id"] for record in world.written if record["type"] == kind]


def _some(world: World, random: Random, kind: str, most: int = 3) -> list[str]:
    names = _names(world, kind)
    return random.sample(names, min(len(names), random.randint(0, most)))


def _moment(world: World, random: Random) -> str:
    """Give a time before or behind what was recorded: clocks of hosts are not one clock."""
    return at(random.randint(1, world.minute + 5))


def _finalize(world: World, random: Random, id: str) -> None:
    world.add("message_finalized", id, message=random.choice(_names(world, "message")))


def _answer(world: World, random: Random, id: str) -> None:
    """Record another artifact of a call that may have some."""
    for call in _some(world, random, "tool_call", 1):
        status = random.choice(STATUSES)
        moment = _moment(world, random)
        world.artifact(f"late-{id}", call=call, status=status, recorded_at=moment)


def _resolve(world: World, random: Random, id: str) -> None:
    member = random.choice(("call", "artifact"))
    for name in _some(world, random, f"tool_{member}", 1):
        world.add("resolution", id, outcome="answered", **{member: name})


def _supersede(world: World, random: Random, id: str) -> None:
    names = _names(world, "tool_memory")
    if len(names) > 1:
        old, new = sorted(random.sample(range(len(names)), 2))
        world.add("supersession", id, memory=names[new], supersedes=names[old])


def _disagree(world: World, random: Random, id: str) -> None:
    names = _names(world, "tool_memory")
    if len(names) > 1:
        pair = random.sample(names, 2)
        kept = random.choice((*pair, None))
        world.add("conflict", f"conflict-{id}", memories=pair)
        if random.random() < 0.6:
            world.add("settlement", id, memories=pair[::-1], kept=kept, reason="asked")


def _finish(world: World, random: Random, id: str) -> None:
    parent = {"parent_run": "run-1", "parent_call": next(iter(_some(world, random, "tool_call")), None)}
    status = random.choice(("succeeded", "failed", "timed_out"))
    kept = {name: value for name, value in parent.items() if value}
    world.add("run_finished", f"end-{id}", status=status, participant="other", run="run-c", **kept)
    if random.random() < 0.3:
        world.add("promotion", id, record_type="run_finished", record=f"end-{id}")


def _load(world: World, random: Random, id: str) -> None:
    owner = random.choice(({"participant": "lead", "run": "run-1"}, {"participant": "other"}))
    moment = _moment(world, random)
    world.add("skill_state", id, skills=[{"name": "files"}], recorded_at=moment, **owner)


def _hang(world: World, random: Random, id: str) -> None:
    """Record a memory at a message, perhaps behind a fork."""
    message = random.choice(_names(world, "message"))
    branch = random.choice(("main", "twig", "leaf"))
    visibility = random.choice(("participant", "branch", "conversation"))
    world.memory(f"hung-{id}", message=message, branch=branch, visibility=visibility)


_EVENTS = (_finalize, _answer, _resolve, _supersede, _disagree, _finish, _load, _hang)
