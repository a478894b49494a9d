"""From a JSON value to a record, or to every problem with its place, as the types of the records say (CA-1, CA-3)."""

import math
import re
import types
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from lastro.assembly.errors import Problem, RecordsInvalid
from lastro.assembly.records.checks import problems_of
from lastro.assembly.records.events import (
    Conflict,
    MessageFinalized,
    Promotion,
    Resolution,
    RunFinished,
    Settlement,
    Supersession,
)
from lastro.assembly.records.forms import SURROGATES, Between, Count, Length, Pattern, To
from lastro.assembly.records.graph import (
    Branch,
    ContinuationCheckpoint,
    Conversation,
    Message,
    ModelRun,
    Participant,
    Record,
    SkillState,
    ToolArtifact,
    ToolCall,
    ToolMemory,
)

MAX_RECORDS = 500

RECORD_TYPES: Mapping[str, type[Record]] = {
    kind.wire: kind
    for kind in (
        Conversation,
        Branch,
        Participant,
        Message,
        ModelRun,
        ToolCall,
        ToolArtifact,
        ToolMemory,
        SkillState,
        ContinuationCheckpoint,
        Promotion,
        MessageFinalized,
        Supersession,
        Conflict,
        Settlement,
        Resolution,
        RunFinished,
    )
}
"""Every record that a host may write, by its `type`. Assemblies and decisions of policy are not among them (CA-1)."""

T = TypeVar("T")
_Read = Callable[[Any, str], Any]
_FAR = 4_000


class _Wrong(Exception):
    def __init__(self, *problems: Problem) -> None:
        self.problems = problems


def parse_records(values: Sequence[Any], *, pointer: str = "/records") -> tuple[Record, ...]:
    """Read up to 500 typed records in their order; raises RecordsInvalid with every problem and its JSON pointer."""
    if not 1 <= len(values) <= MAX_RECORDS:
        raise RecordsInvalid((Problem(pointer, "wrong_length", f"1 to {MAX_RECORDS} records at a time."),))
    found = [_tried(value, f"{pointer}/{number}") for number, value in enumerate(values)]
    problems = tuple(problem for _, wrong in found for problem in wrong)
    if problems:
        raise RecordsInvalid(problems)
    return tuple(record for record, _ in found if record)


def parse_record(value: Any, *, pointer: str = "") -> Record:
    """Read one typed record; raises RecordsInvalid."""
    record, problems = _tried(value, pointer)
    if record is None:
        raise RecordsInvalid(problems)
    return record


def parse_shape(kind: type[T], value: Any, *, pointer: str = "") -> T:
    """Read another dataclass whose members have forms, such as a request; raises RecordsInvalid."""
    try:
        return cast(T, _nested(kind)(value, pointer))
    except _Wrong as wrong:
        raise RecordsInvalid(wrong.problems) from None


def _tried(value: Any, pointer: str) -> tuple[Record | None, tuple[Problem, ...]]:
    try:
        record = _record(value, pointer)
    except _Wrong as wrong:
        return None, wrong.problems
    problems = tuple(problems_of(record, pointer))
    return (None, problems) if problems else (record, ())


def _record(value: Any, pointer: str) -> Record:
    if not isinstance(value, dict):
        raise _Wrong(Problem(pointer, "not_an_object", "A record is a JSON object."))
    members = cast("dict[str, Any]", value)
    name = members.get("type")
    kind = RECORD_TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise _Wrong(
            Problem(f"{pointer}/type", "unknown_type", "Not a type of record that a host may write.")
        )
    rest = {name: member for name, member in members.items() if name != "type"}
    return cast(Record, _object(kind, rest, pointer))


def _object(kind: type[Any], members: Mapping[str, Any], pointer: str) -> Any:
    known = _members(cast(Hashable, kind))
    problems = [
        Problem(f"{pointer}/{_escaped(name)}", "unknown_member", "No such member.")
        for name in members
        if name not in known
    ]
    read: dict[str, Any] = {}
    for field, reader in known.values():
        problems += _member(field, reader, members, pointer, read)
    if problems:
        raise _Wrong(*problems)
    return kind(**read)


def _member(
    field: Field[Any], reader: _Read, members: Mapping[str, Any], pointer: str, read: dict[str, Any]
) -> Sequence[Problem]:
    place = f"{pointer}/{field.name}"
    if field.name not in members:
        return [Problem(place, "missing", "This member is required.")] if field.default is MISSING else ()
    try:
        read[field.name] = reader(members[field.name], place)
    except _Wrong as wrong:
        return wrong.problems
    return ()


@cache
def _members(kind: Hashable) -> dict[str, tuple[Field[Any], _Read]]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: (field, _reader(hints[field.name])) for field in fields(cast("type[Any]", kind))}


@cache
def references_in(kind: Hashable) -> tuple[tuple[str, str], ...]:
    """Give the members of a record type that name other records, with the type that they name (CA-3)."""
    hints = get_type_hints(kind, include_extras=True)
    found = ((field.name, _target(hints[field.name])) for field in fields(cast("type[Any]", kind)))
    return tuple((name, target) for name, target in found if target)


def _target(hint: Any) -> str:
    if get_origin(hint) is Annotated:
        direct = next((form.wire for form in hint.__metadata__ if isinstance(form, To)), "")
        return direct or _target(get_args(hint)[0])
    targets: list[str] = [_target(inner) for inner in get_args(hint)]
    return next(filter(None, targets), "")


def _reader(hint: Any) -> _Read:
    if get_origin(hint) is Annotated:
        return _narrowed(_reader(get_args(hint)[0]), hint.__metadata__)
    if hint is Any:
        return _json
    if is_dataclass(hint):
        return _nested(cast("type[Any]", hint))
    if hint in _PLAIN:
        return _PLAIN[hint]
    return _compound(hint, get_args(hint))


def _compound(hint: Any, inner: tuple[Any, ...]) -> _Read:
    if get_origin(hint) is Literal:
        return _choice(inner)
    if get_origin(hint) in (Union, types.UnionType):
        return _optional(_reader(next(kind for kind in inner if kind is not type(None))))
    if inner[-1] is Ellipsis:
        return _listed(_reader(inner[0]), None)
    return _listed(_reader(inner[0]), len(inner))


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise _Wrong(Problem(place, "not_a_text", "This is a text."))
    if SURROGATES.search(value):
        raise _Wrong(Problem(place, "lone_surrogate", "A text holds no half of a character."))
    return value


def _integer(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _Wrong(Problem(place, "not_an_integer", "This is an integer."))
    return value


def _number(value: Any, place: str) -> float:
    # An integer may be longer than any double.
    with suppress(OverflowError):
        if not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value):
            return float(value)
    raise _Wrong(Problem(place, "not_a_number", "This is a number."))


def _boolean(value: Any, place: str) -> bool:
    if not isinstance(value, bool):
        raise _Wrong(Problem(place, "not_a_boolean", "This is true or false."))
    return value


def _moment(value: Any, place: str) -> datetime:
    try:
        moment = datetime.fromisoformat(_text(value, place))
        if moment.tzinfo is not None and "T" in value:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise _Wrong(Problem(place, "not_a_time", "This is an RFC 3339 time with its offset."))


_PLAIN: Mapping[Any, _Read] = {
    str: _text,
    int: _integer,
    float: _number,
    bool: _boolean,
    datetime: _moment,
}


def _json(value: Any, place: str) -> Any:
    """Take any JSON as it is; the walk is a loop, so depth costs no stack."""
    pending: list[Any] = [value]
    while pending:
        pending += _inner(pending.pop(), place)
    return value


def _inner(value: Any, place: str) -> Iterator[Any]:
    if isinstance(value, str):
        _text(value, place)
    elif isinstance(value, float) and not math.isfinite(value):
        raise _Wrong(Problem(place, "not_json", "JSON has no such number."))
    elif isinstance(value, dict):
        for name, member in cast("dict[object, object]", value).items():
            yield _text(name, place)
            yield member
    elif isinstance(value, list):
        yield from cast("list[object]", value)
    elif value is not None and not isinstance(value, bool | int | float):
        raise _Wrong(Problem(place, "not_json", "JSON has no such value."))


def _nested(kind: type[Any]) -> _Read:
    def read(value: Any, place: str) -> Any:
        if not isinstance(value, dict):
            raise _Wrong(Problem(place, "not_an_object", "This is a JSON object."))
        return _object(kind, cast("dict[str, Any]", value), place)

    return read


def _optional(reader: _Read) -> _Read:
    return lambda value, place: None if value is None else reader(value, place)


def _choice(choices: tuple[Any, ...]) -> _Read:
    def read(value: Any, place: str) -> Any:
        if not isinstance(value, str) or value not in choices:
            raise _Wrong(Problem(place, "unknown_choice", f"One of {', '.join(choices)}."))
        return value

    return read


def _listed(reader: _Read, length: int | None) -> _Read:
    def read(value: Any, place: str) -> Any:
        if not isinstance(value, list | tuple):
            raise _Wrong(Problem(place, "not_a_list", "This is a list."))
        elements = cast("Sequence[object]", value)
        if len(elements) > _FAR or length not in (None, len(elements)):
            raise _Wrong(Problem(place, "wrong_length", "The list has too many or too few elements."))
        return tuple(reader(element, f"{place}/{number}") for number, element in enumerate(elements))

    return read


def _narrowed(reader: _Read, forms: Sequence[Any]) -> _Read:
    def read(value: Any, place: str) -> Any:
        found = reader(value, place)
        for form in forms:
            code = _broken(form, found)
            if code:
                raise _Wrong(Problem(place, code, _SAYS[code] + _bounds(form)))
        return found

    return read


_SAYS = {
    "wrong_form": "The text has not the form: ",
    "wrong_length": "The length is outside of ",
    "out_of_bounds": "The number is outside of ",
}


def _bounds(form: Any) -> str:
    return form.says if isinstance(form, Pattern) else f"{form.least} to {form.most}."


def _broken(form: Any, value: Any) -> str:
    if isinstance(form, Pattern):
        return "" if re.fullmatch(form.pattern, value) else "wrong_form"
    if isinstance(form, Length | Count):
        return "" if form.least <= len(value) <= form.most else "wrong_length"
    if isinstance(form, Between):
        return "" if form.least <= value <= form.most else "out_of_bounds"
    return ""


def _escaped(name: object) -> str:
    return str(name).replace("~", "~0").replace("/", "~1")
