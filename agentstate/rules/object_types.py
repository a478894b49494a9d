"""Object types: whole-document checks, the type of an agent, and what publishing does (WM-2, WM-3, PR-3)."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from agentstate.types import (
    ChangedField,
    Field,
    Holding,
    ObjectType,
    RemovedField,
    ShortenedLimit,
    TypeEffects,
    UntypedAgent,
)
from workspaces.rules.documents import duration_seconds, is_duration
from workspaces.rules.json import pointer
from workspaces.types import FieldProblem

DEFAULT_STATE_RETENTION = "30d"
SHORTEST_STATE_SECONDS = duration_seconds("1d")
LONGEST_STATE_SECONDS = duration_seconds("180d")

_TEXTS = ("type", "version", "ownership", "label", "description")
_LISTS = ("agents", "purposes", "recipients")

_Path = tuple[str | int, ...]


class _Move(msgspec.Struct, frozen=True):
    """The types of one agent before and after."""

    agent: str
    was: ObjectType
    now: ObjectType | None


def parse_types(document: Mapping[str, Any]) -> tuple[ObjectType, ...]:
    """Read a valid `object-types` document, every ownership, in the document's order (WM-3)."""
    return tuple(_parse_type(declared) for declared in document["types"])


def declared_type(types: Sequence[ObjectType], agent: str) -> ObjectType | None:
    """Give the type of an agent's states (WM-2): the one listing it, named like it, or the only one."""
    owned = [declared for declared in types if declared.ownership == "agent"]
    for declared in owned:
        if agent in declared.agents:
            return declared
    for declared in owned:
        if declared.type == agent:
            return declared
    return owned[0] if len(owned) == 1 else None


def problems(document: Any) -> list[FieldProblem]:
    """Find what no schema can say, at once and in documents of any shape (WM-3)."""
    types = [(("types", index), declared) for index, declared in enumerate(_array(document, "types"))]
    found: list[FieldProblem] = [*_repeated_types(types), *_repeated_agents(types)]
    for path, declared in types:
        found += _ownership_problems(declared, path)
        found += _field_problems(_object(declared, "fields"), (*path, "fields"))
        found += _retention_problems(declared, (*path, "retention"))
    return found


def effects(
    before: Sequence[ObjectType], after: Sequence[ObjectType], holdings: Sequence[Holding]
) -> TypeEffects:
    """Tell what publishing `after` does to what is stored (PR-3).

    An agent that had no type before is not news, but what its states hold can still be lost.
    """
    states = Counter({held.agent: 0 for held in holdings})
    for held in holdings:
        states[held.agent] += held.states
    moves = [
        _Move(agent, was, declared_type(after, agent))
        for agent in sorted(states)
        if (was := declared_type(before, agent)) is not None
    ]
    return TypeEffects(
        removed=_removed(before, after, holdings),
        changed=_changed(moves, holdings),
        untyped=tuple(
            UntypedAgent(move.agent, states[move.agent])
            for move in moves
            if move.now is None and states[move.agent]
        ),
        shortened=_shortened(moves, before, after, states),
    )


def breaks(found: TypeEffects, drop: Collection[str]) -> list[FieldProblem]:
    """Refuse to lose fields that states hold, unless `drop` names each as `type.field` (PR-3)."""
    return [
        FieldProblem(
            lost.pointer, "field_held", f"{name} is held by {lost.states} states; drop must name it."
        )
        for lost in found.removed
        if (name := f"{lost.type}.{lost.field}") not in drop
    ]


def _parse_type(declared: Mapping[str, Any]) -> ObjectType:
    """Build the value; what the document leaves out keeps the default of the struct."""
    members: dict[str, Any] = {name: declared[name] for name in _TEXTS if name in declared}
    members |= {name: tuple(declared[name]) for name in _LISTS if name in declared}
    members["fields"] = {name: _parse_field(name, field) for name, field in declared["fields"].items()}
    times = {name: duration_seconds(text) for name, text in declared.get("retention", {}).items()}
    if "state" in times:
        members["state_retention_seconds"] = times.pop("state")
    settings = declared.get("agent_state", {})
    if "scopes" in settings:
        members["scopes"] = tuple(settings["scopes"])
    if "cap_bytes" in settings:
        cap = settings["cap_bytes"]
        members["cap_bytes"] = cap if cap is None else int(cap)
    return ObjectType(field_retention_seconds=times, **members)


def _parse_field(name: str, field: Mapping[str, Any]) -> Field:
    return Field(name=name, **{**field, "values": tuple(field.get("values", ()))})


def _array(value: Any, name: str) -> list[Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def _object(value: Any, name: str) -> dict[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _repeated_types(types: Sequence[tuple[_Path, Any]]) -> Iterator[FieldProblem]:
    named = [
        ((*path, "type"), declared["type"])
        for path, declared in types
        if isinstance(declared, dict) and isinstance(declared.get("type"), str)
    ]
    return _repeated(named, "Another type has this name.")


def _repeated_agents(types: Sequence[tuple[_Path, Any]]) -> Iterator[FieldProblem]:
    """Find agents that two types list; one that a type lists twice is the schema's to find."""
    listed = [
        ((*path, "agents", index), agent)
        for path, declared in types
        for agent, index in {
            agent: index for index, agent in enumerate(_array(declared, "agents")) if isinstance(agent, str)
        }.items()
    ]
    return _repeated(listed, "Another type lists this agent.")


def _repeated(named: list[tuple[_Path, str]], detail: str) -> Iterator[FieldProblem]:
    seen: set[str] = set()
    for path, name in named:
        if name in seen:
            yield FieldProblem(pointer(*path), "not_unique", detail)
        seen.add(name)


def _ownership_problems(declared: Any, path: _Path) -> Iterator[FieldProblem]:
    if isinstance(declared, dict) and declared.get("ownership") in ("subject", "shared"):
        for name in ("agents", "agent_state"):
            if name in declared:
                detail = "Only a type whose ownership is agent has this member."
                yield FieldProblem(pointer(*path, name), "not_allowed", detail)


def _field_problems(fields: dict[str, Any], path: _Path) -> Iterator[FieldProblem]:
    if "state" in fields:
        yield FieldProblem(pointer(*path, "state"), "reserved", "This name is reserved.")
    for name, field in fields.items():
        is_enum = isinstance(field, dict) and field.get("type") == "enum"
        if is_enum and field.get("values", []) == []:
            yield FieldProblem(pointer(*path, name, "values"), "required", "An enum lists its values.")
        if not is_enum and isinstance(field, dict) and "values" in field:
            yield FieldProblem(pointer(*path, name, "values"), "not_allowed", "Only an enum lists values.")


def _retention_problems(declared: Any, path: _Path) -> Iterator[FieldProblem]:
    """Check the bounds of a state's time, and that a field's is shorter and the field declared."""
    times = _object(declared, "retention")
    state = times.get("state", DEFAULT_STATE_RETENTION)
    seconds = duration_seconds(state if is_duration(state) else DEFAULT_STATE_RETENTION)
    if not SHORTEST_STATE_SECONDS <= seconds <= LONGEST_STATE_SECONDS:
        yield FieldProblem(pointer(*path, "state"), "out_of_bounds", "Must be 1d to 180d.")
    for name in times.keys() - {"state"}:
        if name not in _object(declared, "fields"):
            yield FieldProblem(pointer(*path, name), "unknown_field", "There is no such field in this type.")
        if is_duration(times[name]) and duration_seconds(times[name]) > seconds:
            yield FieldProblem(pointer(*path, name), "too_large", "Must not be longer than the state's.")


def _removed(
    before: Sequence[ObjectType], after: Sequence[ObjectType], holdings: Sequence[Holding]
) -> tuple[RemovedField, ...]:
    """Find what is held, could be served under `before`, and no longer can under `after`."""
    lost: Counter[tuple[str, str]] = Counter()
    places: dict[tuple[str, str], str] = {}
    for held in holdings:
        was, now = _reachable(before, held), _reachable(after, held)
        for field, states in held.fields.items():
            is_lost = was is not None and field in was.fields and (now is None or field not in now.fields)
            if states and is_lost:
                lost[held.type, field] += states
                places[held.type, field] = _place(after, now, field)
    return tuple(RemovedField(*key, states, places[key]) for key, states in sorted(lost.items()))


def _reachable(types: Sequence[ObjectType], held: Holding) -> ObjectType | None:
    """Give the type under which states are served, or would be again once their agent has its type back."""
    by_name = next((found for found in types if found.type == held.type), None)
    return declared_type(types, held.agent) or by_name


def _place(after: Sequence[ObjectType], declared: ObjectType | None, field: str) -> str:
    """Point at where the field would stand in the document that loses it."""
    return pointer("types") if declared is None else pointer("types", after.index(declared), "fields", field)


def _changed(moves: list[_Move], holdings: Sequence[Holding]) -> tuple[ChangedField, ...]:
    counts: Counter[tuple[str, str, str]] = Counter()
    by_agent = {move.agent: move for move in moves}
    for held in holdings:
        move = by_agent.get(held.agent)
        for field, states in held.fields.items() if move else ():
            was = move.was.fields.get(field) if move else None
            now = move.now.fields.get(field) if move and move.now else None
            if states and was and now:
                counts.update({(held.type, field, aspect): states for aspect in _aspects(was, now)})
    return tuple(
        ChangedField(type=name, field=field, states=states, aspect=aspect)
        for (name, field, aspect), states in sorted(counts.items())
    )


def _aspects(was: Field, now: Field) -> list[str]:
    """Name what no longer fits stored values; a new enum value fits, and so does less masking."""
    found = {
        "type": was.type != now.type,
        "values": was.type == now.type and not set(was.values) <= set(now.values),
        "pii": bool(now.pii) and was.pii != now.pii,
    }
    return [aspect for aspect, is_changed in found.items() if is_changed]


def _shortened(
    moves: list[_Move],
    before: Sequence[ObjectType],
    after: Sequence[ObjectType],
    states: Mapping[str, int],
) -> tuple[ShortenedLimit, ...]:
    """Compare the types that keep their name, and those between which agents with states move."""
    by_name = {declared.type: declared for declared in after}
    pairs = {(was.type, was.type): (was, by_name[was.type]) for was in before if was.type in by_name}
    counts: Counter[tuple[str, str]] = Counter()
    for move in moves:
        if move.now is not None:
            pairs[move.was.type, move.now.type] = (move.was, move.now)
            counts[move.was.type, move.now.type] += states.get(move.agent, 0)
    return tuple(
        ShortenedLimit(type=key[0], limit=limit, before=earlier, after=later, states=counts[key])
        for key, (was, now) in sorted(pairs.items(), key=lambda pair: pair[0])
        if was.ownership == now.ownership == "agent"
        for limit, earlier, later in _tighter(was, now)
    )


def _tighter(was: ObjectType, now: ObjectType) -> Iterator[tuple[str, int | None, int]]:
    earlier, later = _limits(was), _limits(now)
    for limit in sorted(later):
        before, after = earlier.get(limit), later[limit]
        if after is not None and (before is None or after < before):
            yield limit, before, after


def _limits(declared: ObjectType) -> dict[str, int | None]:
    fields = {f"retention.{field}": seconds for field, seconds in declared.field_retention_seconds.items()}
    return {
        "cap_bytes": declared.cap_bytes,
        "retention.state": declared.state_retention_seconds,
        **fields,
    }
