"""The server's snapshots are those of the graph in memory (CA-11, CA-15, CA-18)."""

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from runtime_graphs import World, changed
from runtime_graphs.made_up import reordered, worlds

from lastro.assembly.results import Assembly
from tests import factories
from tests.assembly.worlds import in_memory, recorded
from workspaces.types import Caller, WorkspaceRef

KINDS = st.sampled_from(("chat", "multi_model", "autonomous", "subagent_child", "scheduled"))
BRANCHES = st.sampled_from(("main", "twig"))
OPEN = changed(
    routes={"*": dict.fromkeys(("public", "internal", "personal", "oauth", "secret"), "raw")},
    stale={"volatile": "marker", "bounded": "marker"},
)


@pytest.fixture
def caller(aurora: WorkspaceRef) -> Caller:
    """A source that records and asks."""
    factories.switch(aurora, "context", on=True)
    return factories.make_caller(aurora, scopes=("context",))


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
        "digest": assembly.digest,
    }


@given(
    world=worlds(),
    kind=KINDS,
    branch=BRANCHES,
    random=st.randoms(use_true_random=False),
    limit=st.sampled_from((1, 3, 8, 80)),
    recent=st.sampled_from((0, 1, 12)),
    run=st.sampled_from((None, "run-1")),
    is_open=st.booleans(),
)
@settings(
    max_examples=20,
    phases=(Phase.explicit, Phase.generate),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_the_database_gives_what_memory_gives(
    caller: Caller,
    world: World,
    kind: str,
    branch: str,
    random: Random,
    limit: int,
    recent: int,
    run: str | None,
    is_open: bool,
) -> None:
    """CA-11, CA-15, CA-18: the same decisions, counts, sizes and digest, in any order of recording, then and now."""
    policy = changed(OPEN, candidates=limit, recent_messages=recent) if is_open else changed(candidates=limit)
    asked = {"kind": kind, "branch": branch, "run": run, "need_exact": ("mem-1", "a-2"), "answers": "m-0"}
    order = reordered(world, random)
    begun = _first_position(world, order)
    with recorded(caller, world, order) as stored:
        for position in (None, random.randint(begun, len(order))):
            expected = in_memory(world, asked, policy, order=order, position=position)
            assert told(stored.assemble(asked, policy, position=position)) == told(expected)


def _first_position(world: World, order: Any) -> int:
    """Give the position from which on all is there that a request names."""
    names = [world.written[place]["id"] for place in order]
    return max(names.index(name) for name in ("twig", "lead", "run-1", "m-0", "talk")) + 1
