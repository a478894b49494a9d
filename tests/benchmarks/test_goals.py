"""What a run has seen becomes ratios, goals and a report."""

import json

import pytest
from msgspec.structs import replace

from benchmarks import plan
from benchmarks.assembly import Took
from benchmarks.contention import Contention
from benchmarks.footprint import Growth
from benchmarks.goals import goals
from benchmarks.many_rows import ManyRows
from benchmarks.peers.catalogue import PEERS
from benchmarks.report import MARK, as_json, as_markdown, documented
from benchmarks.rounds import Contender, Slice, Spread, play, ratio, slice_of, tail
from benchmarks.run import CAS, CEILING, EMPTY, HELLO, MERGE, RAW_READ, RAW_WRITE, READ, Measured, Table
from benchmarks.sessions import Sessions
from benchmarks.stall import Stalls

ALWAYS = {"PF-1", "PF-2", "PF-3", "PF-4", "PF-5", "PF-6", "PF-7", "PF-8", "PF-9"}
OURS = {
    HELLO: 1000,
    EMPTY: 500,
    READ: 700,
    CAS: 400,
    MERGE: 390,
    RAW_WRITE: 1000,
    RAW_READ: 5000,
    CEILING: 9000,
}
ROUNDS = 3


def slices(rate: float, *, rounds: int = ROUNDS, p99_ms: float = 4.0) -> list[Slice]:
    return [Slice(count=int(rate), seconds=1.0, median_ms=2.0, p99_ms=p99_ms)] * rounds


def table(clients: int, **rates: float) -> Table:
    peers = {f"{name} {act}": slices(50) for name in PEERS for act in ("write", "read")}
    return Table(
        clients=clients, size=2048, slices=peers | {name: slices(rate) for name, rate in OURS.items()}
    )


def talked(*, longest: float = 85) -> Sessions:
    lengths = {10: slices(100), 100: slices(90), 1_000: slices(longest)}
    return Sessions(appends=lengths, windows=lengths)


def measured() -> Measured:
    same = Spread(0.9, 0.85, 0.95)
    return Measured(
        plan=plan.quick({}),
        tables=tuple(table(clients) for clients in (1, 8, 32)),
        contention=Contention(slices(60), slices(100), lost=0),
        stalls=Stalls(locked=same, stopped=same),
        growth=Growth(states=100, row=3000.0, key=300.0, hot=2500.0),
        worker_bytes=80 * 1024 * 1024,
        many_rows=None,
        sessions=talked(),
        assemblies={1_000: Took(9.0, 3.0, 1.0, 300.0), 10_000: Took(30.0, 5.0, 1.0, 300.0)},
        peers={"langgraph": "1"},
        seconds=1.0,
    )


class Worker:
    """A contender of the test: it writes down when it had a turn."""

    def __init__(self, name: str, turns: list[str]) -> None:
        self._name, self._turns = name, turns

    def run(self, seconds: float) -> Slice:
        self._turns.append(self._name)
        return Slice(count=10, seconds=seconds)


def test_rounds_are_interleaved() -> None:
    """PF: each round has one turn of everybody, and nobody is always the first."""
    turns: list[str] = []
    contenders: dict[str, Contender] = {name: Worker(name, turns) for name in "abc"}
    results = play(contenders, rounds=3, seconds=1)
    assert "".join(turns[3:]) == "abcbcacab"
    assert {name: len(found) for name, found in results.items()} == {"a": 3, "b": 3, "c": 3}


def test_a_ratio_compares_round_by_round() -> None:
    """PF: a round in which all were slow does not change what one is of the other."""
    slow, fast = slices(100, rounds=1), slices(1000, rounds=1)
    found = ratio(slices(50, rounds=1) + slices(500, rounds=1), slow + fast)
    assert found == Spread(0.5, 0.5, 0.5)


def test_a_slice_knows_its_slowest_hundredth() -> None:
    """PF-6: the 99th percentile of a hundred is the last but one, or the last."""
    done = slice_of([0.001] * 98 + [0.5, 1.0], seconds=2.0)
    assert (done.count, done.rate, done.median_ms, done.p99_ms) == (100, 50.0, 1.0, 1000.0)
    assert tail([done]).middle == 1000.0


def test_every_goal_has_its_number() -> None:
    """PF-1 to PF-9: a quick run has a number for each; of PF-4 a full one has one more."""
    quick = measured()
    assert goals(quick).keys() == ALWAYS
    many = ManyRows(few=1_000, many=2_000_000, warm=100_000, ratio=Spread(0.9, 0.9, 0.9))
    counts = [len(goals(run)["PF-4"].parts) for run in (quick, replace(quick, many_rows=many))]
    assert counts == [4, 5]
    assert [part.value for part in goals(quick)["PF-4"].parts] == [0.9, 0.85] * 2


def test_the_numbers_are_held_against_the_bounds() -> None:
    """PF-1, PF-2: what is met is told as met, the aim for itself, and the value is the one nearest to failing."""
    found = goals(measured())
    assert (found["PF-1"].value, found["PF-1"].must_met, found["PF-1"].aim_met) == (0.7, True, True)
    assert [part.value for part in found["PF-2"].parts] == [0.4, 0.975]
    assert found["PF-7"].must_met


@pytest.mark.parametrize(
    ("goal", "change"),
    [
        ("PF-5", {"contention": Contention(slices(60), slices(100), lost=1)}),
        ("PF-5", {"contention": Contention(slices(20), slices(100), lost=0)}),
        ("PF-7", {"worker_bytes": 200 * 1024 * 1024}),
        ("PF-7", {"growth": Growth(states=100, row=4000.0, key=300.0, hot=2500.0)}),
        ("PF-4", {"sessions": talked(longest=79)}),
        ("PF-8", {"assemblies": {10_000: Took(40.0, 9.0, 1.5, 300.0)}}),
        ("PF-9", {"stalls": Stalls(locked=Spread(0.1, 0.0, 0.2), stopped=Spread(0.9, 0.9, 0.9))}),
    ],
)
def test_a_goal_that_is_missed_is_told(goal: str, change: dict[str, object]) -> None:
    """PF-5, PF-7, PF-9: one number on the wrong side is enough, and the others stand as they are."""
    seen = goals(replace(measured(), **change))
    assert [name for name, found in seen.items() if not found.must_met] == [goal]


def test_the_file_has_its_shape() -> None:
    """PF: each goal with its value and whether it is met, as JSON."""
    told = json.loads(json.dumps(as_json(measured(), {"machine": "a test"})))
    assert told.keys() == ALWAYS | {"run"}
    for name in ALWAYS:
        assert isinstance(told[name]["value"], float)
        assert told[name]["must_met"] in {True, False}
        assert told[name]["aim_met"] in {True, False}
        assert all(
            {"value", "low", "high", "must", "aim", "unit"} <= part.keys() for part in told[name]["parts"]
        )


def test_the_report_names_everything() -> None:
    """PF: machine, sizes, clients, how to run it again, what is left out, each contender and each goal."""
    text = as_markdown(measured(), {"machine": "a test"})
    for word in (
        "a test",
        "make bench QUICK=1",
        "2,048 bytes",
        "32 clients",
        "leave out",
        "no authentication",
    ):
        assert word in text
    assert all(f"| {name}" in text for name in (*OURS, *ALWAYS))
    assert all(f"| {name} write" in text for name in PEERS)


def test_a_document_takes_the_newest_report() -> None:
    """PF: what a person wrote stays, what an earlier run wrote goes."""
    once = documented("# Performance\n", "first\n")
    assert documented(once, "second\n") == f"# Performance\n{MARK}\n\nsecond\n"
