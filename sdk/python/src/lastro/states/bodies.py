"""What a write makes of a body, and what JSON the server takes (WM-7, WM-8, WM-25)."""

import json
import math
from collections.abc import Mapping
from typing import Any, cast

from lastro.errors import InvalidBody
from lastro.states.types import Body

DELETE: Mapping[str, bool] = {"$delete": True}
DEEPEST = 32
LARGEST = 2**63 - 1
SMALLEST = -(2**63)


def is_delete(value: object) -> bool:
    """Tell whether a value asks to remove its field: exactly `{"$delete": true}`, where 1 is not true."""
    return (
        isinstance(value, dict) and len(cast(Body, value)) == 1 and cast(Body, value).get("$delete") is True
    )


def merged(body: Mapping[str, Any], fields: Mapping[str, Any]) -> Body:
    """Give a body after a merge: each field named is replaced or removed whole, the others stay (WM-8)."""
    kept = {name: value for name, value in body.items() if name not in fields}
    return {**kept, **{name: value for name, value in fields.items() if not is_delete(value)}}


def detached(value: Any) -> Any:
    """Give a copy that shares nothing that can be changed."""
    if isinstance(value, dict):
        return {name: detached(each) for name, each in cast(Body, value).items()}
    if isinstance(value, list):
        return [detached(each) for each in cast("list[object]", value)]
    return value


def json_object(body: object, *, removes: bool) -> Body:
    """Give a detached JSON object, or refuse what the server would never take; `removes`: may it hold `$delete`.

    Raises InvalidBody, which names no value and no key.
    """
    if not isinstance(body, Mapping):
        raise InvalidBody("a body is an object")
    found = cast(Body, _json(cast(object, body), 1))
    if not removes and any(is_delete(value) for value in found.values()):
        raise InvalidBody("a cas removes a field by leaving it out")
    return found


def compact(value: object) -> bytes:
    """Give compact JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _json(value: object, depth: int) -> Any:
    if isinstance(value, Mapping | list | tuple):
        return _container(cast(object, value), depth)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float):
        return _number(value)
    raise InvalidBody(f"a {type(value).__name__} is no JSON value")


def _container(value: object, depth: int) -> Any:
    if depth > DEEPEST:
        raise InvalidBody(f"a body nests at most {DEEPEST} deep")
    if isinstance(value, Mapping):
        pairs = cast(Mapping[object, object], value).items()
        return {_key(name): _json(each, depth + 1) for name, each in pairs}
    return [_json(each, depth + 1) for each in cast(list[object], value)]


def _key(name: object) -> str:
    if not isinstance(name, str):
        raise InvalidBody("the key of an object is a string")
    return _text(name)


def _text(value: str) -> str:
    if any("\ud800" <= letter <= "\udfff" for letter in value) if not value.isascii() else False:
        raise InvalidBody("a string holds half of a character")
    return str(value)


def _number(value: float) -> float:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidBody("a number is finite")
        return value
    if not SMALLEST <= value <= LARGEST:
        raise InvalidBody("an integer has at most 64 bits")
    return int(value)
