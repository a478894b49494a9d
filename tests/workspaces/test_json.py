"""Strict JSON in, compact JSON out."""

import contextlib
import json as stdlib
import math
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaces.errors import InvalidJson
from workspaces.rules.json import MAX_INTEGER, MIN_INTEGER, compact, parse, pointer

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(MIN_INTEGER, MAX_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)

LIMIT = 2 * 2**20
DEEP = 32


def nested(levels: int, opening: str = "[", closing: str = "]") -> bytes:
    return (opening * levels + closing * levels).encode()


BAD: list[tuple[str, bytes]] = [
    ("nothing", b""),
    ("blanks only", b" \n"),
    ("cut off", b'{"a": 1'),
    ("two texts", b"{} {}"),
    ("trailing comma", b"[1,]"),
    ("single quotes", b"{'a': 1}"),
    ("a comment", b"{} // no"),
    ("a bare word", b"undefined"),
    ("a key that is no string", b"{1: 2}"),
    ("a leading zero", b"01"),
    ("a leading plus", b"+1"),
    ("no digit after the point", b"1."),
    ("a raw line break in a string", b'"a\nb"'),
    ("a raw NUL in a string", b'"a\x00b"'),
    ("an unknown escape", b'"\\x41"'),
    ("a byte order mark", b"\xef\xbb\xbf{}"),
    ("UTF-16", '{"a": 1}'.encode("utf-16")),
    ("a stray continuation byte", b'"\x80"'),
    ("an overlong form", b'"\xc0\xaf"'),
    ("a surrogate in UTF-8", b'"\xed\xa0\x80"'),
    ("a name twice", b'{"a": 1, "a": 1}'),
    ("a name twice, escaped once", b'{"a": 1, "\\u0061": 2}'),
    ("a name twice, deeper", b'[{"b": {"a": 1, "c": 2, "a": 3}}]'),
    ("NaN", b"NaN"),
    ("Infinity", b"[Infinity]"),
    ("minus Infinity", b'{"a": -Infinity}'),
    ("33 arrays", nested(DEEP + 1)),
    ("33 objects", b'{"a":' * (DEEP + 1) + b"1" + b"}" * (DEEP + 1)),
    ("a bracket in a string pretends to close", b"[" * (DEEP + 1) + b'"]]]]"' + b"]" * (DEEP + 1)),
    ("a high surrogate alone", b'"\\ud800"'),
    ("a low surrogate alone", b'"\\udc00"'),
    ("a pair the wrong way round", b'"\\udc00\\ud800"'),
    ("a pair split by an escaped backslash", b'"\\ud83d\\\\\\ude00"'),
    ("half a pair in a name", b'{"\\uD83D": 1}'),
    ("2^63", b"9223372036854775808"),
    ("-2^63 - 1", b"-9223372036854775809"),
    ("2^64", b"[18446744073709551616]"),
    ("5,000 digits", b"1" * 5000),
    ("1e999", b"1e999"),
    ("-1e999", b'{"a": -1e999}'),
    ("400 digits and a point", b"1" * 400 + b".5"),
]

GOOD: list[tuple[str, bytes, Any]] = [
    ("a word", b'"a"', "a"),
    ("blanks around", b' \r\n\t{"a" : 1 } ', {"a": 1}),
    ("the same name in two objects", b'[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
    ("names that differ in case", b'{"a": 1, "A": 2}', {"a": 1, "A": 2}),
    ("32 levels", nested(DEEP), stdlib.loads(nested(DEEP))),
    ("many brackets, none deep", b"[" + b",".join([b"[{}]"] * 100) + b"]", [[{}]] * 100),
    ("brackets in strings", b'["' + b"[" * 100 + b'", "' + b'\\"[' * 100 + b'"]', ["[" * 100, '"[' * 100]),
    ("a whole pair", b'"\\ud83d\\ude00"', "\U0001f600"),
    ("a backslash before u", b'"\\\\ud800"', "\\ud800"),
    ("an escaped NUL", b'"\\u0000"', "\x00"),
    ("2^63 - 1", b"9223372036854775807", 2**63 - 1),
    ("-2^63", b"-9223372036854775808", -(2**63)),
    ("a long fraction", b"0." + b"1" * 400, 1 / 9),
    ("the largest double", b"1.7976931348623157e308", 1.7976931348623157e308),
    ("too small to be told from zero", b"1e-400", 0.0),
]


@pytest.mark.parametrize("raw", [pytest.param(raw, id=why) for why, raw in BAD])
def test_bad_json_is_refused(raw: bytes) -> None:
    """WM-25: whatever is not strict JSON is 400 invalid_json, and the reason is named."""
    with pytest.raises(InvalidJson) as refusal:
        parse(raw)
    assert refusal.value.detail


@pytest.mark.parametrize(("raw", "value"), [pytest.param(raw, value, id=why) for why, raw, value in GOOD])
def test_good_json_is_read(raw: bytes, value: Any) -> None:
    """WM-25: what comes close to a rule without breaking it is read."""
    assert parse(raw) == value


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        (b"3", b"3"),
        (b"3.0", b"3.0"),
        (b"-0.0", b"-0.0"),
        (b"-0", b"0"),
        (b"1e2", b"100.0"),
        (b"1E+2", b"100.0"),
        (b"0.1", b"0.1"),
        (b"1e16", b"1e+16"),
        (b"9007199254740993", b"9007199254740993"),
    ],
)
def test_numbers_are_kept(raw: bytes, kept: bytes) -> None:
    """WM-12: a float stays a float and an integer an integer, to the last digit."""
    assert compact(parse(raw)) == kept


@given(VALUES)
def test_round_trip(value: Any) -> None:
    """WM-12, WM-25: what is written compact is read back as the same values, types and signs."""
    written = compact(value)
    assert repr(sort_members(parse(written))) == repr(sort_members(value))
    assert compact(parse(written)) == written


def sort_members(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: sort_members(value[name]) for name in sorted(value)}
    return [sort_members(inner) for inner in value] if isinstance(value, list) else value


@given(
    st.recursive(
        st.integers(MIN_INTEGER, MAX_INTEGER) | TEXT,
        lambda inner: st.dictionaries(TEXT, inner, max_size=5),
        max_leaves=10,
    )
)
def test_compact_is_what_everybody_calls_compact(value: Any) -> None:
    """WM-12: a client that counts with the standard library counts the same bytes."""
    plain = stdlib.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert compact(value) == plain.encode()


def test_compact_sorts_at_every_level() -> None:
    """WM-12: the size does not depend on the order of the members."""
    assert (
        compact({"b": {"z": 1, "é": 2, "a": []}, "a": "ç"}) == '{"a":"ç","b":{"a":[],"z":1,"é":2}}'.encode()
    )


@given(st.binary(max_size=200) | st.text(alphabet='[]{}",:\\\\u019e.-d8 ', max_size=120).map(str.encode))
def test_any_bytes(raw: bytes) -> None:
    """WM-25: any bytes are read as the standard library reads them, or refused; nothing else is raised."""
    try:
        value = parse(raw)
    except InvalidJson:
        return
    assert repr(value) == repr(stdlib.loads(raw))


@pytest.mark.parametrize(
    ("raw", "secret"), [(b'{"a": "canary', "canary"), (b'{"canary": 1, "canary": 2}', "canary")]
)
def test_details_name_the_rule_only(raw: bytes, secret: str) -> None:
    """PL-8, WM-24: the detail of a refusal never carries what was sent."""
    with pytest.raises(InvalidJson) as refusal:
        parse(raw)
    assert secret not in refusal.value.detail
    assert secret not in str(refusal.value)
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None


HOSTILE = {
    "open brackets": b"[" * LIMIT,
    "a deep body": nested(LIMIT // 2),
    "deep objects": b'{"a":' * (LIMIT // 5),
    "quotes": b'"' * LIMIT,
    "an open string of quotes": b"[" * 33 + b'"' + b'\\"' * (LIMIT // 2),
    "backslashes": b"\\" * LIMIT,
    "digits": b"1" * LIMIT,
    "digits after the point": b"0." + b"1" * LIMIT,
    "an exponent": b"1e" + b"9" * LIMIT,
    "as deep as allowed, all along": b"[" + b",".join([b"[" * 31 + b"]" * 31] * (LIMIT // 63)) + b"]",
    "a million ones": b"[" + b"1," * (LIMIT // 2 - 1) + b"1]",
    "surrogates": b'"' + b"\\ud83d" * (LIMIT // 6) + b'"',
    "blanks": b" " * LIMIT,
}


@pytest.mark.parametrize("raw", [pytest.param(raw, id=why) for why, raw in HOSTILE.items()])
def test_a_hostile_body_costs_a_bounded_time(raw: bytes) -> None:
    """WM-25, PL-18: no body of 2 MiB keeps a process busy; half a second is the measured worst."""
    started = time.process_time()
    with contextlib.suppress(InvalidJson):
        parse(raw)
    assert time.process_time() - started < 10


@given(st.lists(st.integers(0, 9) | st.text(alphabet="a/~0 1", max_size=5), max_size=5))
def test_pointers(path: list[str | int]) -> None:
    """PL-8: a pointer reads back as the path that it was written from (RFC 6901)."""
    parts = pointer(*path).split("/")[1:]
    assert [part.replace("~1", "/").replace("~0", "~") for part in parts] == [str(part) for part in path]


def test_no_float_is_lost() -> None:
    """WM-12: doubles at the edges are written so that they read back bit for bit."""
    for number in (5e-324, 2.2250738585072014e-308, 1e22, 123456789012345680.0, math.pi):
        assert parse(compact(number)).hex() == number.hex()
