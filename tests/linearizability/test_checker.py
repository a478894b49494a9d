"""The checker of WM-18 is checked itself: known histories, and every tiny one against the plainest check."""

import random
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.linearizability import brute
from tests.linearizability.checker import problems
from tests.linearizability.history import FOREVER, Answer, Operation
from tests.linearizability.made import MODEL, broken, right_history

EMPTY = Answer("read")


def history(*lines: tuple[Any, ...]) -> list[Operation]:
    """Make a history of (kind, called, returned, answer, members); without an answer nobody was answered."""
    return [_operation(number, *line) for number, line in enumerate(lines)]


def _operation(
    number: int, kind: Any, called: int, returned: int | None, answer: Answer | None = None, **members: Any
) -> Operation:
    end = FOREVER if returned is None else returned
    return Operation(number, f"c{number}", "s", kind, called, returned=end, answer=answer, **members)


def merge(called: int, returned: int | None, version: int = 0, **members: Any) -> Operation:
    answer = Answer("stored", version, members.pop("epoch", "e")) if returned is not None else None
    members.setdefault("changes", {"a": str(called)})
    return _operation(called, "merge", called, returned, answer, **members)


def read(called: int, returned: int, version: int, epoch: str = "e", **body: str) -> Operation:
    told = Answer("read", version, epoch if version else "none", tuple(sorted(body.items())))
    return _operation(called, "read", called, returned, told)


def delete(called: int, returned: int | None, outcome: Any = "deleted", **members: Any) -> Operation:
    answer = None if returned is None else Answer(outcome)
    return _operation(called, "delete", called, returned, answer, **members)


def cas(
    called: int, returned: int | None, answer: Answer | None, if_version: int, **members: Any
) -> Operation:
    members.setdefault("changes", {"a": str(called)})
    return _operation(called, "cas", called, returned, answer, if_version=if_version, **members)


STORED_1, CONFLICT = Answer("stored", 1, "e"), Answer("conflict")

GOOD = {
    "nothing happened": [],
    "a read of what was never written": [read(1, 2, 0)],
    "a write and its read": [merge(1, 2, 1), read(3, 4, 1, a="1")],
    "a read beside the write sees the old state": [merge(1, 9, 1), read(2, 3, 0)],
    "a read beside the write sees the new state": [merge(1, 9, 1), read(2, 3, 1, a="1")],
    "a lost write that happened": [merge(1, None), read(3, 4, 1, a="1")],
    "a lost write that never happened": [merge(1, None), read(3, 4, 0)],
    "a lost write that happens much later": [
        merge(1, None),
        read(3, 4, 0),
        merge(5, 6, 1, changes={"b": "5"}),
        read(7, 8, 2, a="1", b="5"),
    ],
    "one of two wins": [cas(1, 9, STORED_1, 0), cas(2, 8, CONFLICT, 0)],
    "sent again after a lost answer": [
        cas(1, None, None, 0, name="k", changes={"a": "1"}),
        cas(3, 4, STORED_1, 0, name="k", changes={"a": "1"}),
    ],
    "sent again after other writes": [
        merge(1, 2, 1, name="k", changes={"a": "x"}),
        merge(3, 4, 2, changes={"b": "3"}),
        merge(5, 6, 1, name="k", changes={"a": "x"}),
        read(7, 8, 2, a="x", b="3"),
    ],
    "the numbering goes on after a deletion": [
        merge(1, 2, 1),
        delete(3, 4),
        read(5, 6, 0),
        merge(7, 8, 2, epoch="f"),
        read(9, 10, 2, "f", a="7"),
    ],
    "a lost deletion": [merge(1, 2, 1), delete(3, None), read(5, 6, 1, a="1"), read(7, 8, 0)],
    "a deletion of nothing": [delete(1, 2, "absent")],
    "an answer that stores nothing": [
        merge(1, 2, 1),
        _operation(3, "merge", 3, 4, Answer("not_declared_field", 1, "e"), changes={"c": "3"}),
        _operation(5, "merge", 5, 6, Answer("over_cap", 1, "e"), changes={"a": "x" * 80}),
    ],
}

BAD = {
    "a write that nobody sent": [read(1, 2, 1, a="1")],
    "a stale read": [merge(1, 2, 1), merge(3, 4, 2), read(5, 6, 1, a="1")],
    "a lost acknowledged write": [merge(1, 2, 1), read(3, 4, 0)],
    "two reads that go back": [merge(1, 9, 1), read(2, 3, 1, a="1"), read(4, 5, 0)],
    "a value from nowhere": [merge(1, 2, 1), read(3, 4, 1, a="2")],
    "a lost update": [merge(1, 9, 1), merge(2, 8, 1)],
    "both win": [cas(1, 9, STORED_1, 0), cas(2, 8, Answer("stored", 2, "e"), 0)],
    "a conflict without a reason": [merge(1, 2, 1), cas(3, 4, CONFLICT, 1)],
    "stored twice though sent again": [
        merge(1, 2, 1, name="k", changes={"a": "x"}),
        merge(3, 4, 2, name="k", changes={"a": "x"}),
    ],
    "the numbering starts again": [merge(1, 2, 1), delete(3, 4), merge(5, 6, 1, epoch="f")],
    "another life with the same epoch": [merge(1, 2, 1), delete(3, 4), merge(5, 6, 2)],
    "the same life with another epoch": [merge(1, 2, 1), merge(5, 6, 2, epoch="f")],
    "a deletion that did not hold": [merge(1, 2, 1), delete(3, 4), read(5, 6, 1, a="1")],
    "a deletion of nothing that deleted": [delete(1, 2)],
    "read before it was written": [read(1, 2, 1, a="3"), merge(3, 4, 1)],
    "stored though it was not declared": [merge(1, 2, 1, changes={"c": "1"})],
    "stored over the cap": [merge(1, 2, 1, changes={"a": "x" * 80})],
    "a merge that loses the other field": [
        merge(1, 2, 1),
        merge(3, 4, 2, changes={"b": "3"}),
        read(5, 6, 2, b="3"),
    ],
}


@pytest.mark.parametrize("operations", GOOD.values(), ids=GOOD)
def test_a_good_history_passes(operations: list[Operation]) -> None:
    """WM-18: what a right server may answer is not reported."""
    assert not problems(operations, MODEL)
    assert brute.is_linearizable(operations, MODEL)


@pytest.mark.parametrize("operations", BAD.values(), ids=BAD)
def test_a_bad_history_is_reported(operations: list[Operation]) -> None:
    """WM-18: what no right server answers is reported, with the operations that show it."""
    found = problems(operations, MODEL)
    assert len(found) >= 1
    assert "#" in found[0]
    assert not brute.is_linearizable(operations, MODEL)


def test_a_report_can_be_read() -> None:
    """WM-18: a stale read is told by the read and by the one who had been told the newer version."""
    others = [read(100 + moment, 101 + moment, 2, a="3") for moment in range(0, 50, 2)]
    [problem] = problems([merge(1, 2, 1), merge(3, 4, 2), *others, read(200, 201, 1, a="1")], MODEL)
    assert "Version 2 had been told before this started, which was told 1: it is stale." in problem
    assert problem.count("#") == 2


@given(st.integers(0, 2**32), st.integers(1, 7), st.integers(1, 4), st.sampled_from([0.0, 0.2, 0.5]))
@settings(max_examples=400, deadline=None, derandomize=True, database=None)
def test_a_right_server_is_never_reported(seed: int, count: int, clients: int, lost: float) -> None:
    """WM-18: no false alarm, neither by the versions nor by the search."""
    operations = right_history(random.Random(seed), count=count, clients=clients, lost=lost)  # noqa: S311
    assert not problems(operations, MODEL)


@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 4), st.sampled_from([0.0, 0.2, 0.5]))
@settings(max_examples=600, deadline=None, derandomize=True, database=None)
def test_as_the_plainest_check_says(seed: int, count: int, clients: int, lost: float) -> None:
    """WM-18: on tiny histories, right or broken, the checker says what trying every order says."""
    chance = random.Random(seed)  # noqa: S311
    operations = broken(chance, right_history(chance, count=count, clients=clients, lost=lost))
    assert (not problems(operations, MODEL)) == brute.is_linearizable(operations, MODEL)


@pytest.mark.long
@pytest.mark.timeout(120)
@pytest.mark.parametrize(("count", "lost"), [(4000, 0.0), (4000, 0.05), (1000, 0.2)])
def test_thousands_of_operations_within_seconds(count: int, lost: float) -> None:
    """WM-18: a state with thousands of operations of 12 clients is decided in seconds, as is one with a fault."""
    operations = right_history(random.Random(7), count=count, clients=12, lost=lost)  # noqa: S311
    began = time.monotonic()
    assert not problems(operations, MODEL)
    last = max(
        (each for each in operations if each.kind == "read" and each.told_version),
        key=lambda each: each.called,
    )
    assert last.answer is not None
    wrong = msgspec.structs.replace(last, answer=msgspec.structs.replace(last.answer, body=(("a", "wrong"),)))
    assert problems([wrong if each is last else each for each in operations], MODEL)
    assert time.monotonic() - began < 60
