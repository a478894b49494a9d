"""Values against the type that their field declares."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.rules.values import problems
from agentstate.types import Field
from tests.tables.values import BAD, GOOD
from workspaces.rules.documents import schema

TYPES: list[str] = schema("object-types")["$defs"]["field"]["properties"]["type"]["enum"]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["amount", "currency", "$delete"]), inner)
    ),
    max_leaves=6,
)


def field(type_name: str) -> Field:
    return Field(name="it", type=type_name, values=("quote", "close") if type_name == "enum" else ())


def rows(table: dict[str, list[Any]]) -> list[Any]:
    return [
        pytest.param(name, value, id=f"{name}-{index}")
        for name, values in table.items()
        for index, value in enumerate(values)
    ]


def test_tables_cover_every_declared_type() -> None:
    """WM-11: every type that a document may declare has good and bad values here."""
    assert set(GOOD) == set(BAD) == set(TYPES)


@pytest.mark.parametrize(("type_name", "value"), rows(GOOD))
def test_good_value(type_name: str, value: Any) -> None:
    """WM-11: a value of the declared type is taken."""
    assert problems(field(type_name), value, "/body/it") == []


@pytest.mark.parametrize(("type_name", "value"), rows(BAD))
def test_bad_value(type_name: str, value: Any) -> None:
    """WM-11: a value of another type is refused at its place."""
    found = problems(field(type_name), value, "/body/it")
    assert found
    assert {problem.code for problem in found} == {f"not_{type_name}"}
    assert all(problem.pointer.startswith("/body/it") for problem in found)


@pytest.mark.parametrize("type_name", TYPES)
def test_null_is_allowed_everywhere(type_name: str) -> None:
    """WM-11: null is a value of every type, which is what a masked value of most becomes (WM-14)."""
    assert problems(field(type_name), None, "/body/it") == []


def test_money_points_at_each_member() -> None:
    """WM-11: both members of a money value are reported at once, each with its pointer."""
    found = problems(field("money"), {"amount": 1, "currency": 2}, "/body/total")
    assert [problem.pointer for problem in found] == ["/body/total/amount", "/body/total/currency"]


@given(type_name=st.sampled_from(TYPES), value=st.text(min_size=12).map(lambda text: f"canary {text}"))
def test_details_never_carry_the_value(type_name: str, value: str) -> None:
    """PL-8, WM-24: what is wrong is said without what was sent."""
    assert not any("canary" in problem.detail for problem in problems(field(type_name), value, "/body/it"))


@given(type_name=st.sampled_from(TYPES), value=ANYTHING)
def test_any_value_is_answered(type_name: str, value: Any) -> None:
    """WM-25: a value of any shape is taken or refused, never an error of ours."""
    assert isinstance(problems(field(type_name), value, "/body/it"), list)
