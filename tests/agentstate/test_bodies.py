"""The next body of a state, and which of its fields are still there."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from agentstate.rules import bodies
from agentstate.rules.bodies import DELETE, is_delete, next_body, undeclared
from agentstate.types import DroppedField, Field, HeldField, ObjectType

START = datetime(2026, 3, 31, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = 24 * HOUR


def declare(*names: str, state: timedelta = 30 * DAY, **kept: timedelta) -> ObjectType:
    return ObjectType(
        type="closing",
        version="1",
        ownership="agent",
        fields={name: Field(name=name, type="any") for name in names},
        state_retention_seconds=int(state.total_seconds()),
        field_retention_seconds={name: int(time.total_seconds()) for name, time in kept.items()},
    )


def named(at: datetime = START, kept: timedelta | None = None) -> HeldField:
    return HeldField(
        named_at=int(at.timestamp()), retention_seconds=None if kept is None else int(kept.total_seconds())
    )


def test_cas_replaces_the_whole_body() -> None:
    """WM-7: a field that is not in the body of a cas is gone."""
    assert next_body({"step": 1, "note": "a"}, {"step": 2}, "cas") == {"step": 2}


def test_merge_replaces_whole_fields_only() -> None:
    """WM-8: no deeper merge, and fields not named stay."""
    before = {"cart": {"a": 1, "b": 2}, "note": "kept"}
    assert next_body(before, {"cart": {"a": 3}}, "merge_by_key") == {"cart": {"a": 3}, "note": "kept"}


def test_merge_removes_a_field() -> None:
    """WM-8: exactly {"$delete": true} removes a field, and removing what is not there does nothing."""
    assert next_body({"step": 1, "note": "a"}, {"step": DELETE, "gone": DELETE}, "merge_by_key") == {
        "note": "a"
    }


@pytest.mark.parametrize(
    "value",
    [
        {"$delete": 1},
        {"$delete": 1.0},
        {"$delete": "true"},
        {"$delete": False},
        {"$delete": True, "x": 1},
        {"x": {"$delete": True}},
        [{"$delete": True}],
        True,
        None,
        "$delete",
    ],
)
def test_anything_else_is_content(value: Any) -> None:
    """WM-8: whatever is not exactly the removal is stored as it is, nested removals too."""
    assert not is_delete(value)
    assert next_body({"it": 0}, {"it": value}, "merge_by_key") == {"it": value}


def test_inputs_are_left_alone() -> None:
    """WM-7, WM-8: the stored body and the write are not changed by computing the next one."""
    current, write = {"a": 1}, {"a": DELETE, "b": 2}
    next_body(current, write, "merge_by_key")
    assert (current, write) == ({"a": 1}, {"a": DELETE, "b": 2})


NAMES = st.sampled_from(["a", "b", "c", "d"])
CONTENT = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
).filter(lambda value: not is_delete(value))


class AgainstADict(RuleBasedStateMachine):
    """WM-7, WM-8: any order of cas and merges is what a plain dict, changed in place, would hold."""

    def __init__(self) -> None:
        super().__init__()
        self.body: dict[str, Any] = {}
        self.model: dict[str, Any] = {}

    @rule(body=st.dictionaries(NAMES, CONTENT))
    def replace(self, body: dict[str, Any]) -> None:
        self.body = next_body(self.body, body, "cas")
        self.model.clear()
        self.model.update(body)

    @rule(body=st.dictionaries(NAMES, CONTENT), removed=st.sets(NAMES))
    def merge(self, body: dict[str, Any], removed: set[str]) -> None:
        self.body = next_body(self.body, body | dict.fromkeys(removed, DELETE), "merge_by_key")
        for name in body.keys() - removed:
            self.model[name] = body[name]
        for name in removed:
            self.model.pop(name, None)

    @invariant()
    def same(self) -> None:
        assert self.body == self.model


AgainstADict.TestCase.settings = settings(max_examples=40, stateful_step_count=15)
test_bodies_against_a_dict = AgainstADict.TestCase


@given(ours=st.dictionaries(NAMES, CONTENT), theirs=st.dictionaries(st.sampled_from(["x", "y"]), CONTENT))
def test_merges_of_different_fields_commute(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """WM-8: writers of different fields never lose each other's writes, whoever comes first."""
    before = {"a": 0, "x": 0, "kept": 1}
    one = next_body(next_body(before, ours, "merge_by_key"), theirs, "merge_by_key")
    other = next_body(next_body(before, theirs, "merge_by_key"), ours, "merge_by_key")
    assert one == other == before | ours | theirs


def test_undeclared_fields_are_named() -> None:
    """WM-10: each field that the type does not declare is named."""
    assert undeclared({"step": 1, "z": 1, "y": 2}, declare("step"), held=()) == ["y", "z"]


def test_a_dropped_field_may_be_removed_while_it_is_stored() -> None:
    """WM-10: removing a stored field whose declaration is gone is allowed, writing it is not."""
    assert undeclared({"old": DELETE}, declare("step"), held={"old"}) == []
    assert undeclared({"old": 1}, declare("step"), held={"old"}) == ["old"]


def test_removing_what_never_was_is_undeclared() -> None:
    """WM-10: a removal that names neither a declared nor a stored field is a mistake in the name."""
    assert undeclared({"stpe": DELETE}, declare("step"), held={"step"}) == ["stpe"]


def test_without_a_type_nothing_is_declared() -> None:
    """WM-2: an agent without a type may name no field, not even to remove it."""
    assert undeclared({"step": 1, "old": DELETE}, None, held={"old"}) == ["old", "step"]


def test_a_state_ends_after_the_shorter_retention() -> None:
    """WM-3, WM-21: of the retention at write and the one now the shorter counts."""
    week = int((7 * DAY).total_seconds())
    assert bodies.valid_until(START, week, declare("step")) == START + 7 * DAY
    assert bodies.valid_until(START, week, declare("step", state=DAY)) == START + DAY
    assert bodies.valid_until(START, week, None) == START + 7 * DAY


@pytest.mark.parametrize(
    ("at_write", "now", "end"),
    [
        (None, None, None),
        (24 * HOUR, None, 24 * HOUR),
        (None, 24 * HOUR, 24 * HOUR),
        (24 * HOUR, 2 * HOUR, 2 * HOUR),
        (2 * HOUR, 24 * HOUR, 2 * HOUR),
    ],
)
def test_a_field_ends_after_the_shorter_retention(
    at_write: timedelta | None, now: timedelta | None, end: timedelta | None
) -> None:
    """WM-21: a field's own time counts from the write that named it; at write or now, the shorter."""
    kept = {} if now is None else {"phone": now}
    found = bodies.expires({"phone": named(kept=at_write)}, declare("phone", **kept))
    assert found == ({} if end is None else {"phone": START + end})


def test_no_field_outlives_its_state() -> None:
    """WM-17: a field's time is never told as later than the state's own end."""
    held = {"phone": named(kept=20 * DAY)}
    assert bodies.expires(held, declare("phone"), until=START + DAY) == {"phone": START + DAY}


def test_an_expired_field_is_not_served() -> None:
    """WM-21: a field is gone at its moment, and is neither served nor part of the next body."""
    held, declared = {"phone": named(), "step": named()}, declare("phone", "step", phone=24 * HOUR)
    just_before, then = START + 24 * HOUR - timedelta(seconds=1), START + 24 * HOUR
    assert bodies.live_fields(held, declared, just_before).keys() == {"phone", "step"}
    assert bodies.live_fields(held, declared, then).keys() == {"step"}
    assert bodies.unexpired_fields(held, declared, then).keys() == {"step"}


def test_an_undeclared_field_is_not_served_and_waits() -> None:
    """WM-3: from publication on a removed field is not served; only a drop takes it out of what is stored."""
    held = {"old": named(), "step": named()}
    assert bodies.live_fields(held, declare("step"), START).keys() == {"step"}
    assert bodies.unexpired_fields(held, declare("step"), START).keys() == {"old", "step"}


def test_without_a_type_nothing_is_served_and_nothing_removed_early() -> None:
    """WM-2, PR-3: an agent that lost its type keeps what it stored, unserved, until it expires."""
    held = {"phone": named(kept=2 * HOUR), "step": named()}
    assert bodies.live_fields(held, None, START) == {}
    assert bodies.unexpired_fields(held, None, START).keys() == {"phone", "step"}
    assert bodies.unexpired_fields(held, None, START + 2 * HOUR).keys() == {"step"}


@pytest.mark.parametrize(
    ("why", "drop", "kept"),
    [
        ("dropped since", DroppedField(document=3, type="closing", field="old"), {"step"}),
        ("dropped before it was written again", DroppedField(2, "closing", "old"), {"old", "step"}),
        ("of another type", DroppedField(3, "cart", "old"), {"old", "step"}),
        ("another field", DroppedField(3, "closing", "phone"), {"old", "step"}),
    ],
)
def test_a_dropped_field_is_gone(why: str, drop: DroppedField, kept: set[str]) -> None:
    """PR-3: what a version dropped after the last write is gone, whatever is declared now."""
    held = {"old": named(), "step": named()}
    assert bodies.undropped_fields(held, kind="closing", document=2, dropped=[drop]).keys() == kept, why


def test_the_next_expiry_is_the_earliest() -> None:
    """WM-21: a sweep has work when the first field or the state itself expires."""
    held, until = {"phone": named(), "step": named()}, START + 30 * DAY
    assert bodies.next_expiry(held, declare("phone", "step"), until=until) == until
    assert bodies.next_expiry(held, declare("phone", "step", phone=HOUR), until=until) == START + HOUR
