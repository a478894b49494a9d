"""Whether a value has the form that its field declares (WM-11)."""

import re
from collections.abc import Callable
from typing import Any

from rfc3339_validator import validate_rfc3339

from agentstate.types import Field
from workspaces.rules.json import MAX_INTEGER, MIN_INTEGER
from workspaces.types import FieldProblem

_AMOUNT = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,9})?")
_CURRENCY = re.compile("[A-Z]{3}")
_SHORT_DURATION = re.compile("[0-9]{1,9}[smhdwy]")
_ISO_DURATION = re.compile(
    r"P(?=[0-9T])([0-9]+Y)?([0-9]+M)?([0-9]+W)?([0-9]+D)?"
    r"(T(?=[0-9])([0-9]+H)?([0-9]+M)?([0-9]+([.,][0-9]+)?S)?)?"
)
_REFERENCE = re.compile(r"[^:\s]+:[^:\s]+:[^\x00-\x1f\x7f]+")
_LONGEST_REFERENCE = 512
_LONGEST_DURATION = 64


def problems(field: Field, value: Any, pointer: str) -> list[FieldProblem]:
    """Find what is wrong with a value of a field; null is allowed everywhere (WM-11)."""
    if value is None:
        return []
    if field.type == "enum":
        is_listed = isinstance(value, str) and value in field.values
        return [] if is_listed else [FieldProblem(pointer, "not_enum", "Must be one of the declared values.")]
    if field.type == "money":
        return _money_problems(value, pointer)
    has_form, expected = _FORMS[field.type]
    return [] if has_form(value) else [FieldProblem(pointer, f"not_{field.type}", expected)]


def _money_problems(value: Any, pointer: str) -> list[FieldProblem]:
    """Take the amount as decimal text only: a float cannot hold cents."""
    if not isinstance(value, dict) or value.keys() != {"amount", "currency"}:
        return [FieldProblem(pointer, "not_money", "Must be an object of amount and currency, nothing else.")]
    found = []
    if not _matches(_AMOUNT, value["amount"]):
        detail = "Must be a decimal number as a string, such as 12.50."
        found.append(FieldProblem(f"{pointer}/amount", "not_money", detail))
    if not _matches(_CURRENCY, value["currency"]):
        detail = "Must be a currency of three capital letters (ISO 4217)."
        found.append(FieldProblem(f"{pointer}/currency", "not_money", detail))
    return found


def _matches(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_string(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    """Take 3 and 3.0, within 64 bits however it is written."""
    if not _is_number(value) or not MIN_INTEGER <= value <= MAX_INTEGER:
        return False
    return isinstance(value, int) or value.is_integer()


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_date(value: Any) -> bool:
    return isinstance(value, str) and validate_rfc3339(f"{value}T00:00:00Z")


def _is_datetime(value: Any) -> bool:
    """Take RFC 3339 in either case; the library would overlook a line break at the end."""
    return (
        isinstance(value, str) and value.isascii() and value[-1:] != "\n" and validate_rfc3339(value.upper())
    )


def _is_duration(value: Any) -> bool:
    is_short = isinstance(value, str) and len(value) <= _LONGEST_DURATION
    return is_short and (_matches(_SHORT_DURATION, value) or _matches(_ISO_DURATION, value))


def _is_reference(value: Any) -> bool:
    is_short = isinstance(value, str) and len(value) <= _LONGEST_REFERENCE
    return is_short and _matches(_REFERENCE, value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_anything(_value: Any) -> bool:
    return True


_FORMS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "string": (_is_string, "Must be a string."),
    "text": (_is_string, "Must be a string."),
    "integer": (_is_integer, "Must be a whole number within 64 bits."),
    "number": (_is_number, "Must be a number."),
    "percent": (_is_number, "Must be a number."),
    "bool": (_is_bool, "Must be true or false."),
    "date": (_is_date, "Must be a date such as 2026-03-31 (RFC 3339)."),
    "datetime": (_is_datetime, "Must be a time with its offset such as 2026-03-31T12:00:00Z (RFC 3339)."),
    "duration": (_is_duration, "Must be a duration such as PT15M (ISO 8601) or 24h."),
    "ref": (_is_reference, "Must be a reference of the form type:namespace:id."),
    "list": (_is_list, "Must be an array."),
    "object": (_is_object, "Must be an object."),
    "any": (_is_anything, ""),
}
