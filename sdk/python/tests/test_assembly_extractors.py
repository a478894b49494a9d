"""Extractors: what common tools returned, remembered without a model, with places that hold (CA-5)."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from runtime_graphs import POLICY, World
from scenarios.others import table as csv_table
from scenarios.published import drive_file

from lastro.assembly.extractors import EXTRACTORS, extract
from lastro.assembly.extractors.errors import failure_of, retry_contract
from lastro.assembly.locators import content_at, digest_of
from lastro.assembly.records import Reference, ToolArtifact, ToolMemory, parse_record
from lastro.assembly.rules.provenance import provenance_of

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
FILE = {"id": "file_1", "name": "report.pdf", "bytes": 10}


def artifact(**members: Any) -> ToolArtifact:
    """Give an artifact as it is recorded."""
    world = World()
    world.artifact("a1", **members)
    record = parse_record(world.written[-1])
    assert isinstance(record, ToolArtifact)
    return record


def remember(value: Any, **members: Any) -> ToolMemory | None:
    """Extract from a result: of text or bytes as they are, of the rest as JSON."""
    payload = (
        value
        if isinstance(value, bytes)
        else value.encode()
        if isinstance(value, str)
        else json.dumps(value).encode()
    )
    memory = extract(artifact(**members), payload=payload)
    if memory is not None:
        require_places(memory, payload)
    return memory


def require_places(memory: ToolMemory, payload: bytes) -> None:
    """Hold each locator against the payload."""
    for locator in memory.locators:
        content = content_at(locator, payload)
        assert content is not None
        assert digest_of(content) == locator.digest
    assert provenance_of(memory, read=lambda _: payload).state == "intact"


HITS = [{"title": f"T{number}", "url": f"u:{number}"} for number in range(9)]
KNOWN: list[tuple[str, Any, str, str]] = [
    ("a file", {"file": FILE, "took_ms": 3}, "report.pdf = file_1", "durable"),
    ("files", {"files": [FILE, {**FILE, "id": "f2"}]}, "report.pdf = file_1; report.pdf = f2", "durable"),
    ("a file alone", FILE, "report.pdf = file_1", "durable"),
    ("results", {"q": "saw", "results": HITS}, "T0 <u:0>; T1 <u:1>; T2 <u:2>", "volatile"),
    ("a table", "a,b\n1,x\n2.5,y\n", "2 rows; a 1 to 2.5, b", "bounded"),
    ("a table of semicolons", "a;b\n1;x\n3;y\n", "2 rows; a 1 to 3, b", "bounded"),
    ("rows", {"rows": [{"n": 4, "t": "x"}, {"n": 7, "t": "y"}]}, "2 rows; n 4 to 7, t", "bounded"),
    ("an object", {"id": 2231, "note": "n", "status": "sent", "lines": [1]}, "id 2231: status sent, note n", "bounded"),
    ("an object in an answer", {"code": 200, "data": {"id": "x/1", "total": 1.5}}, "id x/1: total 1.5", "bounded"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "value", "summary", "freshness"), KNOWN, ids=[row[0] for row in KNOWN])
def test_common_results_are_remembered(why: str, value: Any, summary: str, freshness: str) -> None:
    """CA-5, CA-8: a short summary, a freshness class, an end where the class must have one, places that hold."""
    memory = remember(value)
    assert memory is not None
    assert (memory.summary, memory.freshness) == (summary, freshness)
    assert (memory.stale_after is None) == (freshness == "durable")
    assert memory.locators
    assert memory.artifacts == ("a1",)
    assert memory.about


UNKNOWN: list[tuple[str, Any]] = [
    ("a sentence", "Done."),
    ("nothing", ""),
    ("bytes", b"\xff\xfe\x00"),
    ("a number", 7),
    ("an empty list", []),
    ("a ragged table", "a,b\n1\n2,3,4\n"),
    ("a file without a mark", {"file": {"id": "x"}}),
    ("results without addresses", {"results": [{"title": "T"}]}),
    ("an object without an id", {"ok": True}),
    ("too deep", "[" * 100_000),
    ("a number too long", '{"id": ' + "9" * 5_000 + "}"),
]


@pytest.mark.parametrize(("why", "value"), UNKNOWN, ids=[row[0] for row in UNKNOWN])
def test_what_is_not_known_is_not_remembered(why: str, value: Any) -> None:
    """CA-5: an extractor promotes little: nothing where it does not know what it reads."""
    assert remember(value) is None


def test_a_memory_is_its_artifacts_owners() -> None:
    """CA-2, CA-7: owner, visibility, isolation and privacy are the artifact's."""
    owner = {"privacy": "oauth", "isolation": "run", "visibility": "branch", "shared_with": ["other"]}
    memory = remember({"id": 1, "status": "on"}, **owner)
    assert memory is not None
    assert (memory.privacy, memory.isolation, memory.visibility) == ("oauth", "run", "branch")
    assert (memory.participant, memory.run, memory.shared_with) == ("lead", "run-1", ("other",))


def test_rows_are_not_promoted() -> None:
    """CA-5: of a long table its shape is remembered, no cell of text; its size does not grow the memory."""
    short, long = remember(csv_table(20)), remember(csv_table(2_000))
    assert short is not None
    assert long is not None
    assert "W-1001" not in long.summary
    assert len(long.summary) < len(short.summary) + 20


def test_an_id_is_never_cut() -> None:
    """CA-14: where not every file fits a summary, whole files are left out and their number is told."""
    files = [{"id": f"file_{n}" + "x" * 60, "name": f"n{n}.pdf", "bytes": 1} for n in range(30)]
    memory = remember({"files": files})
    assert memory is not None
    said = memory.summary.split("; ")
    assert [one.split(" = ")[1] for one in said] == [file["id"] for file in files[: len(said)]]
    assert memory.limits == (f"first {len(said)} of 30 files",)


def test_a_drives_list_is_a_search() -> None:
    """CA-8: the listing of a drive is volatile, and its first files are found by title and address."""
    memory = remember({"items": [drive_file(n, f"Lease {n}") for n in range(5)]})
    assert memory is not None
    assert memory.freshness == "volatile"
    assert memory.summary.startswith("Lease 0 <https://docs.example/d/1Qk0v")


def test_a_failure_that_no_retry_mends_is_remembered() -> None:
    """CA-12: others are recovery state, shown until they are resolved, and need no memory."""
    failed = artifact(status="failed", error={"code": "forbidden", "message": "no scope", "retryable": False})
    memory = extract(failed, payload=None)
    assert memory is not None
    assert memory.summary == "failed: forbidden: no scope; a retry does not help"
    assert memory.context == "recovery"
    retryable = replace(failed, error=failure_of(503))
    assert extract(retryable, payload=b'{"id": 1}') is None


RETRIES: list[tuple[str, int, dict[str, str], int, timedelta | None]] = [
    ("seconds", 429, {"Retry-After": "30"}, 2, timedelta(seconds=30)),
    ("a date", 503, {"retry-after": "Mon, 02 Mar 2026 10:00:00 GMT"}, 2, timedelta(hours=1)),
    ("a century", 503, {"Retry-After": "3153600000"}, 1, timedelta(days=1)),
    ("nonsense", 500, {"Retry-After": "soon"}, 1, None),
    ("nothing", 502, {}, 1, None),
]


@pytest.mark.parametrize(
    ("why", "status", "headers", "left", "wait"), RETRIES, ids=[row[0] for row in RETRIES]
)
def test_a_retry_has_a_contract(
    why: str, status: int, headers: dict[str, str], left: int, wait: timedelta | None
) -> None:
    """CA-4: not before when, how often still, under which key."""
    found = retry_contract(
        tool="t", status=status, headers=headers, now=NOW, attempts_left=left, idempotency_key="k"
    )
    assert found is not None
    assert found.not_before == (NOW + wait if wait else None)
    assert (found.attempts_left, found.idempotency_key) == (left, "k")


@pytest.mark.parametrize(("status", "left"), [(400, 3), (403, 3), (404, 1), (503, 0)])
def test_no_contract_where_no_retry_helps(status: int, left: int) -> None:
    """CA-12: a refusal stays one, and attempts end."""
    assert retry_contract(tool="t", status=status, headers={}, now=NOW, attempts_left=left) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(("id", "name", "title", "url", "files", "rows", "data", "size", "x")), inner
        )
    ),
    max_leaves=20,
)


@given(value=JSON | st.text(alphabet='ab,;\n\t"1\ud800', max_size=60), escaped=st.sampled_from((True, False)))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_result_breaks_an_extractor(value: Any, escaped: object) -> None:
    """CA-5, X6: whatever a tool returns; each memory can be recorded, sent, and found again in its artifact."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=bool(escaped))
    payload = text.encode(errors="surrogatepass")
    memory = extract(artifact(), payload=payload)
    if memory is None:
        return
    require_places(memory, payload)
    memory.summary.encode()
    assert extract(artifact(), payload=payload) == memory


def test_what_is_extracted_is_shown() -> None:
    """CA-1, CA-11: an extracted memory is recorded as any other, and its evidence comes back exactly."""
    world = World()
    world.artifact("a1", result={"id": 2231, "status": "sent", "lines": [1, 2]})
    graph = world.graph()
    found = graph.snapshot(world.request(), POLICY).candidates
    record = next(one.record for one in found if isinstance(one.record, ToolArtifact))
    memory = extract(record, payload=graph.read("a1"))
    assert memory is not None
    graph.record([memory])
    name = Reference("tool_memory", memory.id)
    assert world.assemble(graph=graph, need_exact=(memory.id,)).contents == {name: b"2231\nsent"}


def test_the_kinds_are_those_of_common_tools() -> None:
    """SD-10: files, search, tables, objects of interfaces, errors."""
    assert set(EXTRACTORS) == {"errors", "files", "search", "table", "api_object"}
