"""Which records a record names (CA-3), and that `supersedes` never comes round to where it began (CA-13)."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from lastro.assembly.errors import SupersessionCycle, UnknownReference
from lastro.assembly.records.events import Promotion, Supersession
from lastro.assembly.records.graph import Placed, Record, ToolMemory
from lastro.assembly.records.parsing import references_in


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """The name of a record: its type and its id."""

    type: str
    id: str


def reference_to(record: Record) -> Reference:
    """Name a record."""
    return Reference(record.wire, record.id)


def references_of(record: Record, pointer: str = "") -> Iterator[tuple[str, Reference]]:
    """Give every record that a record names, each with the JSON pointer of the place that names it (CA-3)."""
    for member, target in references_in(cast(Hashable, type(record))):
        value: str | tuple[str, ...] | None = getattr(record, member)
        if isinstance(value, str):
            yield f"{pointer}/{member}", Reference(target, value)
        for number, id in enumerate(value if isinstance(value, tuple) else ()):
            yield f"{pointer}/{member}/{number}", Reference(target, id)
    if isinstance(record, Promotion):
        yield f"{pointer}/record", Reference(record.record_type, record.record)


def conversation_of(record: Record) -> str:
    """Give the conversation that a record belongs to; a conversation belongs to itself."""
    return record.conversation if isinstance(record, Placed) else record.id


def require_known(
    records: Iterable[Record], *, stored: Callable[[Reference], str | None], pointer: str = "/records"
) -> None:
    """Refuse a reference to a record that is neither stored nor earlier in the batch (CA-3): UnknownReference.

    `stored` gives the conversation of a stored record, None where it is not there. Another conversation's record
    answers as one that is not there: nothing may lead from one to the other, so that erasing one breaks none.
    """
    earlier: dict[Reference, str] = {}
    for number, record in enumerate(records):
        own = conversation_of(record)
        for place, reference in references_of(record, f"{pointer}/{number}"):
            if (earlier.get(reference) or stored(reference)) != own:
                raise UnknownReference(place)
        earlier[reference_to(record)] = own


def replaced_by(record: Record) -> tuple[str, tuple[str, ...]] | None:
    """Give the new memory and the older ones that a record says it replaces, or None."""
    if isinstance(record, ToolMemory) and record.supersedes:
        return record.id, record.supersedes
    if isinstance(record, Supersession):
        return record.memory, (record.supersedes,)
    return None


def require_acyclic(
    records: Iterable[Record], *, stored: Callable[[str], Iterable[str]], pointer: str = "/records"
) -> None:
    """Refuse what would make a memory replace itself by way of others (CA-13): SupersessionCycle.

    `stored` gives the older memories that a stored memory replaces. A walk over a list: no chain is too long.
    """
    added: dict[str, set[str]] = {}
    for number, record in enumerate(records):
        new, olds = replaced_by(record) or ("", ())
        added.setdefault(new, set()).update(olds)
        for old in olds:
            if _reaches(old, new, lambda memory: {*stored(memory), *added.get(memory, ())}):
                raise SupersessionCycle(f"{pointer}/{number}/supersedes")


def _reaches(start: str, goal: str, older: Callable[[str], set[str]]) -> bool:
    seen: set[str] = set()
    pending = [start]
    while pending:
        memory = pending.pop()
        if memory == goal:
            return True
        if memory not in seen:
            seen.add(memory)
            pending += older(memory)
    return False
