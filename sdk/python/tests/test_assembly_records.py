"""Records: classes, what they name, and that they are written as they are read (CA-1 to CA-8b)."""

import ast
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from runtime_graphs import World, at
from runtime_graphs.made_up import worlds
from scenarios.others import OTHERS
from scenarios.published import PUBLISHED

import lastro.assembly
from lastro.assembly.errors import RecordsInvalid
from lastro.assembly.policy import Policy, PolicyUnknown, allowed, policy_of, when_stale
from lastro.assembly.records import (
    RECORD_TYPES,
    TREATMENTS,
    Reference,
    parse_record,
    references_of,
    strictest,
)
from lastro.assembly.records.writing import to_json
from lastro.assembly.rendering.turns import items_of
from lastro.assembly.request import parse_request
from lastro.assembly.rules.pruning import may_prune
from lastro.assembly.rules.situation import class_of
from lastro.assembly.snapshot import Candidate

SOURCES = Path(lastro.assembly.__file__).parent
IMPURE = {
    "asyncio", "django", "httpx", "logging", "os", "pathlib", "random", "secrets", "shutil", "socket", "ssl",
    "subprocess", "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip


def test_deciding_has_no_clock_and_no_way_out() -> None:
    """CA-18, SD-10: nothing of the package can look at a clock, a file or the network, or draw lots."""
    for path in SOURCES.rglob("*.py"):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.partition(".")[0] for name in names} & IMPURE, path
            is_clock = isinstance(node, ast.Attribute) and node.attr in ("now", "utcnow", "today")
            assert not is_clock, path


def test_the_server_alone_writes_what_was_seen() -> None:
    """CA-1: no host can write an assembly or a decision of policy."""
    assert set(RECORD_TYPES) == {
        "conversation", "branch", "participant", "message", "model_run", "tool_call", "tool_artifact",
        "tool_memory", "skill_state", "checkpoint", "promotion", "message_finalized", "supersession", "conflict",
        "settlement", "resolution", "run_finished",
    }  # fmt: skip


@given(world=worlds())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_records_are_written_as_they_are_read(world: World) -> None:
    """CA-3: reading and writing lose nothing and add nothing."""
    for value in world.written:
        record = parse_record(value)
        assert parse_record(to_json(record)) == record


@pytest.mark.parametrize("make", [*PUBLISHED, *OTHERS], ids=lambda make: make.__name__)
def test_recorded_runs_are_written_as_they_are_read(make: Any) -> None:
    """CA-3: the same for every type of record, with every member in use."""
    for value in make().world.written:
        record = parse_record(value)
        assert parse_record(to_json(record)) == record


@pytest.mark.parametrize("make", [*PUBLISHED, *OTHERS], ids=lambda make: make.__name__)
def test_no_repr_holds_content(make: Any) -> None:
    """SD-11: what is printed of records, snapshots and assemblies names ids, never what was said or found."""
    scenario = make()
    world = scenario.world
    graph = world.graph()
    snapshot = graph.snapshot(world.request(**scenario.asked), scenario.policy)
    assembly = world.assemble(graph=graph, policy=scenario.policy, **scenario.asked)
    printed = repr((snapshot, assembly, items_of(assembly)))
    texts = [value["summary"] for value in world.written if "summary" in value]
    texts += [part["text"] for value in world.written for part in value.get("parts", ())]
    texts += [content.decode() for content in assembly.contents.values()]
    assert not [text for text in texts if text in printed]


def test_each_reference_has_its_place() -> None:
    """CA-3: what a record names, by type and with the pointer of the place."""
    world = World()
    world.memory("mem-0")
    world.memory("mem-1", supersedes=["mem-0"], shared_with=["other"], message=None)
    found = dict(references_of(parse_record(world.written[-1]), "/records/7"))
    assert found == {
        "/records/7/conversation": Reference("conversation", "talk"),
        "/records/7/branch": Reference("branch", "main"),
        "/records/7/participant": Reference("participant", "lead"),
        "/records/7/run": Reference("model_run", "run-1"),
        "/records/7/shared_with/0": Reference("participant", "other"),
        "/records/7/artifacts/0": Reference("tool_artifact", "art-mem-1"),
        "/records/7/supersedes/0": Reference("tool_memory", "mem-0"),
    }
    world.add("promotion", "p1", record_type="run_finished", record="end-1")
    found = dict(references_of(parse_record(world.written[-1])))
    assert found["/record"] == Reference("run_finished", "end-1")
    world.add("conflict", "c1", memories=["mem-0", "mem-1"])
    found = dict(references_of(parse_record(world.written[-1])))
    assert found["/memories/1"] == Reference("tool_memory", "mem-1")


WHOLE: list[tuple[str, str, dict[str, Any], str]] = [
    ("a branch without its fork", "branch", {"parent": "main"}, "/fork_message"),
    ("a branch of itself", "branch", {"parent": "x", "fork_message": "m1"}, "/parent"),
    ("an answer of no run", "message", {"role": "assistant", "parts": [{"text": "x"}]}, "/run"),
    ("a text with an address", "message", {"role": "user", "parts": [{"text": "x", "url": "u"}]}, "/parts/0"),
    ("an image of nothing", "message", {"role": "user", "parts": [{"kind": "image"}]}, "/parts/0"),
    ("a message of nothing", "message", {"role": "user", "parts": []}, "/parts"),
    ("a call of no run", "tool_call", {"tool": "t"}, "/run"),
    ("a success without a result", "tool_artifact", {"call": "c", "tool": "t", "status": "succeeded"}, "/result"),
    ("a failure without an error", "tool_artifact", {"call": "c", "tool": "t", "status": "failed"}, "/error"),
    ("bytes without a digest", "tool_call", {"run": "r", "tool": "t", "arguments": {"bytes": 3}}, "/arguments/sha256"),
    ("a checkpoint of no run", "checkpoint", {}, "/run"),
    ("a conflict with itself", "conflict", {"memories": ["a", "a"]}, "/memories/1"),
    ("a settlement of a third", "settlement", {"memories": ["a", "b"], "kept": "c", "reason": "r"}, "/kept"),
    ("a settlement without a reason", "settlement", {"memories": ["a", "b"]}, "/reason"),
    ("a resolution of nothing", "resolution", {"outcome": "answered"}, ""),
    ("a memory that replaces itself later", "supersession", {"memory": "a", "supersedes": "a"}, "/supersedes"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "kind", "members", "pointer"), WHOLE, ids=[row[0] for row in WHOLE])
def test_a_record_holds_as_a_whole(why: str, kind: str, members: dict[str, Any], pointer: str) -> None:
    """CA-2, CA-4: members that are each right and do not go together are refused at their place."""
    world = World()
    world.add(kind, "x", **members)
    with pytest.raises(RecordsInvalid) as refused:
        parse_record(world.written[-1])
    assert pointer in [problem.pointer for problem in refused.value.problems]


ASKED = {
    "conversation": "talk",
    "branch": "main",
    "participant": "lead",
    "route": "openai",
    "as_of": "2026-03-02T09:00:00Z",
}
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("no branch", {"branch": None}, "/branch"),
    ("an unknown kind", {"kind": "chatty"}, "/kind"),
    ("a budget below nothing", {"budget_tokens": -1}, "/budget_tokens"),
    ("a budget that is true", {"budget_bytes": True}, "/budget_bytes"),
    ("a moment without a zone", {"as_of": "2026-03-02T09:00:00"}, "/as_of"),
    ("another's workspace", {"workspace": "theirs"}, "/workspace"),
    ("an id that is none", {"need_exact": ["a b"]}, "/need_exact/0"),
    ("a resume without its checkpoint", {"kind": "parent_resume"}, "/checkpoint"),
    ("a child without its run", {"kind": "subagent_child"}, "/run"),
    ("a send without parents", {"kind": "branch_send"}, "/parents"),
]


@pytest.mark.parametrize(("why", "change", "pointer"), WRONG, ids=[row[0] for row in WRONG])
def test_a_request_has_its_form(why: str, change: dict[str, Any], pointer: str) -> None:
    """CA-9, CA-10: every problem has its place; without it the same request is read, and its workspace is ours."""
    with pytest.raises(RecordsInvalid) as refused:
        parse_request({**ASKED, **change}, workspace="ours")
    assert [problem.pointer for problem in refused.value.problems] == [pointer]
    assert parse_request(ASKED, workspace="ours").workspace == "ours"


def test_classes_are_ordered() -> None:
    """CA-7: an unknown class counts as the strictest."""
    assert strictest() == "public"
    assert strictest("public", "personal", "internal") == "personal"
    assert strictest("public", "made up") == "secret"


def test_the_policy_is_the_documents() -> None:
    """CA-7, CA-8: read from the published document; what it does not say is the strictest."""
    document = {
        "policies": [
            {
                "name": "support",
                "candidates": 7,
                "stale": {"volatile": "marker", "bounded": "omit"},
                "routes": {"openai": {"public": "raw"}},
                "lower_privacy": [{"tool": "t", "from": "oauth", "to": "internal", "why": "w"}],
            }
        ]
    }
    policy = policy_of(document, name="support", version=9)
    assert (policy.name, policy.version, policy.candidates, policy.raw_bytes) == ("support", 9, 7, 96_000)
    assert (policy.lower_privacy[0].was, policy.lower_privacy[0].to) == ("oauth", "internal")
    assert allowed(policy, route="openai", privacy="public") == "raw"
    assert {allowed(policy, route="openai", privacy=name) for name in ("internal", "new")} == {"never"}
    named = Policy(routes={"*": {"public": "raw", "secret": "hint"}})
    assert allowed(named, route="openai", privacy="made up") == "hint"
    assert allowed(policy, route="elsewhere", privacy="public") == "never"
    assert [when_stale(policy, name) for name in ("volatile", "bounded", "new")] == [
        "marker",
        "omit",
        "marker",
    ]
    with pytest.raises(PolicyUnknown):
        policy_of(document, name="sales", version=9)
    assert allowed(Policy(), route="any", privacy="made up") == "never"


def known(world: World, id: str) -> Candidate:
    """Give a candidate of a world."""
    return next(one for one in world.snapshot().candidates if one.record.id == id)


def test_classes_of_context() -> None:
    """CA-8b: the table of the clause, and which record is of which class."""
    pruned = {name for name, treatment in TREATMENTS.items() if treatment.pruned}
    raw = {name for name, treatment in TREATMENTS.items() if treatment.brought_back_raw}
    assert pruned == {"operational", "epistemic", "provenance", "planning"}
    assert raw == {"operational", "epistemic", "provenance", "recovery"}
    world = World()
    world.says("m1", "x")
    world.memory("mem-1")
    world.memory("mem-2", context="provenance")
    world.artifact("a1", status="pending")
    world.add("skill_state", "s1", participant="lead", run="run-1", skills=[{"name": "tone"}])
    classes = {id: class_of(known(world, id)) for id in ("m1", "mem-1", "mem-2", "a1", "art-mem-1", "s1")}
    assert classes == {
        "m1": "conversational",
        "mem-1": "epistemic",
        "mem-2": "provenance",
        "a1": "recovery",
        "art-mem-1": "operational",
        "s1": "planning",
    }


def test_a_sweep_spares_what_is_needed() -> None:
    """CA-21: at its end a memory may go, not before; never what is unresolved or needed."""
    world = World()
    world.memory("mem-1")
    world.artifact("a1", status="failed")
    end = world.request().as_of
    graph = world.graph()
    graph.expires_at = {Reference("tool_memory", "mem-1"): end, Reference("tool_artifact", "a1"): end}
    found = {one.record.id: one for one in world.snapshot(graph=graph).candidates}
    assert may_prune(found["mem-1"], as_of=end, is_needed=False)
    assert not may_prune(found["mem-1"], as_of=end - timedelta(seconds=1), is_needed=False)
    assert not may_prune(found["mem-1"], as_of=end, is_needed=True)
    assert not may_prune(found["a1"], as_of=end, is_needed=False)
    assert not may_prune(found["art-mem-1"], as_of=end, is_needed=False)
    assert at(0) < end.isoformat()
