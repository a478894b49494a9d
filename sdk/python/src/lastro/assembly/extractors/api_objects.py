"""Objects of HTTP interfaces: what they are, their id, and a few plain members. A snapshot of another system."""

from datetime import timedelta

from lastro.assembly.extractors.recorded import (
    Json,
    Kind,
    Recorded,
    cut,
    escaped,
    first_text,
    members,
    plain,
    remembered,
)
from lastro.assembly.records import ToolMemory

MOST_MEMBERS = 6

_BODIES = ("body", "data", "result", "object", "item")
_IDS = ("id", "number", "key", "uuid", "name")
_WORTH = (
    "status",
    "state",
    "total",
    "amount",
    "currency",
    "due",
    "due_date",
    "updated_at",
    "updatedAt",
    "modifiedTime",
)
OBJECT = Kind(noun="object", freshness="bounded", lives=timedelta(hours=12))


def api_object(recorded: Recorded) -> ToolMemory | None:
    """Remember an object by its id and the members that say how it stands, then by its first plain ones."""
    place, found = _object(recorded.value)
    named = first_text(found, _IDS)
    if named is None or recorded.artifact.status != "succeeded":
        return None
    shown = _worth(found, but=named[0])
    names = [named[0], *(name for name, _ in shown)]
    said = ", ".join(f"{name} {cut(value, 60)}" for name, value in shown)
    return remembered(
        recorded,
        OBJECT,
        f"{named[0]} {named[1]}: {said}" if said else f"{named[0]} {named[1]}",
        locators=[recorded.pointing(f"{place}/{escaped(name)}") for name in names],
        about=f"{recorded.artifact.tool} {named[1]}",
        limits=(f"{len(names)} of {len(found)} members",) if len(found) > len(names) else (),
    )


def _object(value: Json) -> tuple[str, dict[str, Json]]:
    top = members(value)
    inner = [(f"/{name}", members(top.get(name))) for name in _BODIES if members(top.get(name))]
    return inner[0] if inner else ("", top)


def _worth(found: dict[str, Json], *, but: str) -> list[tuple[str, str]]:
    known = {name: value for name, value in plain(found) if name != but}
    first = [name for name in _WORTH if name in known]
    rest = [name for name in known if name not in first]
    return [(name, known[name]) for name in [*first, *rest][:MOST_MEMBERS]]
