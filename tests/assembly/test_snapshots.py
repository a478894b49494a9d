"""The server's snapshots are those of the graph in memory (CA-11, CA-15, CA-18)."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from runtime_graphs import World, changed
from runtime_graphs.eventful import REQUESTS, eventful_worlds
from runtime_graphs.made_up import reordered

from assembly.documents import policy_for
from lastro.assembly.policy import Policy
from lastro.assembly.results import Assembly
from tests import factories
from tests.api import OverHttp
from tests.assembly.graphs import ASSEMBLE, GRAPH
from tests.assembly.worlds import NOW, ends_at, in_memory, recorded
from workspaces import access, documents
from workspaces.types import Caller

OPEN = changed(
    routes={"*": dict.fromkeys(("public", "internal", "personal", "oauth", "secret"), "raw")},
    stale={"volatile": "marker", "bounded": "marker"},
)


class Asked(msgspec.Struct, frozen=True):
    """A world, the order in which it is recorded, and what is asked of it: now, and as of an earlier position."""

    world: World
    order: Any
    request: dict[str, Any]
    policy: Policy
    earlier: int


@st.composite
def asked(draw: st.DrawFn) -> Asked:
    """Draw a world with a request about it."""
    world = draw(eventful_worlds())
    random = draw(st.randoms(use_true_random=False))
    order = reordered(world, random)
    request = draw(st.sampled_from(REQUESTS))
    answers = draw(st.sampled_from((None, "m-0")))
    base = draw(st.sampled_from((OPEN, changed())))
    bounds = {
        "candidates": draw(st.sampled_from((1, 3, 8, 80))),
        "lineage_depth": draw(st.sampled_from((1, 64))),
    }
    policy = changed(base, recent_messages=draw(st.sampled_from((0, 1, 12))), **bounds)
    earlier = random.randint(_all_named(world, order), len(order))
    return Asked(world, order, {**request, "answers": answers}, policy, earlier)


def _all_named(world: World, order: Any) -> int:
    """Give the position from which on all is there that requests name."""
    names = [world.written[place]["id"] for place in order]
    needed = ("talk", "twig", "leaf", "lead", "other", "run-1", "run-c", "m-0", "m-1", "check")
    return max(names.index(name) for name in needed) + 1


def told(assembly: Assembly) -> dict[str, Any]:
    """Give all that two assemblies of one graph must have in common."""
    return {
        "outcomes": [(one.reference, one.form, one.reason, one.verdict) for one in assembly.decisions],
        "shown": [one.reference for one in assembly.selected],
        "omitted": dict(assembly.omitted),
        "branches": assembly.branch_exclusions,
        "considered": assembly.considered,
        "naive": assembly.naive,
        "assembled": assembly.assembled,
        "contents": dict(assembly.contents),
        "digest": assembly.digest,
    }


@given(asked=asked())
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_the_database_gives_what_memory_gives(caller: Caller, asked: Asked) -> None:
    """CA-10, CA-11, CA-13, CA-15, CA-18: the same decisions, counts, sizes and digest, then and now.

    The database records the world in another order than memory does.
    """
    with recorded(caller, asked.world, asked.order) as stored:
        ends = ends_at(NOW)
        expected = in_memory(asked.world, asked.request, asked.policy, ends=ends)
        assert told(stored.assemble(asked.request, asked.policy)) == told(expected)
        earlier = {"order": asked.order, "position": asked.earlier}
        then = in_memory(asked.world, asked.request, asked.policy, ends=ends, **earlier)
        found = stored.assemble(asked.request, asked.policy, position=asked.earlier)
        assert told(found) == told(then)


def forked(depth: int) -> World:
    """Make a world of so many branches, each forked from the one before behind its first message of two."""
    world = World()
    branch = "main"
    for number in range(depth):
        world.says(f"kept-{number}", "Before the fork.", branch=branch)
        world.add("branch", f"b-{number}", parent=branch, fork_message=f"kept-{number}")
        world.says(f"behind-{number}", "Behind the fork.", branch=branch)
        branch = f"b-{number}"
    return world


@pytest.mark.parametrize(("depth", "reached"), [(1_024, 200), (64, 64)])
def test_a_lineage_of_200_branches_is_followed(caller: Caller, depth: int, reached: int) -> None:
    """CA-2, CA-10: each ancestor up to its fork, as deep as the policy says; nothing behind a fork."""
    world = forked(200)
    policy = changed(lineage_depth=depth, candidates=1_000, recent_messages=1_000)
    asked = {"branch": "b-199"}
    with recorded(caller, world) as stored:
        found = stored.assemble(asked, policy)
    assert told(found) == told(in_memory(world, asked, policy))
    said = {one.reference.id for one in found.selected}
    assert said == {f"kept-{number}" for number in range(200 - reached, 200)}


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: str(request["kind"]))
def test_the_number_of_queries_does_not_grow(caller: Caller, request_: dict[str, Any]) -> None:
    """CA-11, CA-16: the same for a graph of a few records and for one of many, for each kind of run.

    One more where a graph has more than the policy's bound, and what is near does not fill it.
    """
    counts = []
    for memories in (1, 30, 120):
        world = World()
        for name, parent in (("run-o", None), ("run-c", "run-1")):
            owner = {"participant": "other", "parent_run": parent}
            kept = {member: value for member, value in owner.items() if value}
            world.add("model_run", name, route="openai", model="m", **kept)
        world.says("m-0", "The beginning.")
        world.add("branch", "twig", parent="main", fork_message="m-0")
        world.says("m-1", "On the other branch.", branch="twig")
        world.add("branch", "leaf", parent="twig", fork_message="m-1")
        for number in range(memories):
            world.memory(f"mem-{number}", supersedes=[f"mem-{number - 1}"] if number % 2 else [])
            world.says(f"said-{number}", "Something.", role="assistant")
        world.add("checkpoint", "check", participant="lead", run="run-1", memories=["mem-0"])
        with recorded(caller, world) as stored, CaptureQueriesContext(connection) as queries:
            stored.assemble(request_, OPEN)
        counts.append(len(queries))
    assert counts[0] + 1 == counts[1]
    assert counts[2] in counts[:2]
    assert counts[1] <= 12


@pytest.mark.long
@pytest.mark.timeout(600)
def test_ten_thousand_candidates_have_an_outcome_each(caller: Caller) -> None:
    """CA-15: of a policy that bounds nothing, and the database still gives what memory gives."""
    world = World()
    number = 0
    while len(world.written) < 10_200:
        world.memory(f"mem-{number}", supersedes=[f"mem-{number - 1}"] if number % 10 else [])
        world.says(f"said-{number}", "Something.", role="assistant")
        number += 1
    policy = changed(OPEN, candidates=20_000, recent_messages=20_000)
    with recorded(caller, world) as stored:
        found = stored.assemble({"budget_tokens": 50_000}, policy)
    assert len(found.decisions) == found.considered
    assert told(found) == told(in_memory(world, {"budget_tokens": 50_000}, policy))
    assert "over_budget" in found.omitted


def test_another_process_decides_alike(over_http: Callable[..., OverHttp]) -> None:
    """CA-18: a server with a hash seed of its own gives the digest that memory gives here."""
    workspace = factories.make_ready_workspace()
    factories.switch(workspace, "context", on=True)
    api = over_http(workspace, "context")
    world = World()
    for number in range(12):
        world.memory(f"mem-{number}", conflicts_with=[f"mem-{number - 1}"] if number % 3 == 1 else [])
    world.says("asks", "What now?")
    assert api.post(GRAPH, {"records": world.written}).status == 200
    with access.bound(workspace.id):
        policy = policy_for(documents.live(), name=None, version=None)
        ends = ends_at(timezone.now())
    asked = {"answers": "asks", "need_exact": ("mem-3",)}
    expected = in_memory(world, asked, policy, ends=ends)
    members = {**asked, "conversation": "talk", "branch": "main", "participant": "lead", "route": "openai"}
    body = api.post(ASSEMBLE, {**members, "as_of": expected.as_of}).body
    assert body["digest"] == expected.digest
    assert [item["id"] for item in body["items"]] == [one.reference.id for one in expected.selected]


def test_what_is_open_and_shared_is_seen(caller: Caller) -> None:
    """CA-6, CA-12: only a message waits to be final; what a pending call of another shares with the viewer does not."""
    world = World()
    world.add("model_run", "run-o", route="openai", model="m", participant="other")
    for status in ("pending", "succeeded"):
        shared = {"participant": "other", "run": "run-o", "shared_with": ["lead"]}
        world.call(f"call-{status}", **shared)
        world.artifact(status, call=f"call-{status}", status=status, **shared)
    with recorded(caller, world) as stored:
        found = stored.assemble({}, OPEN)
    assert told(found) == told(in_memory(world, {}, OPEN))
    assert {one.reference.id: one.form for one in found.selected} == {"pending": "recovery"}
