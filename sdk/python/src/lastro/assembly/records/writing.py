"""From a record to the JSON that a host sends (CA-3): members that say nothing but their default are left out."""

from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import UTC, datetime
from typing import Any, cast

from lastro.assembly.records.graph import Record


def to_json(record: Record) -> dict[str, Any]:
    """Write a record as `parse_record` reads it."""
    return {"type": record.wire, **_members(record)}


def _members(value: Any) -> dict[str, Any]:
    said = ((field, getattr(value, field.name)) for field in fields(value))
    return {field.name: _written(member) for field, member in said if not _is_default(field, member)}


def _is_default(field: Field[Any], member: Any) -> bool:
    return field.default is not MISSING and type(field.default) is type(member) and field.default == member


def _written(member: Any) -> Any:
    if isinstance(member, datetime):
        return member.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(member, tuple):
        return [_written(element) for element in cast("tuple[object, ...]", member)]
    return _members(member) if is_dataclass(member) else member
