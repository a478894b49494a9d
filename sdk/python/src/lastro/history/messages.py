"""A message as strict JSON: what may be kept, and how many bytes it counts (X6, X7)."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast

from lastro.history.errors import DecisionHistoryMessageInvalid
from lastro.history.records import Message

T = TypeVar("T")

MAX_DEPTH = 128
MAX_BITS = 4_000
SURROGATES = re.compile("[\ud800-\udfff]")


def require_message(message: object, pointer: str = "") -> Message:
    """Give a message that can be kept and sent: a JSON object whose texts and numbers are all strict JSON.

    `pointer` is the JSON pointer of the message itself. At most 128 levels deep, numbers of at most 4,000 bits.
    Raises DecisionHistoryMessageInvalid with the place (X6).
    """
    if not isinstance(message, dict):
        raise DecisionHistoryMessageInvalid(pointer=pointer, reason="not a JSON object")
    pending: list[tuple[object, str, int]] = [(cast(object, message), pointer, 0)]
    while pending:
        value, place, depth = pending.pop()
        reason = _reason(value) if depth < MAX_DEPTH else "too deep"
        if reason:
            raise DecisionHistoryMessageInvalid(pointer=place, reason=reason)
        pending += [(inner, at, depth + 1) for inner, at in _inner(value, place)]
    return cast(Message, message)


def require_list(messages: Iterable[T], pointer: str) -> tuple[T, ...]:
    """Give messages in a row; one alone, or what cannot be counted through, is DecisionHistoryMessageInvalid."""
    if not _is_listed(messages):
        raise DecisionHistoryMessageInvalid(pointer=pointer, reason="no list")
    return tuple(messages)


def _is_listed(given: object) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, str | bytes | dict)


def size_of(message: Message) -> int:
    """Count the bytes of compact UTF-8 JSON. A lone surrogate, which no append lets in, counts as U+FFFD."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode("utf-8", "surrogatepass"))


def is_sendable(message: Message) -> bool:
    """Say whether a message is strict UTF-8 JSON (X6)."""
    try:
        json.dumps(message, ensure_ascii=False, allow_nan=False).encode()
    except (UnicodeEncodeError, ValueError):
        return False
    return True


def sendable(value: Any) -> Any:
    """Put U+FFFD for lone surrogates, and null for numbers that JSON has not."""
    if isinstance(value, str):
        return SURROGATES.sub("\ufffd", value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [sendable(element) for element in cast("Sequence[Any]", value)]
    if isinstance(value, dict):
        return {sendable(name): sendable(element) for name, element in cast(Message, value).items()}
    return value


def _reason(value: object) -> str:
    if isinstance(value, str):
        return "a lone surrogate" if SURROGATES.search(value) else ""
    if isinstance(value, float):
        return "" if math.isfinite(value) else "a number that JSON has not"
    if isinstance(value, int):
        return "" if value.bit_length() <= MAX_BITS else "a number that is too long"
    if value is None or isinstance(value, list | dict):
        return ""
    return "no value that JSON has"


def _inner(value: object, place: str) -> Iterator[tuple[object, str]]:
    if isinstance(value, list):
        for number, element in enumerate(cast("list[object]", value)):
            yield element, f"{place}/{number}"
    if isinstance(value, dict):
        for name, element in cast("dict[object, object]", value).items():
            if not isinstance(name, str) or SURROGATES.search(name):
                raise DecisionHistoryMessageInvalid(pointer=place, reason="a name that is no strict text")
            yield element, f"{place}/{name.replace('~', '~0').replace('/', '~1')}"
