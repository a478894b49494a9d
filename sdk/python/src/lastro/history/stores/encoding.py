"""How messages and heads are written: compact UTF-8 JSON, and back as they were (X3, X6)."""

import json
import math
from collections.abc import Iterable
from typing import Any, cast

from lastro.history.errors import DecisionHistoryMessageInvalid, DecisionHistorySummaryInvalid
from lastro.history.messages import require_message
from lastro.history.records import Message, Pins, Summary

MAX_DEPTH = 128
"""Levels of objects and arrays in a message."""


def written(value: Any) -> bytes:
    """Give the compact JSON of a value."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def canonical(message: Message) -> bytes:
    """Give one form for equal messages, whatever the order of their members."""
    return json.dumps(
        message, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    ).encode()


def encoded(message: Message, *, pointer: str) -> bytes:
    """Give a message as it is stored; raises DecisionHistoryMessageInvalid where it would not come back the same."""
    if is_deep(require_message(message, pointer)):
        raise DecisionHistoryMessageInvalid(pointer=pointer, reason=f"nested deeper than {MAX_DEPTH}")
    return written(message)


def is_deep(message: Message) -> bool:
    """Say whether a message is nested so deep that reading it could end a reader's stack."""
    level: list[object] = [message]
    for _ in range(MAX_DEPTH):
        level = [inner for value in level for inner in elements(value)]
        if not level:
            return False
    return True


def elements(value: object) -> Iterable[object]:
    """Give what is directly inside an object or an array."""
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


def decoded(body: bytes) -> Message:
    """Give a message of its own, so that nobody shares what is stored."""
    message: Message = json.loads(body)
    return message


def is_time(value: object) -> bool:
    """Say whether it is a finite number of seconds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def pins_written(pins: Pins | None) -> bytes | None:
    """Give what is pinned as it is stored."""
    if pins is None:
        return None
    return written([pins.provider, pins.model, pins.interface, pins.content_mode])


def pins_read(body: bytes | None) -> Pins | None:
    """Give what is pinned."""
    return None if body is None else Pins(*json.loads(body))


def summary_written(summary: Summary | None) -> bytes | None:
    """Give a summary as it is stored; text that cannot be encoded is DecisionHistorySummaryInvalid."""
    if summary is None:
        return None
    try:
        return written([summary.text, summary.covers, summary.digest, summary.through, summary.expires_at])
    except (TypeError, ValueError):
        raise DecisionHistorySummaryInvalid("a summary is text that can be encoded") from None


def summary_read(body: bytes | None) -> Summary | None:
    """Give a summary."""
    return None if body is None else Summary(*json.loads(body))
