"""What holds of every assembly, on made-up worlds (CA-6, CA-12, CA-13, CA-15, CA-18)."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from runtime_graphs import World, changed, memory_named, outcomes
from runtime_graphs.made_up import reordered, worlds

from lastro.assembly.assembler import why
from lastro.assembly.graph import SELECTABLE, RuntimeGraph
from lastro.assembly.records import Promotion, ToolArtifact, ToolCall, ToolMemory, parse_record
from lastro.assembly.results import Assembly
from lastro.assembly.rules.budget import FRAME_SIZE

KINDS = st.sampled_from(("chat", "multi_model", "autonomous", "subagent_child", "scheduled"))
BRANCHES = st.sampled_from(("main", "twig"))
OPEN = changed(
    routes={"*": dict.fromkeys(("public", "internal", "personal", "oauth", "secret"), "raw")},
    stale={"volatile": "marker", "bounded": "marker"},
)
TESTS = Path(__file__).parent


def selectable(world: World) -> list[str]:
    """Give the names of what should have an outcome: a call counts until it has an artifact."""
    records = [parse_record(value) for value in world.written]
    answered = {record.call for record in records if isinstance(record, ToolArtifact)}
    return [
        f"{record.wire} {record.id}"
        for record in records
        if isinstance(record, SELECTABLE) and not (isinstance(record, ToolCall) and record.id in answered)
    ]


def promotions(world: World) -> dict[str, list[Promotion]]:
    """Give the promotions by what they promote."""
    found: dict[str, list[Promotion]] = {}
    for value in world.written:
        if value["type"] == "promotion":
            record = parse_record(value)
            assert isinstance(record, Promotion)
            found.setdefault(record.record, []).append(record)
    return found


@given(world=worlds(), kind=KINDS, branch=BRANCHES, limit=st.integers(1, 80))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_candidate_has_one_outcome(world: World, kind: str, branch: str, limit: int) -> None:
    """CA-15: one outcome each, and the counts add up to all that there is."""
    assembly = world.assemble(kind=kind, branch=branch, policy=changed(candidates=limit))
    names = [f"{one.reference.type} {one.reference.id}" for one in assembly.decisions]
    assert max(Counter(names).values(), default=1) == 1
    assert set(names) <= set(selectable(world))
    assert all((one.form is None) != (one.reason is None) for one in assembly.decisions)
    total = len(assembly.selected) + sum(assembly.omitted.values()) + assembly.branch_exclusions
    assert total == assembly.considered == len(selectable(world))


@given(world=worlds(), kind=KINDS, branch=BRANCHES)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_of_others_ever_appears(world: World, kind: str, branch: str) -> None:
    """CA-2, CA-6: told again from the records alone, with every class allowed on the route."""
    promoted = promotions(world)
    assembly = world.assemble(kind=kind, branch=branch, policy=OPEN)
    for decision in assembly.selected:
        record = decision.candidate.record
        reached = [
            one
            for one in promoted.get(record.id, [])
            if "lead" in one.participants or (not one.participants and one.visibility != "participant")
        ]
        reaches_all = "conversation" in (
            record.visibility,
            *(p.visibility for p in reached if not p.participants),
        )
        before_fork = record.branch == "main" and (record.id == "m-0" or record.message == "m-0")
        assert record.branch == branch or before_fork or (reaches_all and record.wire != "message")
        assert record.visibility != "audit" or reached
        is_others = record.participant not in ("lead", None)
        if is_others and not reached and record.id != "m-0":
            assert record.visibility in ("branch", "conversation") or "lead" in record.shared_with
            assert record.isolation == "shared"
        assert record.parent_run is None or reached


@given(world=worlds())
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_of_another_workspace_appears(world: World) -> None:
    """CA-11, PL-1: asked for another workspace, the same records answer as if they were not there."""
    graph = world.graph()
    graph.workspace = "theirs"
    assembly = world.assemble(graph=graph)
    assert assembly.selected == ()
    assert {one.reason for one in assembly.decisions} == {"erased"}


@given(world=worlds(), limit=st.integers(1, 12), tokens=st.integers(0, 60))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_unresolved_recovery_is_always_there(world: World, limit: int, tokens: int) -> None:
    """CA-12: under every limit, route and budget that the protected minimum fits."""
    world.artifact("open", status="failed", privacy="secret")
    world.call("asked", privacy="oauth")
    policy = changed(candidates=limit, recent_messages=0, raw_bytes=0)
    minimum = minimum_of(world, policy_limit=limit)
    found = outcomes(world.assemble(policy=policy, route="nowhere", budget_tokens=minimum + tokens))
    assert (found["open"], found["asked"]) == ("recovery", "recovery")
    unresolved = [
        one.candidate
        for one in world.assemble(policy=changed(candidates=1_000)).decisions
        if not one.candidate.is_resolved and one.reason in (None, "over_budget", "not_needed_raw", "expired")
    ]
    assert all(found[one.record.id] == "recovery" for one in unresolved)


def minimum_of(world: World, *, policy_limit: int) -> int:
    """Give what the protected minimum needs, as a refusal tells it."""
    assembly = world.assemble(policy=changed(candidates=policy_limit))
    sizes = [one.candidate.sizes["recovery"].tokens for one in assembly.selected if one.form == "recovery"]
    return sum(sizes) + FRAME_SIZE.tokens


@given(world=worlds(), kind=KINDS, branch=BRANCHES, random=st.randoms(use_true_random=False))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_order_of_recording_changes_no_digest(
    world: World, kind: str, branch: str, random: Random
) -> None:
    """CA-18: the same records in any order in which they can be recorded, and rows in any order."""
    asked = {"kind": kind, "branch": branch}
    first = world.assemble(**asked)
    again = world.assemble(graph=world.graph(reordered(world, random)), **asked)
    assert (again.digest, outcomes(again)) == (first.digest, outcomes(first))
    assert [one.reference for one in again.selected] == [one.reference for one in first.selected]


@given(world=worlds(), branch=BRANCHES)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_replaced_memory_never_appears_beside_its_replacement(world: World, branch: str) -> None:
    """CA-13: while a replacement is selectable, what it replaces is in no form there."""
    assembly = world.assemble(branch=branch, policy=OPEN)
    shown = {one.reference.id for one in assembly.selected}
    for decision in assembly.selected:
        record = decision.candidate.record
        if isinstance(record, ToolMemory):
            assert not set(record.supersedes) & shown


@given(world=worlds(), kind=KINDS, branch=BRANCHES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_why_says_what_was_decided(world: World, kind: str, branch: str) -> None:
    """CA-17: evaluated again, each record has the outcome that it had, and the rule that decided is named."""
    graph = world.graph()
    request = world.request(kind=kind, branch=branch)
    snapshot = graph.snapshot(request, changed())
    assembly = world.assemble(graph=graph, kind=kind, branch=branch)
    for decision in assembly.decisions:
        told = why(request, snapshot, changed(), reference=decision.reference)
        assert (told.form, told.reason) == (decision.form, decision.reason)
        assert told.outcome == ("included" if decision.form else "omitted")
        assert told.rules[-1].outcome == (decision.reason or "passed")
        assert all(rule.outcome == "passed" for rule in told.rules[:-1])


def test_why_tells_of_what_lay_beyond() -> None:
    """CA-17: of a record only counted, the rule that would leave it out, else the bound; or that it is gone."""
    world = World()
    world.memory("mem-old")
    world.memory("mem-theirs", participant="other", run=None, artifacts=["art-mem-old"])
    world.memory("mem-new")
    graph, request = world.graph(), world.request()
    whole = {one.reference: one for one in graph.snapshot(request, changed()).candidates}
    policy = changed(candidates=1)
    bounded = graph.snapshot(request, policy)
    told = {
        name: why(
            request, bounded, policy, reference=memory_named(name), beyond=whole.get(memory_named(name))
        )
        for name in ("mem-old", "mem-theirs", "mem-new", "mem-gone")
    }
    assert {name: one.reason or one.outcome for name, one in told.items()} == {
        "mem-old": "candidate_limit",
        "mem-theirs": "not_visible",
        "mem-new": "included",
        "mem-gone": "absent",
    }


@pytest.mark.parametrize(
    ("zone", "seed"), [("UTC", "0"), ("Pacific/Auckland", "1"), ("America/Sao_Paulo", "4242")]
)
def test_a_digest_is_the_same_in_every_process(zone: str, seed: str) -> None:
    """CA-18: another process, time zone and hash seed."""
    environment = {**os.environ, "TZ": zone, "PYTHONHASHSEED": seed, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-m", "runtime_graphs.digests"]
    ran = subprocess.run(command, env=environment, cwd=TESTS, capture_output=True, text=True, check=True)
    from runtime_graphs.digests import digests

    assert ran.stdout.split() == digests()


@given(world=worlds())
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_graph_at_a_position_is_what_it_was(world: World) -> None:
    """CA-16, CA-18: what was recorded later changes no assembly of an earlier position."""
    graph = world.graph()
    position, request = graph.position, world.request()
    before = graph.snapshot(request, changed())
    world.memory("late")
    later = RuntimeGraph(world.count)
    later.record([parse_record(value) for value in world.written])
    assert later.snapshot(request, changed(), position=position) == before


def differing(one: Assembly, other: Assembly) -> bool:
    """Say whether two assemblies decided differently."""
    return one.digest != other.digest


def test_what_is_decided_otherwise_has_another_digest() -> None:
    """CA-18: the digest tells a change of the graph, the moment, the policy's version or the route."""
    world = World()
    world.memory("mem-1")
    first = world.assemble()
    assert differing(first, world.assemble(policy=changed(version=5)))
    assert differing(first, world.assemble(route="elsewhere"))
    assert differing(first, world.assemble(as_of=world.request().as_of.replace(year=2027)))
    world.memory("mem-2")
    assert differing(first, world.assemble())
