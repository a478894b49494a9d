"""Made-up worlds: branches, participants, children, every class, replacements and conflicts, as a test draws them."""

from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st

from lastro.assembly.records import Record, parse_record, reference_to, references_of
from runtime_graphs import World, at

VISIBILITIES = ("participant", "branch", "conversation", "audit")
PRIVACIES = ("public", "internal", "personal", "oauth", "secret")
FRESHNESSES = ("volatile", "session", "bounded", "durable", "permanent")
STATUSES = ("succeeded", "failed", "pending", "deferred")


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Draw a world of some tens of records."""
    world = World()
    random = draw(st.randoms(use_true_random=False))
    world.add("model_run", "run-o", route="openai", model="m", participant="other")
    world.add("model_run", "run-c", route="openai", model="m", participant="other", parent_run="run-1")
    world.says("m-0", "The beginning.")
    world.add("branch", "twig", parent="main", fork_message="m-0")
    memories: list[str] = []
    for number in range(draw(st.integers(4, 24))):
        _add(world, random, number, memories)
    return world


def _add(world: World, random: Random, number: int, memories: list[str]) -> None:
    kind = random.choice(("message", "artifact", "memory", "memory", "memory", "promotion", "call"))
    owner = _owner(random)
    if kind == "message":
        final = random.random() < 0.8
        world.says(f"said-{number}", f"words {number}", role="assistant", final=final, **owner)
    elif kind == "artifact":
        world.artifact(f"a-{number}", status=random.choice(STATUSES), **owner)
    elif kind == "call":
        world.call(f"c-{number}", **owner)
    elif kind == "memory":
        _remember(world, random, number, memories, owner)
    elif memories:
        _promote(world, random, number, random.choice(memories))


def _owner(random: Random) -> dict[str, Any]:
    participant, run, parent = random.choice(
        (("lead", "run-1", None), ("other", "run-o", None), ("other", "run-c", "run-1"))
    )
    return {
        "participant": participant,
        "run": run,
        "parent_run": parent,
        "branch": random.choice(("main", "main", "twig")),
        "visibility": random.choice(VISIBILITIES),
        "isolation": random.choice(("shared", "shared", "participant", "run")),
        "privacy": random.choice(PRIVACIES),
        "shared_with": random.choice(([], [], ["lead"])),
    }


def _remember(world: World, random: Random, number: int, memories: list[str], owner: dict[str, Any]) -> None:
    freshness = random.choice(FRESHNESSES)
    others = random.sample(memories, min(len(memories), random.randint(0, 2)))
    link = random.choice(("supersedes", "conflicts_with"))
    world.memory(
        f"mem-{number}",
        f"fact {number}",
        freshness=freshness,
        stale_after=at(random.choice((1, 10_000))),
        **{link: others},
        **owner,
    )
    memories.append(f"mem-{number}")


def _promote(world: World, random: Random, number: int, memory: str) -> None:
    who = random.choice(([], ["lead"], ["other"]))
    reach = random.choice(("participant", "branch", "conversation"))
    world.add(
        "promotion",
        f"p-{number}",
        record_type="tool_memory",
        record=memory,
        participants=who,
        visibility=reach,
    )


def reordered(world: World, random: Random) -> Sequence[int]:
    """Give another order in which the same records can be recorded: each behind those that it names."""
    records: list[Record] = [parse_record(value) for value in world.written]
    left, order, known = list(range(len(records))), list[int](), set[object]()
    while left:
        ready = [n for n in left if all(named in known for _, named in references_of(records[n]))]
        chosen = random.choice(ready)
        left.remove(chosen)
        order.append(chosen)
        known.add(reference_to(records[chosen]))
    return order
