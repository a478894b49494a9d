"""Object types: checks of the whole document, the type of an agent, and what publishing does."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.rules.object_types import breaks, declared_type, effects, parse_types, problems
from agentstate.types import (
    SCOPE_KINDS,
    ChangedField,
    Field,
    Holding,
    ObjectType,
    RemovedField,
    ShortenedLimit,
    TypeEffects,
    UntypedAgent,
)
from workspaces.rules.documents import schema

DAY = 86_400


def a_type(name: str = "closing", **members: Any) -> dict[str, Any]:
    base = {"type": name, "version": "1", "ownership": "agent", "fields": {"step": {"type": "text"}}}
    return base | members


def with_field(field: dict[str, Any]) -> dict[str, Any]:
    return a_type(fields={"x": field})


def types(*declared: dict[str, Any]) -> tuple[ObjectType, ...]:
    return parse_types({"types": list(declared)})


def found(*declared: Any) -> list[tuple[str, str]]:
    return [(problem.pointer, problem.code) for problem in problems({"types": list(declared)})]


def test_a_type_is_read_whole() -> None:
    """WM-3: everything that a type declares is there."""
    (closing,) = parse_types(schema("object-types")["examples"][0])
    assert closing == ObjectType(
        type="closing",
        version="3",
        ownership="agent",
        agents=("closing", "order-taker"),
        fields={
            "step": Field(name="step", type="enum", values=("quote", "close"), origin="observed"),
            "phone": Field(
                name="phone", type="string", pii="phone", sensitivity="confidential", origin="provided"
            ),
            "note": Field(name="note", type="text", pii=True),
        },
        state_retention_seconds=30 * DAY,
        field_retention_seconds={"phone": DAY},
        scopes=("conversation", "task"),
        cap_bytes=16_384,
        purposes=("order handling",),
        recipients=("fulfilment partner",),
    )


def test_what_a_type_leaves_out() -> None:
    """WM-3, WM-12, WM-13, WM-21: 30 days, 16,384 bytes and every kind of scope where a type says nothing."""
    (bare,) = types(a_type())
    assert (bare.state_retention_seconds, bare.cap_bytes, bare.scopes) == (30 * DAY, 16_384, SCOPE_KINDS)
    (empty,) = types(a_type(agent_state={}))
    assert (empty.cap_bytes, empty.scopes) == (16_384, SCOPE_KINDS)


def test_a_cap_of_null_lifts_it() -> None:
    """WM-3, WM-26: null leaves only the request's own limit; a whole number may be written as 100.0."""
    assert types(a_type(agent_state={"cap_bytes": None}))[0].cap_bytes is None
    assert repr(types(a_type(agent_state={"cap_bytes": 100.0}))[0].cap_bytes) == "100"


@pytest.mark.parametrize(
    ("declared", "agent", "expected"),
    [
        ([], "closing", None),
        ([a_type("orders", ownership="shared")], "orders", None),
        ([a_type("closing")], "anybody", "closing"),
        ([a_type("closing", agents=["somebody"])], "anybody", "closing"),
        ([a_type("closing"), a_type("orders", ownership="subject")], "anybody", "closing"),
        ([a_type("closing"), a_type("cart")], "cart", "cart"),
        ([a_type("closing"), a_type("cart")], "anybody", None),
        ([a_type("closing"), a_type("cart", agents=["closing"])], "closing", "cart"),
        ([a_type("closing", agents=["a"]), a_type("cart", agents=["b"])], "b", "cart"),
    ],
)
def test_the_type_of_an_agent(declared: list[dict[str, Any]], agent: str, expected: str | None) -> None:
    """WM-2: the type that lists the agent, else the one named like it, else the only one, else none."""
    kind = declared_type(types(*declared), agent)
    assert (kind.type if kind else None) == expected


def test_a_good_document_has_no_problems() -> None:
    """WM-3: two types with agents of their own, and a shared one beside them."""
    assert (
        found(
            a_type("closing", agents=["a"], retention={"state": "180d", "step": "180d"}),
            a_type("cart", agents=["b"], agent_state={"cap_bytes": 1}, retention={"state": "1d"}),
            a_type("orders", ownership="shared"),
        )
        == []
    )


# Why, the types, where, the code.
BAD: list[tuple[str, list[Any], str, str]] = [
    ("two types of one name", [a_type(), a_type()], "/types/1/type", "not_unique"),
    (
        "an agent in two types",
        [a_type(agents=["a"]), a_type("b", agents=["a"])],
        "/types/1/agents/0",
        "not_unique",
    ),
    ("agents of a shared type", [a_type(ownership="shared", agents=["a"])], "/types/0/agents", "not_allowed"),
    (
        "a subject's type",
        [a_type(ownership="subject", agent_state={})],
        "/types/0/agent_state",
        "not_allowed",
    ),
    ("a reserved name", [a_type(fields={"state": {"type": "text"}})], "/types/0/fields/state", "reserved"),
    ("an enum without values", [with_field({"type": "enum"})], "/types/0/fields/x/values", "required"),
    (
        "an enum with none",
        [with_field({"type": "enum", "values": []})],
        "/types/0/fields/x/values",
        "required",
    ),
    (
        "values of a text",
        [with_field({"type": "text", "values": []})],
        "/types/0/fields/x/values",
        "not_allowed",
    ),
    ("an undeclared field", [a_type(retention={"phone": "1d"})], "/types/0/retention/phone", "unknown_field"),
    ("under a day", [a_type(retention={"state": "23h"})], "/types/0/retention/state", "out_of_bounds"),
    ("over 180 days", [a_type(retention={"state": "181d"})], "/types/0/retention/state", "out_of_bounds"),
    ("longer than 30 days", [a_type(retention={"step": "31d"})], "/types/0/retention/step", "too_large"),
    (
        "longer than its state",
        [a_type(retention={"state": "1d", "step": "25h"})],
        "/types/0/retention/step",
        "too_large",
    ),
]


@pytest.mark.parametrize(("declared", "place", "code"), [pytest.param(*row, id=why) for why, *row in BAD])
def test_bad_documents(declared: list[Any], place: str, code: str) -> None:
    """WM-3: what no schema can say is found, with its place."""
    assert found(*declared) == [(place, code)]


def test_every_problem_is_reported_at_once() -> None:
    """WM-3: one document with everything wrong gets all of it in one answer."""
    everything = [declared for _, declared_types, *_ in BAD for declared in declared_types]
    assert {code for _, code in found(*everything)} == {code for *_, code in BAD}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["30d", "enum", "shared"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["types", "type", "fields", "agents", "retention", "state", "values", "ownership"]
                ),
                inner,
            )
        ),
        max_leaves=15,
    )
)
def test_any_shape_is_answered(document: Any) -> None:
    """WM-25: a document of any shape gets its list of problems, never an error of ours."""
    assert isinstance(problems(document), list)
    assert isinstance(problems({"types": [document]}), list)


def of(
    before: list[dict[str, Any]],
    after: list[dict[str, Any]],
    held: Mapping[str, Mapping[str, int]],
    **states: int,
) -> TypeEffects:
    """Say what a document does to states that were written under the types before."""
    was = types(*before)
    holdings = [
        Holding(
            agent=agent,
            type=(declared_type(was, agent) or was[0]).type,
            states=states.get(agent, 0),
            fields=dict(held.get(agent, {})),
        )
        for agent in sorted({*held, *states})
    ]
    return effects(was, types(*after), holdings)


TWO_FIELDS = {"step": {"type": "text"}, "phone": {"type": "string"}}


def test_an_unchanged_document_has_no_effect() -> None:
    """PR-3: publishing the same types again does nothing."""
    assert of([a_type()], [a_type()], {"a": {"step": 3}}, a=3) == TypeEffects()


def test_a_removed_field_that_states_hold() -> None:
    """PR-3: it is named with its states, all agents of the type together, and refused unless dropped."""
    result = of(
        [a_type(fields=TWO_FIELDS)], [a_type()], {"a": {"step": 3, "phone": 2}, "b": {"phone": 5}}, a=3, b=5
    )
    assert result == TypeEffects(removed=(RemovedField("closing", "phone", 7, "/types/0/fields/phone"),))
    (refused,) = breaks(result, drop=["closing.step"])
    assert (refused.pointer, refused.code) == ("/types/0/fields/phone", "field_held")
    assert refused.detail == "closing.phone is held by 7 states; drop must name it."
    assert breaks(result, drop=["closing.phone"]) == []


def test_a_removed_field_that_no_state_holds() -> None:
    """PR-3: a field that nobody ever wrote goes without a word."""
    assert of([a_type(fields=TWO_FIELDS)], [a_type()], {"a": {"step": 3, "phone": 0}}, a=3) == TypeEffects()


def test_a_removed_type_loses_its_fields_and_its_agents() -> None:
    """PR-3: removing a type is removing each field that states hold; the agents are named too."""
    result = of([a_type()], [], {"a": {"step": 3}}, a=4)
    assert result == TypeEffects(
        removed=(RemovedField("closing", "step", 3, "/types"),), untyped=(UntypedAgent("a", 4),)
    )
    assert [problem.pointer for problem in breaks(result, drop=())] == ["/types"]


def test_a_second_type_leaves_agents_without_one() -> None:
    """WM-2, PR-3: it is shown which agents lose their type; nothing is removed, so nothing is refused."""
    result = of(
        [a_type()], [a_type(), a_type("cart")], {"a": {"step": 3}, "closing": {"step": 1}}, a=3, closing=1
    )
    assert result == TypeEffects(untyped=(UntypedAgent("a", 3),))
    assert breaks(result, drop=()) == []


def test_an_agent_that_moves_to_another_type() -> None:
    """PR-3: the fields that its new type lacks are fields that it loses."""
    after = [a_type("cart", agents=["a"], fields={"items": {"type": "list"}}), a_type()]
    result = of([a_type()], after, {"a": {"step": 2}}, a=2)
    assert result.removed == (RemovedField("closing", "step", 2, "/types/0/fields/step"),)


def test_agents_without_a_type_before_are_no_news() -> None:
    """PR-3: only what this document changes is an effect of it."""
    two = [a_type(), a_type("cart")]
    assert of(two, two, {"stray": {"step": 2}}, stray=2) == TypeEffects()


def test_an_agent_that_falls_to_another_type() -> None:
    """PR-3: what states hold is lost too where their agent had no type before and now falls to one that lacks it."""
    holdings = [Holding("stray", "closing", 2, {"step": 2})]
    before, after = types(a_type(agents=["x"]), a_type("cart")), types(a_type("cart", fields={}))
    assert effects(before, after, holdings).removed == (
        RemovedField("closing", "step", 2, "/types/0/fields/step"),
    )


def test_what_was_lost_before_is_no_news() -> None:
    """PR-3: what could not be served before this document is not lost by it."""
    holdings = [Holding("a", "gone", 2, {"step": 2})]
    assert effects(types(a_type(fields={})), types(a_type(fields={})), holdings).removed == ()


@pytest.mark.parametrize(
    ("was", "now", "aspects"),
    [
        ({"type": "text"}, {"type": "integer"}, ["type"]),
        ({"type": "text"}, {"type": "text", "label": "A note"}, []),
        ({"type": "enum", "values": ["a", "b"]}, {"type": "enum", "values": ["b"]}, ["values"]),
        ({"type": "enum", "values": ["a"]}, {"type": "enum", "values": ["a", "b"]}, []),
        ({"type": "text"}, {"type": "text", "pii": True}, ["pii"]),
        ({"type": "text", "pii": True}, {"type": "text", "pii": "email"}, ["pii"]),
        ({"type": "text", "pii": True}, {"type": "text"}, []),
        ({"type": "text"}, {"type": "enum", "values": ["a"], "pii": "name"}, ["pii", "type"]),
    ],
)
def test_changed_fields_are_warnings(was: dict[str, Any], now: dict[str, Any], aspects: list[str]) -> None:
    """WM-3: stored values stay; a changed field is accepted with a warning and counts."""
    result = of([a_type(fields={"it": was})], [a_type(fields={"it": now})], {"a": {"it": 4}}, a=4)
    assert list(result.changed) == [ChangedField("closing", "it", 4, aspect) for aspect in aspects]
    assert breaks(result, drop=()) == []


def test_tighter_limits_are_named() -> None:
    """WM-3, PR-3: a shorter retention or a smaller cap is named, with the states that it is for."""
    before = a_type(retention={"state": "30d", "step": "2d"}, agent_state={"cap_bytes": None})
    after = a_type(retention={"state": "10d", "step": "24h"}, agent_state={"cap_bytes": 100})
    result = of([before], [after], {}, a=3, b=1)
    assert result.shortened == (
        ShortenedLimit("closing", "cap_bytes", None, 100, 4),
        ShortenedLimit("closing", "retention.state", 30 * DAY, 10 * DAY, 4),
        ShortenedLimit("closing", "retention.step", 2 * DAY, DAY, 4),
    )
    assert of([after], [before], {}, a=3).shortened == ()


def test_a_field_that_gets_a_time_of_its_own() -> None:
    """WM-21, PR-3: a field without its own retention that gets one is kept shorter from now on."""
    result = of([a_type()], [a_type(retention={"step": "24h"})], {}, a=1)
    assert result.shortened == (ShortenedLimit("closing", "retention.step", None, DAY, 1),)


def test_limits_of_types_without_states_are_named_too() -> None:
    """PR-3: the author sees that a limit gets tighter, even before anybody wrote."""
    result = of([a_type()], [a_type(agent_state={"cap_bytes": 10})], {})
    assert result.shortened == (ShortenedLimit("closing", "cap_bytes", 16_384, 10, 0),)
