"""Strict JSON in, compact JSON out, and pointers to places in it (WM-12, WM-25, PL-8).

What is kept as it came: `3.0` stays a float and is written as `3.0`, so an integer written as `3` and one
written as `3.0` read back as they were sent; `-0.0` keeps its sign; an exponent makes a float (`1e2` is
`100.0`); a decimal becomes the nearest double. Integers are signed, -2^63 to 2^63-1: what a `bigint`, a Java
`long` and every client can hold.
"""

import json
import math
from collections.abc import Callable
from typing import Any

import msgspec
import orjson

from workspaces.errors import InvalidJson

MAX_DEPTH = 32
MIN_INTEGER = -(2**63)
MAX_INTEGER = 2**63 - 1

MOST_DIGITS = 400

_BOM = b"\xef\xbb\xbf"
_SURELY_SHORT = len(str(MAX_INTEGER))
_SURELY_LONG = len(str(MIN_INTEGER)) + 1
_ALL_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class Rules(msgspec.Struct, frozen=True):
    """What a route takes beyond the usual: levels of nesting, and integers of any size."""

    max_depth: int = MAX_DEPTH
    any_integer: bool = False


USUAL = Rules()


def parse(raw: bytes, rules: Rules = USUAL) -> Any:
    """Read one JSON text, or refuse it with the rule that it breaks (WM-25)."""
    _require_depth(raw, rules.max_depth)
    try:
        value = (_decode_any if rules.any_integer else _decode)(_text(raw))
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidJson(_where(error)) from None
    if b"\\u" in raw:
        _require_no_surrogate(value)
    return value


def compact(value: Any) -> bytes:
    """Write compact UTF-8 JSON with sorted keys, whose length is the size of a body (WM-12)."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def pointer(*parts: str | int) -> str:
    """Write the RFC 6901 pointer of a place, `` for the whole (PL-8)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def _text(raw: bytes) -> str:
    if raw.startswith(_BOM):
        raise InvalidJson("The body starts with a byte order mark.")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise InvalidJson("The body is not valid UTF-8.") from None


def _where(error: Exception) -> str:
    """Name the place; the parser's own message may quote the body."""
    if isinstance(error, json.JSONDecodeError):
        return f"The body is not well-formed JSON (line {error.lineno}, column {error.colno})."
    return "The body is not well-formed JSON."


def _require_depth(raw: bytes, max_depth: int) -> None:
    """Refuse deep nesting before anything recurses, in time linear in the length.

    1. At most 32 brackets cannot nest deeper than 32 levels: nothing to do for ordinary bodies.
    2. Each round removes the innermost pairs, so what is left after as many rounds is deeper, or never closed.
    """
    if raw.count(b"[") + raw.count(b"{") <= max_depth:
        return
    brackets = _outside_strings(raw).translate(_ALL_AS_SQUARE, _NOT_BRACKETS)
    for _ in range(max_depth):
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            return
    raise InvalidJson(f"The body is nested deeper than {max_depth} levels, or a bracket is never closed.")


def _outside_strings(raw: bytes) -> bytes:
    """Drop the strings by splitting at quotes: a pattern would take quadratic time on an open string."""
    bare = raw.replace(rb"\\", b"").replace(rb"\"", b"")
    return b"".join(bare.split(b'"')[::2])


def _require_no_surrogate(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidJson("A string holds half of a surrogate pair.") from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise InvalidJson("A member name appears twice in one object.")
    return members


def _integer(digits: str) -> int:
    """Read an integer; the length comes first, since Python refuses or crawls on very long ones."""
    if len(digits) < _SURELY_SHORT:
        return int(digits)
    if len(digits) < _SURELY_LONG:
        number = int(digits)
        if MIN_INTEGER <= number <= MAX_INTEGER:
            return number
    raise InvalidJson("An integer does not fit in 64 bits (signed).")


def _any_integer(digits: str) -> int:
    """Read an integer of any size that is no attack: Python takes quadratic time."""
    if len(digits) > MOST_DIGITS:
        raise InvalidJson(f"An integer has more than {MOST_DIGITS} digits.")
    return int(digits)


def _double(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise InvalidJson("A number is too large for a double.")
    return number


def _constant(_name: str) -> float:
    raise InvalidJson("NaN and Infinity are not JSON.")


_decode: Callable[[str], Any] = json.JSONDecoder(
    object_pairs_hook=_members, parse_int=_integer, parse_float=_double, parse_constant=_constant
).decode
_decode_any: Callable[[str], Any] = json.JSONDecoder(
    object_pairs_hook=_members, parse_int=_any_integer, parse_float=_double, parse_constant=_constant
).decode
