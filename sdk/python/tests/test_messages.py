"""What may be kept as a message (X6)."""

import json
from typing import Any

import pytest

from lastro.history.errors import DecisionHistoryMessageInvalid
from lastro.history.messages import require_message, size_of

DEEP: dict[str, Any] = {}
for _ in range(2_000):
    DEEP = {"a": DEEP}

REFUSED: list[tuple[str, Any, str]] = [
    ("no object", ["role"], "/3"),
    ("nothing", None, "/3"),
    ("half an emoji", {"content": [{"text": "ok \ud83d"}]}, "/3/content/0/text"),
    ("half an emoji in a name", {"a": {"\udc00": 1}}, "/3/a"),
    ("a pair in the wrong order", {"a/b": "\udc00\ud83d"}, "/3/a~1b"),
    ("not a number", {"a": {"~": float("nan")}}, "/3/a/~0"),
    ("infinity", {"a": [1, float("inf")]}, "/3/a/1"),
    ("a name that is no text", {"a": {1: 2}}, "/3/a"),
    ("a set", {"a": {1, 2}}, "/3/a"),
    ("bytes", {"a": b"x"}, "/3/a"),
    ("too deep", DEEP, "/3" + "/a" * 128),
    ("a number of 5,000 digits", {"a": 10**5_000}, "/3/a"),
]


@pytest.mark.parametrize(("why", "message", "pointer"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused_with_its_place(why: str, message: Any, pointer: str) -> None:
    """HI-11: what is no strict JSON is refused when it is appended, with its place and without its content (X6)."""
    with pytest.raises(DecisionHistoryMessageInvalid) as refusal:
        require_message(message, "/3")
    assert refusal.value.pointer == pointer


KEPT: list[Any] = [
    {},
    {"role": "user", "content": "盘点 📦 e\u0301 \x00 \u2028", "unknown": [True, None, 1, 1.5, {"a": []}]},
    {"content": "\\ud83d as text"},
]


@pytest.mark.parametrize("message", KEPT)
def test_kept_as_it_is(message: Any) -> None:
    """HI-11: everything else is kept, unknown members too, with no normalisation (X3, X6)."""
    before = json.dumps(message)
    assert require_message(message) is message
    assert json.dumps(message) == before
    assert size_of(message) == len(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode())
