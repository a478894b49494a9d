"""What a write to a state amounts to, in the order of the checks of WM-13."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from agentstate.errors import AgentStateConflict, InvalidFieldValue
from agentstate.rules import bodies, values
from agentstate.types import HeldField, Life, ObjectType, StateWrite
from workspaces.errors import InvalidInput
from workspaces.masking import FieldRule
from workspaces.rules.json import pointer
from workspaces.types import FieldProblem


def expected_version(write: StateWrite) -> int | None:
    """Give the version that a write demands: for a `cas` without one 0, for a merge without one none (WM-7, WM-8)."""
    return write.if_version or 0 if write.mode == "cas" else write.if_version


def require_version(stored: int, expected: int | None) -> None:
    """Refuse a write that holds at another version than the stored one (412)."""
    if expected is not None and stored != expected:
        raise AgentStateConflict


def require_form(body: Mapping[str, Any], mode: str) -> None:
    """Refuse `{"$delete": true}` as a value of a `cas`, whose body is the whole state already (WM-7)."""
    removals = [name for name, value in body.items() if bodies.is_delete(value)] if mode == "cas" else []
    if removals:
        sentence = "A cas removes a field by leaving it out."
        raise InvalidInput(
            errors=tuple(FieldProblem(pointer("body", name), "delete_in_cas", sentence) for name in removals)
        )


def next_held(
    write: StateWrite, life: Life, body: Mapping[str, Any], kind: ObjectType, *, now: datetime
) -> dict[str, HeldField]:
    """Give the fields held after the write; those that it named count from now (WM-21)."""
    retention, fresh = kind.field_retention_seconds, now.timestamp()
    return {
        name: HeldField(fresh, retention.get(name)) if name in write.body else life.held[name]
        for name in body
    }


def has_undeclared(write: StateWrite, life: Life, kind: ObjectType | None) -> bool:
    """Tell whether the write names a field that it may not (WM-10); without a type even an empty one (WM-2)."""
    return kind is None or bool(bodies.undeclared(write.body, kind, life.stored))


def values_of(write: StateWrite) -> dict[str, Any]:
    """Give the fields that the write sets."""
    return {name: value for name, value in write.body.items() if not bodies.is_delete(value)}


def require_values(write: StateWrite, kind: ObjectType | None) -> None:
    """Refuse values that are not of their declared types, naming each (WM-11)."""
    fields = kind.fields if kind else {}
    problems = [
        problem
        for name, value in values_of(write).items()
        for problem in values.problems(fields[name], value, pointer("body", name))
    ]
    if problems:
        raise InvalidFieldValue(errors=tuple(problems))


def next_body(write: StateWrite, life: Life, masked: Mapping[str, Any]) -> dict[str, Any]:
    """Give the body after the write, with the masked values in place of those that came.

    A value that masking drops leaves its field as if the write had removed it.
    """
    set_to = {name: masked.get(name, bodies.DELETE) for name in write.body}
    named = {name: value for name, value in set_to.items() if write.mode != "cas" or name in masked}
    return bodies.next_body(life.body, named, write.mode)


def field_rules(kind: ObjectType | None) -> dict[str, FieldRule]:
    """Give what masking needs to know of each declared field."""
    fields = kind.fields if kind else {}
    return {name: FieldRule(type=field.type, pii=field.pii) for name, field in fields.items()}


def is_over_cap(size: int, kind: ObjectType | None) -> bool:
    """Tell whether a body of this size passes the cap of its type (WM-12)."""
    return kind is not None and kind.cap_bytes is not None and size > kind.cap_bytes
