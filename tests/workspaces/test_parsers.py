"""Reading bodies: what is accepted, and that a refusal points at each thing wrong (WM-25)."""

import time
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from workspaces.errors import InvalidInput, UnsupportedMediaType
from workspaces.http.parsers import MAX_PROBLEMS, parse


class Part(msgspec.Struct, forbid_unknown_fields=True):
    kind: Literal["a", "b"]
    name: Annotated[str, Meta(min_length=1, max_length=3)]


class Form(msgspec.Struct, forbid_unknown_fields=True):
    part: Part
    count: Annotated[int, Meta(ge=0, le=100)]
    version: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    other: Part | None = None
    at: Annotated[datetime, Meta(tz=True)] | None = None
    items: list[Part] = []
    body: dict[str, Any] = {}


GOOD: dict[str, Any] = {"part": {"kind": "a", "name": "x"}, "count": 1}


def read(value: Any, content_type: str = "application/json") -> Form:
    return parse(msgspec.json.encode(value), Form, content_type=content_type)


# (why, members over GOOD, the pointers and codes of the refusal)
REFUSED: list[tuple[str, dict[str, Any], set[tuple[str, str]]]] = [
    ("a word for a number", {"count": "1"}, {("/count", "wrong_type")}),
    ("half a number", {"count": 1.5}, {("/count", "wrong_type")}),
    ("a truth for a number", {"count": True}, {("/count", "wrong_type")}),
    ("too large", {"count": 101}, {("/count", "too_large")}),
    ("too large, and written as a float", {"count": 1e300}, {("/count", "too_large")}),
    ("a word where null may stand", {"version": "7"}, {("/version", "wrong_type")}),
    ("too small where null may stand", {"version": -1}, {("/version", "too_small")}),
    ("two things wrong", {"count": -1, "extra": 1}, {("/count", "too_small"), ("", "unknown_member")}),
    ("both members missing", {"part": {}}, {("/part/kind", "required"), ("/part/name", "required")}),
    ("no such word", {"part": {"kind": "c", "name": "x"}}, {("/part/kind", "not_a_choice")}),
    ("an inner member", {"part": {"kind": "b", "name": "long"}}, {("/part/name", "too_long")}),
    ("an inner member where null may stand", {"other": {"kind": "a"}}, {("/other/name", "required")}),
    ("in a list", {"items": [GOOD["part"], {"kind": "a", "name": ""}]}, {("/items/1/name", "too_short")}),
    ("no time", {"at": "yesterday"}, {("/at", "wrong_form")}),
    ("no such hour", {"at": "2026-11-30T25:00:00Z"}, {("/at", "wrong_form")}),
    ("a leap second, which no clock here has", {"at": "2026-12-31T23:59:60Z"}, {("/at", "wrong_form")}),
    ("a time without a zone", {"at": "2026-11-30T12:00:00"}, {("/at", "wrong_form")}),
    ("a number for a time", {"at": 1764504000}, {("/at", "wrong_type")}),
]  # fmt: skip


@pytest.mark.parametrize(("why", "members", "found"), REFUSED)
def test_a_refusal_points_at_each_thing_wrong(why: str, members: dict[str, Any], found: set[Any]) -> None:
    """WM-25, PL-8: a pointer and a code for each, and nothing of the value; without the cause it is read."""
    with pytest.raises(InvalidInput) as refused:
        read(GOOD | members)
    assert {(problem.pointer, problem.code) for problem in refused.value.errors} == found, why
    assert read(GOOD).count == 1


@pytest.mark.parametrize("count", [3, 3.0])
def test_a_whole_float_is_an_integer(count: float) -> None:
    """WM-25, PL-9: JSON does not tell 3 from 3.0, and neither does the schema."""
    form = read({**GOOD, "count": count, "version": count, "body": {"kept": 3.0, "word": "3"}})
    assert (form.count, form.version) == (3, 3)
    assert type(form.count) is int
    assert type(form.body["kept"]) is float
    assert form.body["word"] == "3"


@pytest.mark.parametrize("root", [None, 1, "x", [], True])
def test_a_body_is_an_object(root: Any) -> None:
    """WM-25: another root is refused at the root."""
    with pytest.raises(InvalidInput) as refused:
        read(root)
    assert [(problem.pointer, problem.code) for problem in refused.value.errors] == [("", "wrong_type")]


def test_a_hostile_body_is_refused_in_short_time() -> None:
    """WM-25, PL-18: a million wrong members are not listed."""
    began = time.monotonic()
    with pytest.raises(InvalidInput) as refused:
        read({**GOOD, "items": [1] * 1_000_000})
    assert len(refused.value.errors) == MAX_PROBLEMS
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    "content_type", ["", "text/plain", "application/jsonp", "application/x-www-form-urlencoded"]
)
def test_another_media_type_is_refused(content_type: str) -> None:
    """PL-8: only application/json, whatever its parameters."""
    with pytest.raises(UnsupportedMediaType):
        read(GOOD, content_type)
    assert read(GOOD, "Application/JSON; charset=utf-8").count == 1
