"""Each rule of an assembly alone (CA-11): what it leaves out, and that it lets the same record in without its cause."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from runtime_graphs import POLICY, START, World, at, changed, outcome, outcomes

from lastro.assembly.assembler import assemble
from lastro.assembly.errors import CheckpointMissing, ContextBudgetExceeded
from lastro.assembly.policy import Lowering
from lastro.assembly.records import Reference
from lastro.assembly.results import Assembly
from lastro.assembly.rules import RULES
from lastro.assembly.rules.situation import Standing
from lastro.assembly.snapshot import Fork, lineage_of

ISOLATED = {"isolation": "participant"}
CHILD = {"participant": "other", "run": "run-c", "parent_run": "run-1", "batch": "b1"}


@pytest.fixture
def world() -> World:
    """Give a conversation with a question, and a run of a child."""
    world = World()
    world.add("model_run", "run-o", route="openai", model="m", participant="other")
    world.add("model_run", "run-c", route="openai", model="m", participant="other", parent_run="run-1")
    world.says("m1", "A question.")
    return world


def test_the_order_of_rules_is_the_order_of_reasons() -> None:
    """CA-11: the rules stand in the order of the clause; the budget comes behind them."""
    assert [name for name, _ in RULES] == [
        "workspace_and_erasure",
        "retention",
        "lineage",
        "visibility",
        "isolation",
        "promotion",
        "privacy_and_route",
        "provenance",
        "supersession",
        "contradiction",
        "freshness",
        "recovery_protection",
        "need_of_raw",
    ]


def test_erased_records_and_what_derives_from_them(world: World) -> None:
    """CA-11: what is erased is out, and a memory whose source is; another workspace's answers alike."""
    world.memory("mem-1")
    world.memory("mem-2")
    graph = world.graph()
    graph.erased = {Reference("tool_memory", "mem-1"), Reference("tool_artifact", "art-mem-2")}
    assembly = world.assemble(graph=graph)
    assert outcomes(assembly) == {
        "m1": "message",
        "mem-1": "erased",
        "mem-2": "erased",
        "art-mem-1": "not_needed_raw",
        "art-mem-2": "erased",
    }
    assert set(outcomes(world.assemble(workspace="another")).values()) == {"erased"}


def test_retention_spares_what_is_unresolved(world: World) -> None:
    """CA-11, CA-12, CA-21: at its moment a memory is expired, not before; a pending call never."""
    world.memory("mem-1")
    world.artifact("a1", status="pending")
    graph = world.graph()
    end = START + timedelta(minutes=500)
    graph.expires_at = {Reference("tool_memory", "mem-1"): end, Reference("tool_artifact", "a1"): end}
    before = world.assemble(graph=graph, as_of=end - timedelta(seconds=1))
    after = world.assemble(graph=graph, as_of=end)
    assert (outcome(before, "mem-1"), outcome(after, "mem-1")) == ("memory", "expired")
    assert outcome(after, "a1") == "recovery"


def test_lineage_ends_at_the_fork(world: World) -> None:
    """CA-2, CA-11: a branch has its parent's records up to the fork; what is anchored there counts, later not."""
    world.memory("mem-before")
    world.says("m2", "The fork.")
    world.add("branch", "twig", parent="main", fork_message="m2")
    world.memory("mem-anchored", message="m2")
    world.memory("mem-after")
    world.says("m3", "Later on main.")
    world.memory("mem-twig", branch="twig")
    world.memory("mem-shared", visibility="conversation")
    found = outcomes(world.assemble(branch="twig"))
    assert (
        found["mem-before"] == found["mem-anchored"] == found["mem-twig"] == found["mem-shared"] == "memory"
    )
    assert found["mem-after"] == found["m3"] == "other_branch"
    assert outcome(world.assemble(), "mem-twig") == "other_branch"


def test_another_conversations_record_is_not_visible(world: World) -> None:
    """CA-6: `conversation` reaches no further than its own, even where a store gave another's record."""
    world.memory("mem-1", visibility="conversation")
    snapshot = world.snapshot()
    asked = replace(world.request(), conversation="another")
    found = assemble(asked, snapshot, POLICY, read=world.graph().read)
    assert set(outcomes(found).values()) == {"not_visible"}


def test_a_message_of_another_branch_is_never_shared(world: World) -> None:
    """CA-6, CA-11: `conversation` makes a memory everybody's; what was said elsewhere was not said here."""
    world.add("branch", "twig", parent="main", fork_message="m1")
    world.says("m2", "Said on the twig.", branch="twig", visibility="conversation")
    assert outcome(world.assemble(), "m2") == "other_branch"


VISIBLE: list[tuple[str, dict[str, Any], str]] = [
    ("the viewer's own", {}, "memory"),
    ("another participant's", {"participant": "other", "run": "run-o"}, "not_visible"),
    ("another's, shared with the viewer", {"participant": "other", "shared_with": ["lead"]}, "memory"),
    ("another's, for the branch", {"participant": "other", "visibility": "branch"}, "memory"),
    ("the audit's", {"visibility": "audit"}, "not_visible"),
    ("the audit's, although shared", {"visibility": "audit", "shared_with": ["lead"]}, "not_visible"),
    ("isolated to its participant", {"participant": "other", "visibility": "branch", **ISOLATED}, "isolated"),
    ("isolated to its run", {"visibility": "branch", "isolation": "run"}, "isolated"),
    ("a child's, for the branch, not promoted", {**CHILD, "visibility": "branch"}, "not_promoted"),
    ("a child's own", CHILD, "not_visible"),
    ("a child's under the same participant", {**CHILD, "participant": "lead"}, "not_promoted"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "members", "expected"), VISIBLE, ids=[row[0] for row in VISIBLE])
def test_who_may_see_a_memory(world: World, why: str, members: dict[str, Any], expected: str) -> None:
    """CA-2, CA-6: visibility, isolation and promotion, each with its own reason; a promotion lifts each of them."""
    world.memory("mem-1", **members)
    assert outcome(world.assemble(), "mem-1") == expected
    world.add("promotion", "p1", record_type="tool_memory", record="mem-1", participants=["other"])
    assert outcome(world.assemble(), "mem-1") == expected
    world.add("promotion", "p2", record_type="tool_memory", record="mem-1", participants=["lead"])
    assert outcome(world.assemble(), "mem-1") == "memory"


def test_an_isolated_run_sees_its_own(world: World) -> None:
    """CA-2: what is isolated to a run is shown to that run, and to the resume of its checkpoint."""
    world.memory("mem-1", isolation="run")
    world.add("checkpoint", "cp-1", participant="lead", run="run-1")
    assert outcome(world.assemble(), "mem-1") == "isolated"
    assert outcome(world.assemble(run="run-1"), "mem-1") == "memory"
    assert outcome(world.assemble(checkpoint="cp-1"), "mem-1") == "memory"


def test_only_a_final_message_is_shared(world: World) -> None:
    """CA-6: what is not final is its author's alone, until a record says that it is."""
    world.says("m2", "Half an ans", role="assistant", participant="other", run="run-o", final=False)
    assert outcome(world.assemble(), "m2") == "not_visible"
    assert outcome(world.assemble(participant="other"), "m2") == "message"
    world.add("message_finalized", "f1", message="m2")
    assert outcome(world.assemble(), "m2") == "message"


def test_multi_model_hears_others_and_sees_no_more(world: World) -> None:
    """CA-10: of the others only what they visibly said, even where a chat would see what they share."""
    world.says("m2", "My view.", role="assistant", participant="other", run="run-o")
    world.memory("mem-1", participant="other", run="run-o", visibility="branch")
    chat, several = (outcomes(world.assemble(kind=kind)) for kind in ("chat", "multi_model"))
    assert (chat["m2"], chat["mem-1"]) == ("message", "memory")
    assert (several["m2"], several["mem-1"]) == ("message", "isolated")


def test_a_child_sees_its_task_and_what_was_promoted_to_it(world: World) -> None:
    """CA-10: no sibling's record reaches a child by being promoted to the branch, only by its own name."""
    world.says("task", "Your task.", participant="lead", visibility="participant", shared_with=["other"])
    world.memory("mem-own", **CHILD)
    world.add("model_run", "run-s", route="openai", model="m", participant="lead", parent_run="run-1")
    sibling = {"participant": "lead", "run": "run-s", "parent_run": "run-1", "batch": "b1"}
    world.memory("mem-sibling", **sibling)
    world.add("promotion", "p1", record_type="tool_memory", record="mem-sibling")
    asked = {"kind": "subagent_child", "participant": "other", "run": "run-c", "answers": "task"}
    found = outcomes(world.assemble(**asked))
    assert (found["task"], found["mem-own"]) == ("message", "memory")
    assert found["m1"] == found["mem-sibling"] == "not_promoted"
    world.add("promotion", "p2", record_type="tool_memory", record="mem-sibling", participants=["other"])
    assert outcome(world.assemble(**asked), "mem-sibling") == "memory"


def test_a_resume_is_never_a_blind_query(world: World) -> None:
    """CA-10: a resume names its checkpoint; what neither that, a child's end nor a name brings is left out."""
    world.add("model_run", "run-p", route="openai", model="m", participant="lead")
    world.memory("mem-named", run="run-p")
    world.memory("mem-other", run="run-p")
    world.memory("mem-child", **CHILD)
    world.add("promotion", "p1", record_type="tool_memory", record="mem-child", visibility="branch")
    world.add("run_finished", "end-c", **CHILD, status="failed", error={"code": "no_access"})
    world.add(
        "checkpoint", "cp-1", participant="lead", run="run-1", memories=["mem-named"], state={"step": 2}
    )
    found = outcomes(world.assemble(kind="parent_resume", checkpoint="cp-1", answers="m1"))
    assert (found["cp-1"], found["end-c"]) == ("recovery", "recovery")
    assert found["mem-named"] == found["mem-child"] == "memory"
    assert found["mem-other"] == "not_promoted"
    assert found["m1"] == "message"
    for without in ({}, {"checkpoint": "cp-none"}):
        with pytest.raises(CheckpointMissing):
            world.assemble(kind="parent_resume", **without)


def test_anothers_checkpoint_opens_nothing(world: World) -> None:
    """CA-2, CA-10: naming the checkpoint of another's run is answered as if it were not there."""
    world.add("checkpoint", "cp-o", participant="other", run="run-o")
    world.memory("mem-1", participant="other", run="run-o", visibility="branch", isolation="run")
    for kind in ("chat", "parent_resume"):
        with pytest.raises(CheckpointMissing):
            world.assemble(kind=kind, checkpoint="cp-o")
        assert outcome(world.assemble(kind=kind, checkpoint="cp-o", participant="other"), "mem-1") == "memory"


def test_the_end_of_a_child_is_its_parents_alone(world: World) -> None:
    """CA-6: the final state is visible to the parent's resume; a chat sees it only where it was promoted."""
    world.add("run_finished", "end-c", **CHILD, status="succeeded", report="done")
    assert outcome(world.assemble(), "end-c") == "not_visible"
    world.add("promotion", "p1", record_type="run_finished", record="end-c")
    assert outcome(world.assemble(), "end-c") == "memory"


ROUTES: list[tuple[str, str, str, str]] = [
    ("openai", "public", "memory", "raw"),
    ("openai", "internal", "memory", "raw"),
    ("openai", "personal", "memory", "hint"),
    ("openai", "oauth", "hint", "hint"),
    ("openai", "secret", "privacy_route", "privacy_route"),
    ("elsewhere", "public", "memory", "raw"),
    ("elsewhere", "internal", "memory", "hint"),
    ("elsewhere", "personal", "hint", "hint"),
    ("elsewhere", "oauth", "privacy_route", "privacy_route"),
]


@pytest.mark.parametrize(("route", "privacy", "memory", "raw"), ROUTES)
def test_what_may_leave_on_a_route(world: World, route: str, privacy: str, memory: str, raw: str) -> None:
    """CA-7: a class leaves raw, as memory, as a hint or not at all; a route that is not named is `*`."""
    world.memory("mem-1", privacy=privacy)
    found = outcomes(world.assemble(route=route, need_exact=("art-mem-1",)))
    assert (found["mem-1"], found["art-mem-1"]) == (memory, raw)


def test_what_no_route_names_never_leaves(world: World) -> None:
    """CA-7: an unknown route without `*`, and a class that a route leaves out, are the strictest."""
    world.memory("mem-1", privacy="public")
    for routes in ({"anthropic": {"public": "raw"}}, {"openai": {"internal": "raw"}}):
        assert outcome(world.assemble(policy=changed(routes=routes)), "mem-1") == "privacy_route"


def test_a_memory_is_as_private_as_its_artifacts(world: World) -> None:
    """CA-5: a lower class counts only by a named rule of the policy, which leaves a decision."""
    world.artifact("a1", tool="calendar.free_busy", privacy="oauth")
    world.memory("mem-1", artifacts=["a1"], privacy="internal", tool="calendar.free_busy")
    assert outcome(world.assemble(), "mem-1") == "hint"
    rule = Lowering(tool="calendar.free_busy", was="oauth", to="internal", why="times only")
    lowered = world.assemble(policy=changed(lower_privacy=(rule,)))
    assert outcome(lowered, "mem-1") == "memory"
    (decision,) = (one for one in lowered.policy_decisions if one.rule == "lower_privacy")
    assert (decision.rule, decision.outcome, decision.version) == ("lower_privacy", "calendar.free_busy", 4)
    assert decision.references == (Reference("tool_memory", "mem-1"),)
    raised = Lowering(tool="calendar.free_busy", was="oauth", to="secret", why="it only lowers")
    assert outcome(world.assemble(policy=changed(lower_privacy=(raised,))), "mem-1") == "hint"
    other = Lowering(tool="mail.search", was="oauth", to="internal", why="another tool")
    assert outcome(world.assemble(policy=changed(lower_privacy=(other,))), "mem-1") == "hint"


def test_a_scheduled_task_sees_no_private_state_that_it_does_not_name(world: World) -> None:
    """CA-10: as a chat, but a person's private state only by name."""
    world.memory("mem-1", privacy="personal")
    world.artifact("a2")
    world.memory("mem-2", participant="ana", run=None, shared_with=["lead"], artifacts=["a2"])
    assert outcome(world.assemble(), "mem-1") == outcome(world.assemble(), "mem-2") == "memory"
    found = outcomes(world.assemble(kind="scheduled"))
    assert found["mem-1"] == found["mem-2"] == "privacy_route"
    world.artifact("a3", privacy="personal")
    world.memory("mem-3", artifacts=["a3"])
    assert outcome(world.assemble(kind="scheduled"), "mem-3") == "privacy_route"
    named = outcomes(world.assemble(kind="scheduled", need_exact=("mem-1", "mem-2")))
    assert named["mem-1"] == named["mem-2"] == "memory"


def test_a_replaced_memory_is_out_while_its_replacement_is_admitted(world: World) -> None:
    """CA-13: replaced only where the new one is admitted in this lineage and visible here, also by way of others."""
    world.memory("mem-1")
    world.memory("mem-2", supersedes=["mem-1"])
    world.memory("mem-3", supersedes=["mem-2"])
    found = outcomes(world.assemble())
    assert (found["mem-1"], found["mem-2"], found["mem-3"]) == ("superseded", "superseded", "memory")
    world.memory("mem-4")
    world.memory("mem-5", supersedes=["mem-4"], participant="other", run="run-o")
    assert outcome(world.assemble(), "mem-4") == "memory"
    world.add("supersession", "s1", memory="mem-3", supersedes="mem-4")
    assert outcome(world.assemble(), "mem-4") == "superseded"


def test_a_replaced_memory_does_not_come_back_for_a_budget(world: World) -> None:
    """CA-13: a replacement that does not fit, or is stale, still replaces."""
    world.memory("mem-1")
    world.memory("mem-2", "word " * 50, supersedes=["mem-1"])
    found = outcomes(world.assemble(budget_tokens=60))
    assert (found["mem-1"], found["mem-2"]) == ("superseded", "over_budget")
    world.memory("mem-3")
    world.memory("mem-4", supersedes=["mem-3"], freshness="volatile", stale_after=at(0))
    found = outcomes(world.assemble())
    assert (found["mem-3"], found["mem-4"]) == ("superseded", "stale")


def marks_of(assembly: Assembly) -> dict[str, tuple[str, ...]]:
    """Give the conflicts with which each memory is marked."""
    return {
        one.reference.id: one.verdict.conflicts
        for one in assembly.selected
        if isinstance(one.verdict, Standing) and one.form == "memory"
    }


def test_both_sides_of_an_open_conflict_are_shown_and_marked(world: World) -> None:
    """CA-13: the newer one resolves nothing; a settlement does, and what it did not keep is replaced."""
    world.memory("mem-1")
    world.memory("mem-2")
    world.add("conflict", "c1", memories=["mem-1", "mem-2"])
    marks = marks_of(world.assemble())
    assert marks == {"mem-1": ("mem-2",), "mem-2": ("mem-1",)}
    world.memory("mem-3", conflicts_with=["mem-1"])
    world.memory("mem-4", supersedes=["mem-3"])
    assert marks_of(world.assemble())["mem-1"] == ("mem-2",)
    world.add("settlement", "t1", memories=["mem-1", "mem-2"], kept="mem-1", reason="the signed copy")
    settled = world.assemble()
    assert (outcome(settled, "mem-1"), outcome(settled, "mem-2")) == ("memory", "superseded")
    assert not any(marks_of(settled).values())


FRESHNESS: list[tuple[str, dict[str, Any], str]] = [
    ("volatile and stale", {"freshness": "volatile", "stale_after": at(100)}, "stale"),
    ("bounded and stale", {"freshness": "bounded", "stale_after": at(100)}, "stale_marker"),
    ("session and over", {"freshness": "session", "stale_after": at(100)}, "stale_marker"),
    ("durable with an end", {"freshness": "durable", "stale_after": at(100)}, "stale_marker"),
    ("durable without", {"freshness": "durable"}, "memory"),
    ("permanent whatever it says", {"freshness": "permanent", "stale_after": at(100)}, "memory"),
]


@pytest.mark.parametrize(("why", "members", "expected"), FRESHNESS, ids=[row[0] for row in FRESHNESS])
def test_stale_is_no_present_fact(world: World, why: str, members: dict[str, Any], expected: str) -> None:
    """CA-8: at its moment a memory is stale, not before; then a marker or nothing, as the policy says."""
    world.memory("mem-1", about="what it is about", **members)
    before = world.assemble(as_of=START + timedelta(minutes=100, seconds=-1))
    after = world.assemble(as_of=START + timedelta(minutes=100))
    assert (outcome(before, "mem-1"), outcome(after, "mem-1")) == ("memory", expected)


def test_an_exact_need_brings_a_stale_memory_back_raw(world: World) -> None:
    """CA-8, CA-11: exact evidence of a stale memory is shown as evidence, where its class may leave raw."""
    from scenarios.others import digest

    world.artifact("a1", result="first line\nsecond line\n")
    place = [{"artifact": "a1", "lines": [2, 2], "digest": digest("second line")}]
    stale = {"freshness": "bounded", "stale_after": at(1), "locators": place, "artifacts": ["a1"]}
    world.memory("mem-1", **stale)
    world.memory("mem-2", privacy="personal", **stale)
    assembly = world.assemble(need_exact=("mem-1", "mem-2"))
    assert (outcome(assembly, "mem-1"), outcome(assembly, "mem-2")) == ("raw", "stale_marker")
    assert assembly.contents == {Reference("tool_memory", "mem-1"): b"second line"}
    world.memory("mem-3", privacy="personal", locators=place, artifacts=["a1"])
    assert outcome(world.assemble(need_exact=("mem-3",)), "mem-3") == "memory"


RECOVERY: list[tuple[str, dict[str, Any], str]] = [
    ("pending", {"status": "pending"}, "recovery"),
    ("deferred", {"status": "deferred"}, "recovery"),
    ("failed", {"status": "failed"}, "recovery"),
    ("succeeded", {}, "not_needed_raw"),
]


@pytest.mark.parametrize(("why", "members", "expected"), RECOVERY, ids=[row[0] for row in RECOVERY])
def test_what_is_unresolved_is_protected(
    world: World, why: str, members: dict[str, Any], expected: str
) -> None:
    """CA-12: whatever its class and its age; and until a result of the same call or a resolution is recorded."""
    world.artifact("a1", privacy="secret" if members else "internal", **members)
    for number in range(30):
        world.memory(f"mem-{number}")
    assert outcome(world.assemble(), "a1") == expected
    assert (outcomes(world.assemble(policy=changed(candidates=3))).get("a1") == "recovery") == bool(members)
    world.artifact("a2", call="call-a1")
    assert outcome(world.assemble(), "a1") == ("privacy_route" if members else "superseded")


def test_a_resolution_ends_the_protection(world: World) -> None:
    """CA-12: a failure that somebody took care of needs no place any more."""
    world.artifact("a1", status="failed")
    world.call("call-2")
    assert outcome(world.assemble(), "a1") == outcome(world.assemble(), "call-2") == "recovery"
    world.add("resolution", "r1", artifact="a1", outcome="retried")
    world.add("resolution", "r2", call="call-2", outcome="abandoned")
    found = outcomes(world.assemble())
    assert found["a1"] == found["call-2"] == "not_needed_raw"


def test_a_resolution_names_one_type(world: World) -> None:
    """CA-1, CA-12: ids are unique by type; what is said of an artifact is not said of a call with the same id."""
    world.artifact("a1", status="failed")
    world.call("a1")
    world.add("resolution", "r1", artifact="a1", outcome="retried")
    recovered = [one for one in world.assemble().decisions if one.form == "recovery"]
    assert [one.reference.type for one in recovered] == ["tool_call"]


def test_raw_enters_only_where_it_is_needed_and_fits(world: World) -> None:
    """CA-11: named, current, or waited for; within the policy's bytes, counted before anything is read."""
    world.artifact("a1", result="x" * 60)
    world.artifact("a2", result="y" * 60)
    needed = ("a1", "a2")
    assert outcomes(world.assemble(need_exact=needed))["a1"] == "raw"
    bounded = world.assemble(need_exact=needed, policy=changed(raw_bytes=100))
    assert sorted(outcomes(bounded)[id] for id in needed) == ["over_budget", "raw"]
    assert outcome(world.assemble(run="run-1"), "a1") == "raw"
    assert outcome(world.assemble(), "a1") == "not_needed_raw"


def test_a_remembered_result_is_raw_only_in_the_last_round(world: World) -> None:
    """CA-11: of the current run, what a memory stands for is not shown twice, but for the results just come."""
    for number in (1, 2):
        world.call(f"call-{number}", round=number)
        world.artifact(f"a{number}", call=f"call-{number}")
        world.memory(f"mem-{number}", artifacts=[f"a{number}"])
    found = outcomes(world.assemble(run="run-1"))
    assert (found["a1"], found["a2"]) == ("not_needed_raw", "raw")


def test_the_budget_is_filled_in_order(world: World) -> None:
    """CA-11: recovery, exact needs, checkpoint, the message answered, recent messages, then memories by distance."""
    world.says("m2", "The fork.")
    world.add("branch", "twig", parent="main", fork_message="m2")
    here = {"branch": "twig"}
    world.memory("mem-old", "old " * 4, **here)
    world.memory("mem-new", "new " * 4, **here)
    world.memory("mem-far", "far " * 4, message="m2")
    world.artifact("a1", status="pending", **here)
    world.artifact("a2", **here)
    world.add("checkpoint", "cp-1", participant="lead", run="run-1", **here)
    world.says("m3", "Recent.", **here)
    world.says("m4", "Answer this.", **here)
    asked = {"branch": "twig", "answers": "m4", "checkpoint": "cp-1", "need_exact": ("a2",)}
    whole = world.assemble(**asked)
    kept = [one.reference.id for one in whole.selected]
    assert kept == ["a1", "a2", "cp-1", "mem-new", "mem-old", "mem-far", "m1", "m2", "m3", "m4"]
    for tokens in range(whole.assembled.tokens - 1, 45, -1):
        within = outcomes(world.assemble(**asked, budget_tokens=tokens))
        shown = [id for id in kept if within[id] != "over_budget"]
        assert {"a1", "cp-1", "m4"} <= set(shown)
        assert "mem-far" not in shown or "mem-old" in shown
        assert not {"mem-new", "mem-old", "mem-far"} & set(shown) or "m3" in shown


def test_messages_stay_an_unbroken_tail(world: World) -> None:
    """CA-11: the latest messages up to the policy's number; where one does not fit, none before it enters."""
    for number in range(2, 8):
        world.says(f"m{number}", "word " * (80 if number == 4 else 2))
    found = outcomes(world.assemble(answers="m7", budget_tokens=100))
    assert [found[f"m{number}"] for number in range(1, 8)] == ["over_budget"] * 4 + ["message"] * 3
    windowed = outcomes(world.assemble(answers="m7", policy=changed(recent_messages=2)))
    assert [windowed[f"m{number}"] for number in range(1, 8)] == ["candidate_limit"] * 4 + ["message"] * 3


@pytest.mark.parametrize("unit", ["tokens", "bytes"])
def test_a_minimum_that_does_not_fit_is_refused(world: World, unit: str) -> None:
    """CA-12: the refusal names what is needed; with that much the same request is answered, and nothing is dropped."""
    world.artifact("a1", status="deferred")
    world.memory("mem-1")
    with pytest.raises(ContextBudgetExceeded) as refused:
        world.assemble(answers="m1", **{f"budget_{unit}": 3})
    assert (refused.value.unit, refused.value.allowed, set(refused.value.references)) == (
        unit,
        3,
        {"a1", "m1"},
    )
    enough = world.assemble(answers="m1", **{f"budget_{unit}": refused.value.needed})
    assert (outcome(enough, "a1"), outcome(enough, "m1")) == ("recovery", "message")
    with pytest.raises(ContextBudgetExceeded):
        world.assemble(answers="m1", **{f"budget_{unit}": refused.value.needed - 1})


def test_words_that_need_others_are_shown_beside_them_only(world: World) -> None:
    """O28: "unchanged since the last read" is served only where that read is in the same context."""
    world.memory("mem-1", "the text " * 20)
    world.memory("mem-2", "unchanged", depends_on=["mem-1"])
    world.memory("mem-3", "still unchanged", depends_on=["mem-2"])
    assert outcome(world.assemble(), "mem-3") == "memory"
    found = outcomes(world.assemble(budget_tokens=50))
    assert (found["mem-1"], found["mem-2"], found["mem-3"]) == (
        "over_budget",
        "broken_provenance",
        "broken_provenance",
    )


def test_skills_last_as_long_as_their_run(world: World) -> None:
    """CA-8b: planning context is for the current run, or while its skills are loaded; a later state replaces it."""
    loaded = {"participant": "lead", "run": "run-1"}
    world.add("skill_state", "s1", skills=[{"name": "tone"}], **loaded)
    world.add("skill_state", "s2", skills=[{"name": "tone"}, {"name": "reply"}], **loaded)
    assert outcomes(world.assemble(run="run-1")) == {"m1": "message", "s1": "superseded", "s2": "skill"}
    assert outcome(world.assemble(skills=("reply",)), "s2") == "skill"
    assert outcome(world.assemble(), "s2") == "expired"


def test_candidates_of_the_lineage_come_before_shared_ones(world: World) -> None:
    """CA-11: shared records fill the places left; what lies beyond is counted, not forgotten."""
    world.add("branch", "twig", parent="main", fork_message="m1")
    for number in range(6):
        world.memory(f"shared-{number}", branch="twig", visibility="conversation")
        world.memory(f"own-{number}")
    assembly = world.assemble(policy=changed(candidates=9))
    memories = [id for id, found in outcomes(assembly).items() if found == "memory"]
    assert len([id for id in memories if id.startswith("own")]) == 6
    assert len([id for id in memories if id.startswith("shared")]) == 2
    everything = world.assemble()
    assert assembly.considered == everything.considered
    assert assembly.omitted["candidate_limit"] + len(assembly.decisions) + assembly.branch_exclusions >= 25


def test_what_is_shared_from_behind_the_fork_comes_last(world: World) -> None:
    """CA-11: a record of an ancestor behind the fork is a shared one, however new it is."""
    world.artifact("a1")
    world.memory("own", artifacts=["a1"])
    world.says("m2", "The fork.")
    world.add("branch", "twig", parent="main", fork_message="m2")
    world.memory("shared", artifacts=["a1"], visibility="conversation")
    bound = world.assemble(branch="twig", policy=changed(candidates=3, recent_messages=1))
    assert outcomes(bound) == {"m1": "candidate_limit", "m2": "message", "own": "memory"}
    whole = [one.reference.id for one in world.assemble(branch="twig").selected]
    assert whole == ["own", "shared", "m1", "m2"]


def test_a_bound_of_candidates_is_none_for_what_is_protected(world: World) -> None:
    """CA-12: more open calls than candidates: all of them are there."""
    for number in range(6):
        world.artifact(f"a{number}", status="pending")
    assembly = world.assemble(policy=changed(candidates=2))
    assert [outcome(assembly, f"a{number}") for number in range(6)] == ["recovery"] * 6


def test_rows_in_any_order_are_decided_alike(world: World) -> None:
    """CA-18: the order in which a store gives its rows is in no decision and no digest."""
    for number in range(5):
        world.memory(f"mem-{number}")
    snapshot, request, read = world.snapshot(), world.request(), world.graph().read
    turned = replace(snapshot, candidates=snapshot.candidates[::-1])
    one, other = (assemble(request, rows, POLICY, read=read) for rows in (snapshot, turned))
    assert one == other


def test_a_fork_at_an_inherited_message_counts_for_all_above() -> None:
    """CA-2: a branch that forks at what its parent inherited has nothing of the grandparent behind that."""
    early, late = (START, "m1"), (START + timedelta(minutes=9), "m9")
    steps = lineage_of("c", {"c": Fork("b", early), "b": Fork("a", late)}, depth=9)
    assert (steps["b"].until, steps["a"].until) == (early, early)


def test_a_lineage_is_a_loop_over_branches() -> None:
    """CA-2: 200 branches deep costs no stack; what is beyond the depth is no lineage, and a circle ends it."""
    forks = {f"b{n}": Fork(f"b{n - 1}", (START, f"m{n}")) for n in range(1, 201)}
    steps = lineage_of("b200", forks, depth=64)
    assert len(steps) == 65
    assert (steps["b136"].distance, "b135" in steps) == (64, False)
    assert len(lineage_of("b200", forks, depth=1_000)) == 201
    circle = {"a": Fork("b", (START, "m")), "b": Fork("a", (START, "m"))}
    assert set(lineage_of("a", circle, depth=64)) == {"a", "b"}


def test_a_policy_tells_what_it_brought_about(world: World) -> None:
    """CA-1: each rule with its outcome, the policy's version, and the records that it is about."""
    world.memory("mem-1", privacy="oauth")
    world.memory("mem-2", freshness="bounded", stale_after=at(1))
    world.memory("mem-3", participant="other", run="run-o")
    world.memory("mem-5")
    world.memory("mem-4", conflicts_with=["mem-5"])
    told = {
        (one.rule, one.outcome): [name.id for name in one.references]
        for one in world.assemble().policy_decisions
    }
    artifacts = [f"art-mem-{number}" for number in (1, 2, 4, 5)]
    assert told == {
        ("privacy_and_route", "hint"): ["mem-1"],
        ("freshness", "stale_marker"): ["mem-2"],
        ("visibility", "not_visible"): ["art-mem-3", "mem-3"],
        ("contradiction", "shown_as_conflicting"): ["mem-4", "mem-5"],
        ("need_of_raw", "not_needed_raw"): artifacts,
    }
    assert {(one.policy, one.version) for one in world.assemble().policy_decisions} == {("support", 4)}


def test_the_policy_of_these_tests_is_the_documents() -> None:
    """CA-11: the bounds of the first policy."""
    assert (POLICY.candidates, POLICY.raw_bytes, POLICY.lineage_depth, POLICY.repair_attempts) == (
        80,
        96_000,
        64,
        2,
    )
