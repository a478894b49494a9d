"""What somebody might try: to reach outside of an artifact, to turn memories in a circle, to go deep, to flood."""

from typing import Any

import pytest
from runtime_graphs import POLICY, START, World, outcome, outcomes, words
from scenarios.others import digest

from lastro.assembly.assembler import assemble
from lastro.assembly.errors import RecordsInvalid, SupersessionCycle, UnknownReference
from lastro.assembly.graph import RecordConflict, RuntimeGraph
from lastro.assembly.records import Reference, parse_record, parse_records

SECRET = "the other artifact's line"


def pointing(**place: Any) -> World:
    """Give a world with a memory that points somewhere in its artifact, which has three lines of JSON and text."""
    world = World()
    world.artifact("a-other", result=SECRET)
    world.artifact("a1", result={"rows": ["one", "two"], "note": "three"})
    world.memory("mem-1", artifacts=["a1"], locators=[{"artifact": "a1", **place}])
    return world


OUTSIDE: list[tuple[str, dict[str, Any]]] = [
    ("a pointer to nothing", {"pointer": "/rows/7"}),
    ("a pointer into a text", {"pointer": "/note/0/1"}),
    ("a pointer with a negative place", {"pointer": "/rows/-1"}),
    ("a pointer with a long number", {"pointer": "/rows/" + "9" * 400}),
    ("a pointer with an Arabic digit", {"pointer": "/rows/\u0661"}),
    ("lines behind the end", {"lines": [900, 901]}),
    ("bytes behind the end", {"bytes": [4_000, 4_100]}),
    ("bytes of an exabyte", {"bytes": [0, 2**53]}),
]


@pytest.mark.parametrize(("why", "place"), OUTSIDE, ids=[row[0] for row in OUTSIDE])
def test_a_locator_outside_its_artifact_shows_nothing(why: str, place: dict[str, Any]) -> None:
    """CA-14: what points outside is no evidence: marked stale, no place is made up."""
    world = pointing(**place, digest=digest(SECRET))
    assembly = world.assemble(need_exact=("mem-1",))
    assert outcome(assembly, "mem-1") == "stale_marker"
    assert assembly.contents == {}


def test_a_locator_names_an_artifact_of_its_memory() -> None:
    """CA-5: another's artifact is refused when it is recorded, with the place."""
    world = pointing(pointer="/note", digest=digest("three"))
    world.written[-1]["locators"][0]["artifact"] = "a-other"
    with pytest.raises(RecordsInvalid) as refused:
        parse_record(world.written[-1])
    assert [(one.pointer, one.code) for one in refused.value.problems] == [
        ("/locators/0/artifact", "outside")
    ]


def test_a_locator_that_lies_about_its_content_brings_nothing_back() -> None:
    """CA-14: the digest decides, not the place; with the right one the same place is evidence."""
    assert outcome(pointing(pointer="/note", digest=digest("four")).assemble(), "mem-1") == "stale_marker"
    held = pointing(pointer="/note", digest=digest("three")).assemble(need_exact=("mem-1",))
    assert held.contents == {Reference("tool_memory", "mem-1"): b"three"}


@pytest.mark.parametrize("length", [1, 2, 3, 400])
def test_a_circle_of_replacements_is_refused(length: int) -> None:
    """CA-13: whichever record closes the circle, of whatever length, nothing of the batch is kept."""
    world = World()
    for number in range(length):
        links = {"supersedes": [f"mem-{number - 1}"]} if number else {}
        world.memory(f"mem-{number}", **links)
    graph = world.graph()
    position = graph.position
    world.add("supersession", "late", memory="mem-0", supersedes=f"mem-{length - 1}")
    with pytest.raises((SupersessionCycle, RecordsInvalid)) as refused:
        graph.record([parse_record(world.written[-1])])
    assert "supersedes" in str(refused.value)
    assert graph.position == position


def test_a_long_chain_of_replacements_shows_its_last() -> None:
    """CA-13: 400 memories, each replacing the one before: one is shown; no chain costs stack."""
    world = World()
    world.artifact("a1")
    for number in range(400):
        links = {"supersedes": [f"mem-{number - 1}"]} if number else {}
        world.memory(f"mem-{number}", artifacts=["a1"], **links)
    found = outcomes(world.assemble())
    assert [id for id, shown in found.items() if shown == "memory"] == ["mem-399"]


def test_two_hundred_branches_deep() -> None:
    """CA-2, CA-11: what is within the policy's depth counts, what is beyond does not, and neither costs stack."""
    world = World()
    parent = "main"
    for number in range(200):
        world.says(f"m-{number}", f"on {parent}", branch=parent)
        world.memory(f"mem-{number}", f"fact {number}", branch=parent)
        world.says(f"fork-{number}", "fork", branch=parent)
        world.add("branch", f"b{number}", parent=parent, fork_message=f"fork-{number}")
        parent = f"b{number}"
    world.says("last", "And now?", branch=parent)
    assembly = world.assemble(branch=parent, answers="last")
    shown = [one.reference.id for one in assembly.selected if one.form == "memory"]
    assert shown[0] == "mem-199"
    assert min(int(id.removeprefix("mem-")) for id in shown) >= 200 - POLICY.lineage_depth
    assert assembly.branch_exclusions > 100


def test_ten_thousand_candidates() -> None:
    """CA-11, CA-15: of 10,000 the policy's number is weighed, an old open call is among them, the counts add up."""
    world = World()
    world.artifact("open", status="pending")
    world.artifact("a1")
    for number in range(10_000):
        world.memory(f"mem-{number}", f"fact {number}", artifacts=["a1"])
    world.says("m1", "Well?")
    graph = world.graph()
    request = world.request(answers="m1")
    snapshot = graph.snapshot(request, POLICY)
    assembly = assemble(request, snapshot, POLICY, read=graph.read)
    assert len(snapshot.candidates) == POLICY.candidates
    assert outcome(assembly, "open") == "recovery"
    assert outcome(assembly, "m1") == "message"
    assert assembly.considered == 10_003
    assert [one.reference.id for one in assembly.selected][1] == "mem-9999"


def test_payloads_are_read_for_admitted_records_only() -> None:
    """CA-11: what a rule leaves out is never read."""
    world = World()
    world.artifact("a1")
    world.artifact("a2", privacy="secret")
    world.artifact("a3", participant="other")
    graph = world.graph()
    request = world.request(need_exact=("a1", "a2", "a3"))
    asked: list[str] = []

    def read(artifact: str) -> bytes | None:
        asked.append(artifact)
        return graph.read(artifact)

    assemble(request, graph.snapshot(request, POLICY), POLICY, read=read)
    assert asked == ["a1"]


def test_deep_json_costs_no_stack() -> None:
    """CA-3: a value of any depth is taken whole; reading it does not recurse."""
    deep: Any = "x"
    for _ in range(20_000):
        deep = [deep]
    world = World()
    world.memory("mem-1")
    record: Any = parse_record({**world.written[-1], "data": deep})
    assert record.data is deep


PLACE = {"artifact": "art-mem-1", "digest": "0" * 64}
BAD: list[tuple[str, Any, str, str]] = [
    ("no object", 7, "", "not_an_object"),
    ("no type", {"id": "x"}, "/type", "unknown_type"),
    ("an assembly", {"type": "context_assembly", "id": "x"}, "/type", "unknown_type"),
    ("a decision of policy", {"type": "policy_decision", "id": "x"}, "/type", "unknown_type"),
    ("an id with a space", {"id": "a b"}, "/id", "wrong_form"),
    ("an id of 65", {"id": "a" * 65}, "/id", "wrong_form"),
    ("an id with a line end", {"id": "a\n"}, "/id", "wrong_form"),
    ("an unknown member", {"colour": "red"}, "/colour", "unknown_member"),
    ("a member with a slash", {"a/b~": 1}, "/a~1b~0", "unknown_member"),
    ("an unknown class", {"privacy": "private"}, "/privacy", "unknown_choice"),
    ("a class that is a list", {"privacy": ["public"]}, "/privacy", "unknown_choice"),
    ("half of a character", {"summary": "\ud800"}, "/summary", "lone_surrogate"),
    ("no character of a name", {"tools": ["calendar\0"]}, "/tools/0", "wrong_form"),
    ("half of a character inside", {"data": {"a": ["\udfff"]}}, "/data", "lone_surrogate"),
    ("no number", {"data": [float("nan")]}, "/data", "not_json"),
    ("an empty summary", {"summary": ""}, "/summary", "wrong_length"),
    ("no artifact", {"artifacts": []}, "/artifacts", "wrong_length"),
    ("an artifact that is a number", {"artifacts": [3]}, "/artifacts/0", "not_a_text"),
    ("a list that is a text", {"artifacts": "a1"}, "/artifacts", "not_a_list"),
    ("a time without a zone", {"observed_at": "2026-03-02T09:00:00"}, "/observed_at", "not_a_time"),
    ("a day", {"observed_at": "2026-03-02"}, "/observed_at", "not_a_time"),
    ("a number as a time", {"observed_at": 12}, "/observed_at", "not_a_text"),
    ("a truth as a number", {"repair_attempts": True}, "/repair_attempts", "not_an_integer"),
    ("surer than any double", {"confidence": {"value": 10**399, "source": "x"}}, "/confidence/value", "not_a_number"),
    ("too sure", {"confidence": {"value": 1.1, "source": "x"}}, "/confidence/value", "out_of_bounds"),
    ("a confidence of nobody", {"confidence": {"value": 1}}, "/confidence/source", "missing"),
    ("volatile for ever", {"freshness": "volatile"}, "/stale_after", "missing"),
    ("replacing itself", {"supersedes": ["mem-1"]}, "/supersedes/0", "supersession_cycle"),
    ("two ways to a place", {"locators": [{**PLACE, "pointer": "", "lines": [1, 1]}]}, "/locators/0", "wrong_locator"),
    ("lines backwards", {"locators": [{**PLACE, "lines": [3, 1]}]}, "/locators/0/lines", "out_of_bounds"),
    ("three ends", {"locators": [{**PLACE, "bytes": [1, 2, 3]}]}, "/locators/0/bytes", "wrong_length"),
    ("a short digest", {"locators": [{**PLACE, "digest": "0"}]}, "/locators/0/digest", "wrong_form"),
]  # fmt: skip


def good() -> dict[str, Any]:
    """Give a memory that is right."""
    world = World()
    world.memory("mem-1")
    return world.written[-1]


@pytest.mark.parametrize(("why", "change", "pointer", "code"), BAD, ids=[row[0] for row in BAD])
def test_bad_records_are_refused_with_their_place(why: str, change: Any, pointer: str, code: str) -> None:
    """CA-1, CA-3: every problem has a pointer and a code; without it the same record is taken."""
    value = {**good(), **change} if isinstance(change, dict) and "type" not in change else change
    value = change if why == "no type" else value
    with pytest.raises(RecordsInvalid) as refused:
        parse_records([good(), value])
    assert (f"/records/1{pointer}", code) in [(one.pointer, one.code) for one in refused.value.problems]
    assert len(parse_records([good(), good()])) == 2


def test_all_problems_of_a_batch_are_told_at_once() -> None:
    """CA-3: all or nothing, and the whole list of what is wrong."""
    with pytest.raises(RecordsInvalid) as refused:
        parse_records([{**good(), "id": ""}, good(), {**good(), "summary": 1, "freshness": "old"}])
    assert [one.pointer for one in refused.value.problems] == [
        "/records/0/id",
        "/records/2/summary",
        "/records/2/freshness",
    ]
    with pytest.raises(RecordsInvalid):
        parse_records([good()] * 501)
    with pytest.raises(RecordsInvalid):
        parse_records([])


def test_no_refusal_says_what_was_written() -> None:
    """SD-11: no content in an exception's text."""
    with pytest.raises(RecordsInvalid) as refused:
        parse_record({**good(), "summary": ["PASSWORD-1"], "privacy": "PASSWORD-2"})
    assert "PASSWORD" not in str(refused.value) + repr(refused.value.problems)


def test_references_and_conflicts_keep_a_batch_out() -> None:
    """CA-3: an unknown reference and another record under a taken id refuse all; the same again changes nothing."""
    world = World()
    world.memory("mem-1")
    graph = RuntimeGraph(words)
    records = [parse_record(value) for value in world.written]
    with pytest.raises(UnknownReference) as refused:
        graph.record(records[1:])
    assert (refused.value.pointer, graph.position) == ("/records/0/conversation", 0)
    position = graph.record(records)
    assert graph.record(records) == position
    other = parse_record({**world.written[-1], "summary": "another"})
    with pytest.raises(RecordConflict):
        graph.record([other])
    with pytest.raises(RecordConflict):
        RuntimeGraph(words).record([*records, other])


def test_nothing_leads_from_one_conversation_to_another() -> None:
    """CA-3, CA-21: another conversation's record answers as one that is not there."""
    world = World()
    world.memory("mem-1")
    world.add("conversation", "talk-2", conversation="ticket-2")
    world.add("branch", "main-2", conversation="talk-2")
    world.memory("mem-2", supersedes=["mem-1"])
    graph = world.graph()
    stranger = {**world.written[-1], "id": "mem-3", "conversation": "talk-2", "branch": "main-2"}
    with pytest.raises(UnknownReference) as refused:
        graph.record([parse_record(stranger)])
    assert refused.value.pointer == "/records/0/participant"


def test_time_is_told_the_same_in_every_zone() -> None:
    """CA-18: a time with another offset is the same time."""
    world = World()
    world.memory("mem-1", freshness="bounded", stale_after="2026-03-02T12:00:00+02:00")
    digests = set()
    for moment in ("2026-03-02T12:00:00+00:00", "2026-03-02T09:00:00-03:00"):
        as_of = START.fromisoformat(moment)
        digests.add(world.assemble(as_of=as_of).digest)
    assert len(digests) == 1
