"""The schemas of the five documents, their problems, and what changed between two versions."""

import copy
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from workspaces.errors import InvalidInput
from workspaces.rules import documents
from workspaces.rules.documents import (
    DEFAULTS,
    FEATURES,
    KINDS,
    Change,
    diff,
    digest,
    duration_seconds,
    problems,
)
from workspaces.rules.json import pointer


def example(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = copy.deepcopy(documents.schema(kind)["examples"][0])
    return found


def changed(kind: str, path: str, value: Any) -> Any:
    """Give the example with one place changed, which a pointer names."""
    document: Any = example(kind)
    *parents, last = [part.replace("~0", "~") for part in path.split("/")[1:]]
    place = document
    for part in parents:
        place = place[int(part)] if isinstance(place, list) else place[part]
    place[int(last) if isinstance(place, list) else last] = value
    return document


def found(kind: str, document: Any) -> list[tuple[str, str]]:
    return [(problem.pointer, problem.code) for problem in problems(kind, document)]


def subschemas(schema: Any) -> list[dict[str, Any]]:
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else []
    here = [schema] if isinstance(schema, dict) else []
    return here + [found for value in inner for found in subschemas(value)]


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_are_strict(kind: str) -> None:
    """WM-25, PR-2: each kind has one valid schema of 2020-12, and no object in it takes unknown members."""
    schema = documents.schema(kind)
    Draft202012Validator.check_schema(schema)
    for part in subschemas(schema):
        if part.get("type") == "object":
            assert "additionalProperties" in part, part
        assert part.get("additionalProperties") is not True


@pytest.mark.parametrize("kind", KINDS)
def test_patterns_are_anchored(kind: str) -> None:
    """WM-3: a pattern covers the whole string in every implementation of JSON Schema."""
    patterns = [
        part["pattern"] for part in subschemas(documents.schema(kind)) if isinstance(part.get("pattern"), str)
    ]
    assert all(pattern.startswith("^") and pattern.endswith("$") for pattern in patterns)


@pytest.mark.parametrize("kind", KINDS)
def test_examples_and_defaults_are_valid(kind: str) -> None:
    """PR-2: a new workspace starts with valid versions, and the published examples are valid too."""
    for document in (*documents.schema(kind)["examples"], DEFAULTS[kind]):
        assert problems(kind, document) == []


def test_a_new_workspace_has_every_feature_off() -> None:
    """WM-1, PR-1: every feature is off by default."""
    assert DEFAULTS["features"] == {"enabled": []}
    assert list(FEATURES) == documents.schema("features")["properties"]["enabled"]["items"]["enum"]


def test_both_documents_know_the_same_kinds() -> None:
    """PR-5: a field is declared with the kinds that the masking document has a strategy for."""
    declared = documents.schema("object-types")["$defs"]["field"]["properties"]["pii"]["enum"]
    masked = documents.schema("masking")["properties"]["kinds"]
    assert set(declared) - {True, False} == set(masked["properties"]) == set(masked["required"])


# Why, what is changed, into what, the code; the problem is found at the place that changed.
BAD: dict[str, list[tuple[str, str, Any, str]]] = {
    "features": [
        ("a feature that is none", "/enabled/0", "search", "unknown_value"),
        ("an unknown member", "/extra", 1, "unknown_member"),
        ("a name with a tilde", "/a~0b", 1, "unknown_member"),
        ("the same feature twice", "/enabled", ["history", "history"], "not_unique"),
        ("no list", "/enabled", "all", "wrong_type"),
    ],
    "object-types": [
        ("capitals in a type", "/types/0/type", "Closing", "wrong_form"),
        ("a line break after a type", "/types/0/type", "closing\n", "wrong_form"),
        ("41 characters", "/types/0/type", "a" * 41, "wrong_form"),
        ("a version that is a number", "/types/0/version", 3, "wrong_type"),
        ("an empty version", "/types/0/version", "", "too_short"),
        ("an owner that is none", "/types/0/ownership", "me", "unknown_value"),
        ("capitals in a field", "/types/0/fields/Ab", {"type": "text"}, "wrong_form"),
        ("no such type", "/types/0/fields/note/type", "map", "unknown_value"),
        ("pii as a number", "/types/0/fields/note/pii", 1, "unknown_value"),
        ("a kind that is none", "/types/0/fields/note/pii", "dna", "unknown_value"),
        ("a duration in words", "/types/0/retention/state", "a month", "wrong_form"),
        ("a duration of zero", "/types/0/retention/state", "0d", "wrong_form"),
        ("a cap of zero", "/types/0/agent_state/cap_bytes", 0, "too_small"),
        ("a cap over 1 MiB", "/types/0/agent_state/cap_bytes", 2**20 + 1, "too_large"),
        ("no scope", "/types/0/agent_state/scopes", [], "too_short"),
        ("a NUL", "/types/0/purposes/0", "a\x00", "control_character"),
    ],
    "masking": [
        ("four regions", "/regions", ["BR", "US", "AR", "MX"], "too_long"),
        ("a region that is none", "/regions/1", "XX", "unknown_value"),
        ("a hashed card", "/kinds/card", "hash", "unknown_value"),
        ("a partial secret", "/kinds/secret", "partial", "unknown_value"),
        ("a hashed password", "/kinds/password", "hash", "unknown_value"),
        ("a code that is shown in part", "/kinds/cvv", "partial", "unknown_value"),
        ("less held back", "/held_back_everywhere", ["card", "cvv", "secret"], "required"),
        ("names are not detected", "/detect_in_declared_pii/0", "name", "unknown_value"),
    ],
    "retention": [
        ("idle longer than the whole", "/history/idle", "31d", "too_large"),
        ("a trace longer than its summary", "/assemblies/trace", "1y", "too_large"),
        ("a regime that is none", "/regime", "HIPAA", "unknown_value"),
        ("half a session", "/history/max_sessions", 1.5, "wrong_type"),
    ],
    "assembly-policy": [
        ("no policy", "/policies", [], "too_short"),
        ("a form that is none", "/policies/0/routes/*/public", "all", "unknown_value"),
        ("a sample of two", "/policies/0/trace_sample", 2, "too_large"),
        ("privacy raised", "/policies/0/lower_privacy/0/to", "secret", "not_allowed"),
        ("privacy unchanged", "/policies/0/lower_privacy/0/to", "oauth", "not_allowed"),
    ],
}


@pytest.mark.parametrize(
    ("kind", "path", "value", "code"),
    [pytest.param(kind, *row, id=why) for kind, rows in BAD.items() for why, *row in rows],
)
def test_bad_documents(kind: str, path: str, value: Any, code: str) -> None:
    """WM-3, PR-7, CA-5: the valid example becomes invalid by one change, and the place is named."""
    assert problems(kind, example(kind)) == []
    assert found(kind, changed(kind, path, value)) == [(path, code)]


def test_what_is_held_back_everywhere_is_not_shown_in_part() -> None:
    """PR-7: a kind that a workspace adds to those held back everywhere is redacted or dropped."""
    document = example("masking")
    document["held_back_everywhere"].append("email")
    assert found("masking", document) == [("/kinds/email", "not_allowed")]
    document["kinds"]["email"] = "redact"
    assert problems("masking", document) == []


def test_a_card_may_be_shown_in_part() -> None:
    """PR-7: of what is held back, only a card may keep its last digits."""
    assert problems("masking", changed("masking", "/kinds/card", "partial")) == []


def test_policies_have_different_names() -> None:
    """CA-9: a policy is picked by its name."""
    document = example("assembly-policy")
    document["policies"].append(copy.deepcopy(document["policies"][0]))
    assert found("assembly-policy", document) == [("/policies/1/name", "not_unique")]


def test_every_problem_is_reported_at_once() -> None:
    """WM-3: documents are checked whole."""
    document = {"types": [{"type": "A", "fields": {"x": {"type": "map", "y": 1}}, "z": 1}, 7], "more": 1}
    assert set(found("object-types", document)) == {
        ("/more", "unknown_member"),
        ("/types/0/type", "wrong_form"),
        ("/types/0/version", "required"),
        ("/types/0/ownership", "required"),
        ("/types/0/z", "unknown_member"),
        ("/types/0/fields/x/type", "unknown_value"),
        ("/types/0/fields/x/y", "unknown_member"),
        ("/types/1", "wrong_type"),
    }


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from(["card", "30d", "name"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text()
            | st.sampled_from(["kinds", "policies", "lower_privacy", "history", "idle", "regions", "type"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("kind", KINDS)
@given(document=ANYTHING)
def test_any_shape_is_answered(kind: str, document: Any) -> None:
    """WM-25: a document of any shape gets its list of problems, never an error of ours."""
    assert isinstance(problems(kind, document), list)


@pytest.mark.parametrize("kind", KINDS)
def test_details_never_quote_the_document(kind: str) -> None:
    """PL-8: a problem says what is expected, never what stood there."""
    canary = json.loads(
        json.dumps(example(kind)), object_hook=lambda members: dict.fromkeys(members, "canary")
    )
    assert problems(kind, canary)
    for document in (canary, "canary", ["canary"], {"canary": "canary"}):
        assert not any("canary" in problem.detail for problem in problems(kind, document))


def test_a_hostile_document_costs_a_bounded_time() -> None:
    """WM-25: items that cannot be sorted, or a problem at each of them, take no quadratic time."""
    started = time.monotonic()
    assert len(problems("features", {"enabled": [1, "a"] * 200_000})) == documents.MAX_PROBLEMS
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1h", 3600), ("24h", 86_400), ("30d", 2_592_000), ("1y", 31_536_000), ("7y", 220_752_000)],
)
def test_durations(text: str, seconds: int) -> None:
    """WM-3: durations are hours, days, and years of 365 days."""
    assert duration_seconds(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "30", "d", "0d", "1.5h", "1m", "30 d", "30D", "P30D", "-1d", "30d\n", "\u0663d", "100y"]
)
def test_what_is_no_duration(text: str) -> None:
    """WM-3: anything else is no duration of a document."""
    assert not documents.is_duration(text)
    with pytest.raises(InvalidInput):
        duration_seconds(text)


def test_the_digest_does_not_depend_on_the_writing() -> None:
    """PR-2b: an approval is bound to the content, not to order or the spelling of numbers."""
    assert digest({"a": 1, "b": [2.0]}) == digest({"b": [2], "a": 1.0})
    assert digest({"enabled": ["history"]}) != digest({"enabled": []})


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1}, {"a": True}, [Change("/a", "changed", 1, True)]),
        ({"a": 1}, {"b": 1}, [Change("/a", "removed", before=1), Change("/b", "added", after=1)]),
        ({"a/b": None}, {"a/b": {}}, [Change("/a~1b", "changed", None, {})]),
        (
            {"e": ["a", "b"]},
            {"e": ["c", "a"]},
            [Change("/e/1", "removed", before="b"), Change("/e/0", "added", after="c")],
        ),
        ({"e": ["a", "b"]}, {"e": ["b", "a"]}, [Change("/e", "changed", ["a", "b"], ["b", "a"])]),
        (
            {"e": [[1]]},
            {"e": [[2]]},
            [Change("/e/0/0", "removed", before=1), Change("/e/0/0", "added", after=2)],
        ),
        (
            {"types": [{"type": "a", "version": "1"}]},
            {"types": [{"type": "b"}, {"type": "a", "version": "2"}]},
            [
                Change("/types/1/version", "changed", "1", "2"),
                Change("/types/0", "added", after={"type": "b"}),
            ],
        ),
        (
            {"policies": [{"name": "x"}, {"name": "x"}]},
            {"policies": [{"name": "x"}]},
            [Change("/policies/1", "removed", before={"name": "x"})],
        ),
    ],
)
def test_diffs(before: Any, after: Any, changes: list[Change]) -> None:
    """PR-2: the console shows what changes, member by member."""
    assert diff(before, after) == changes


@given(before=ANYTHING, after=ANYTHING)
def test_only_equal_documents_have_no_difference(before: Any, after: Any) -> None:
    """PR-2: no change is left out of what people confirm."""
    assert diff(before, before) == []
    if not diff(before, after):
        assert before == after


def test_pointers_of_changes_are_escaped() -> None:
    """PL-8: a change is named by a JSON pointer."""
    assert [change.pointer for change in diff({}, {"a~/": 1})] == [pointer("a~/")]
