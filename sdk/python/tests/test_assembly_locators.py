"""Places in payloads, and how one is found again that moved (CA-14)."""

import json
from dataclasses import replace
from typing import Any

import pytest
from runtime_graphs import World, changed, outcome

from lastro.assembly.locators import canonical, content_at, digest_of, repaired
from lastro.assembly.records import Locator

DOCUMENT = json.dumps(
    {"rows": [{"id": 1, "t": "é"}, {"id": 2, "t": "b"}], "a/b": {"~": "x"}, "note": "n"}
).encode()
TEXT = "".join(f"line {number}\n" for number in range(1, 400)).encode()


def place(content: bytes, **members: Any) -> Locator:
    """Point somewhere, at some content."""
    return Locator(artifact="a1", digest=digest_of(content), **members)


HELD: list[tuple[str, bytes, dict[str, Any], bytes]] = [
    ("a member", DOCUMENT, {"pointer": "/note"}, b"n"),
    ("an object, canonical", DOCUMENT, {"pointer": "/rows/0"}, '{"id":1,"t":"é"}'.encode()),
    ("escapes", DOCUMENT, {"pointer": "/a~1b/~0"}, b"x"),
    ("all", DOCUMENT, {"pointer": ""}, canonical(json.loads(DOCUMENT))),
    ("a line", TEXT, {"lines": (3, 3)}, b"line 3"),
    ("lines", TEXT, {"lines": (3, 4)}, b"line 3\nline 4"),
    ("the last line", TEXT, {"lines": (399, 399)}, b"line 399"),
    ("bytes", TEXT, {"bytes": (5, 6)}, b"1"),
    ("no bytes", TEXT, {"bytes": (5, 5)}, b""),
    ("lines of Windows", b"a\r\nb\r\n", {"lines": (1, 1)}, b"a"),
]


@pytest.mark.parametrize(("why", "payload", "members", "content"), HELD, ids=[row[0] for row in HELD])
def test_what_stands_at_a_place(why: str, payload: bytes, members: dict[str, Any], content: bytes) -> None:
    """CA-5: a JSON pointer, lines, bytes; what is held is not repaired."""
    locator = place(content, **members)
    assert content_at(locator, payload) == content
    assert repaired(locator, payload, attempts=0).state == "intact"


MOVED: list[tuple[str, bytes, dict[str, Any], bytes, dict[str, Any], int]] = [
    ("a row that moved", DOCUMENT, {"pointer": "/rows/0/t"}, b"b", {"pointer": "/rows/1/t"}, 1),
    ("a member of another name", DOCUMENT, {"pointer": "/gone"}, b"n", {"pointer": "/note"}, 2),
    ("a line near by", TEXT, {"lines": (50, 50)}, b"line 47", {"lines": (47, 47)}, 1),
    ("a line far away", TEXT, {"lines": (2, 2)}, b"line 390", {"lines": (390, 390)}, 2),
    ("a line from behind the end", TEXT, {"lines": (900, 900)}, b"line 12", {"lines": (12, 12)}, 2),
    ("bytes near by", TEXT, {"bytes": (20, 26)}, b"line 2", {"bytes": (7, 13)}, 1),
    (
        "bytes at a far line",
        b"-" * 9_000 + b"\nneedle",
        {"bytes": (0, 6)},
        b"needle",
        {"bytes": (9_001, 9_007)},
        2,
    ),
]


@pytest.mark.parametrize(
    ("why", "payload", "members", "content", "moved", "attempts"), MOVED, ids=[r[0] for r in MOVED]
)
def test_what_moved_is_found_again(
    why: str, payload: bytes, members: dict[str, Any], content: bytes, moved: dict[str, Any], attempts: int
) -> None:
    """CA-14: near by first, then everywhere, within the attempts; the same content, and nothing else."""
    locator = place(content, **members)
    found = repaired(locator, payload, attempts=2)
    assert (found.state, found.attempts) == ("repaired", attempts)
    assert found.locator == replace(locator, **moved)
    assert content_at(found.locator, payload) == content
    assert repaired(locator, payload, attempts=attempts - 1).state == "broken"


@pytest.mark.parametrize("members", [{"pointer": "/note"}, {"lines": (1, 2)}, {"bytes": (0, 4)}])
@pytest.mark.parametrize("payload", [DOCUMENT, TEXT, b"", b"\xff\xfe", b"[" * 100_000])
def test_what_is_nowhere_is_broken(members: dict[str, Any], payload: bytes) -> None:
    """CA-14: no place is made up; the locator stays as it was."""
    locator = place(b"nowhere at all", **members)
    found = repaired(locator, payload, attempts=9)
    assert (found.state, found.locator) == ("broken", locator)


def test_of_two_places_the_nearest() -> None:
    """CA-14, CA-18: the same content twice: always the same place."""
    payload = b"x\nsame\ny\nz\nsame\n"
    assert repaired(place(b"same", lines=(4, 4)), payload, attempts=1).locator.lines == (5, 5)
    assert repaired(place(b"same", lines=(3, 3)), payload, attempts=1).locator.lines == (2, 2)


def test_attempts_are_bounded_by_the_policy() -> None:
    """CA-14: a repair that took more attempts than the policy gives, with those before it, does not count."""
    world = World()
    world.artifact("a1", result={"x": "n", "y": "m"})
    world.memory(
        "mem-1", artifacts=["a1"], locators=[{"artifact": "a1", "pointer": "/z", "digest": digest_of(b"m")}]
    )
    assert outcome(world.assemble(), "mem-1") == "memory"
    assert outcome(world.assemble(policy=changed(repair_attempts=1)), "mem-1") == "stale_marker"
    world.written[-1]["repair_attempts"] = 1
    assert outcome(world.assemble(), "mem-1") == "stale_marker"


def test_broken_evidence_is_left_out_where_the_policy_omits_the_stale() -> None:
    """CA-14, CA-15: marked stale, or left out for its own reason."""
    world = World()
    world.artifact("a1", result="text")
    gone = [{"artifact": "a1", "lines": [1, 1], "digest": digest_of(b"other")}]
    world.memory(
        "mem-1",
        artifacts=["a1"],
        locators=gone,
        freshness="volatile",
        stale_after=world.written[-1]["recorded_at"],
    )
    world.memory("mem-2", artifacts=["a1"], locators=gone)
    found = world.assemble()
    assert (outcome(found, "mem-1"), outcome(found, "mem-2")) == ("broken_provenance", "stale_marker")


def test_what_nobody_could_check_is_no_evidence() -> None:
    """CA-14: a payload that never came proves nothing; when it is there, the memory holds."""
    payload = b"first\nsecond\n"
    world = World()
    world.artifact("a1", result=None)
    world.written[-1]["result"] = {
        "bytes": len(payload),
        "sha256": digest_of(payload),
        "media_type": "text/plain",
    }
    world.memory(
        "mem-1",
        artifacts=["a1"],
        locators=[{"artifact": "a1", "lines": [2, 2], "digest": digest_of(b"second")}],
    )
    assert outcome(world.assemble(), "mem-1") == "stale_marker"
    world.payloads = {"a1": payload}
    assert outcome(world.assemble(), "mem-1") == "memory"
