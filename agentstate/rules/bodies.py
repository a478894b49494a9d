"""The next body of a state, and which of its fields are still served (WM-7, WM-8, WM-10, WM-21).

A field or a state is gone at its moment, not after it.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from agentstate.types import DroppedField, HeldField, ObjectType

Mode = Literal["cas", "merge_by_key"]

DELETE: Mapping[str, bool] = {"$delete": True}


def is_delete(value: Any) -> bool:
    """Tell whether a value asks to remove its field: exactly `{"$delete": true}`, where 1 is not true."""
    return isinstance(value, dict) and len(value) == 1 and value.get("$delete") is True


def next_body(current: Mapping[str, Any], write_body: Mapping[str, Any], mode: Mode) -> dict[str, Any]:
    """Give the body after a write (WM-7, WM-8).

    `current` has no expired field any more. A `cas` holds no removal: one was refused with its form.
    """
    if mode == "cas":
        return dict(write_body)
    kept = {field: value for field, value in current.items() if field not in write_body}
    return {**kept, **{field: value for field, value in write_body.items() if not is_delete(value)}}


def undeclared(
    write_body: Mapping[str, Any], declared: ObjectType | None, held: Collection[str]
) -> list[str]:
    """List the fields that a write may not name (WM-10).

    Only a stored field whose declaration is gone may be removed; an agent without a type may name nothing.
    """
    known = declared.fields if declared else {}
    return sorted(
        field
        for field, value in write_body.items()
        if field not in known and not (declared and field in held and is_delete(value))
    )


def unexpired_fields(
    held: Mapping[str, HeldField], declared: ObjectType | None, now: datetime
) -> dict[str, HeldField]:
    """Give the fields that the next write starts from, declared or not (WM-8, WM-21)."""
    ends = expires(held, declared)
    return {name: field for name, field in held.items() if name not in ends or now < ends[name]}


def live_fields(
    held: Mapping[str, HeldField], declared: ObjectType | None, now: datetime
) -> dict[str, HeldField]:
    """Give the fields that are served: declared today and not expired (WM-3, WM-21)."""
    known = declared.fields if declared else {}
    return {name: field for name, field in unexpired_fields(held, declared, now).items() if name in known}


def undropped_fields(
    held: Mapping[str, HeldField], *, kind: str, document: int, dropped: Sequence[DroppedField]
) -> dict[str, HeldField]:
    """Give the fields of a state that no version since its last write has dropped (PR-3).

    `kind` is the type and `document` the version under which the state was written or settled last.
    """
    gone = {drop.field for drop in dropped if drop.document > document and drop.type == kind}
    return {name: field for name, field in held.items() if name not in gone}


def valid_until(updated_at: datetime, retention_seconds: int, declared: ObjectType | None) -> datetime:
    """Give when a state expires: of its retention at the last write and the one now, the shorter (WM-3)."""
    now = declared.state_retention_seconds if declared else retention_seconds
    return updated_at + timedelta(seconds=min(retention_seconds, now))


def expires(
    held: Mapping[str, HeldField], declared: ObjectType | None, *, until: datetime | None = None
) -> dict[str, datetime]:
    """Give the end of each field with a retention of its own: at write or now, the shorter counts (WM-21).

    `until` is the end of the state, which no field outlives.
    """
    today = declared.field_retention_seconds if declared else {}
    times = {
        name: [seconds for seconds in (field.retention_seconds, today.get(name)) if seconds is not None]
        for name, field in held.items()
    }
    ends = {
        name: datetime.fromtimestamp(held[name].named_at + min(seconds), tz=UTC)
        for name, seconds in times.items()
        if seconds
    }
    return {name: min(end, until or end) for name, end in ends.items()}


def next_expiry(held: Mapping[str, HeldField], declared: ObjectType | None, *, until: datetime) -> datetime:
    """Give the earliest moment at which something of a state expires, when a sweep has work (WM-21)."""
    return min([until, *expires(held, declared).values()])
