"""Whom records name, in canonical form (CA-1, PL-6)."""

from collections.abc import Iterable, Iterator, Sequence

from assembly.types import Named
from lastro.assembly.records import Conversation, Handle, Participant, Record
from workspaces.errors import InvalidInput
from workspaces.rules import handles
from workspaces.types import FieldProblem


def people_named(records: Sequence[Record]) -> tuple[Named, ...]:
    """Give whom the records name. Raises InvalidInput with a pointer for each handle that is none."""
    found: list[Named] = []
    problems: list[FieldProblem] = []
    for pointer, conversation, participant, handle in _written(records):
        try:
            value = handles.canonical(handle.type, handle.value, handle.scope)
            found.append(Named(conversation, value, participant))
        except InvalidInput as error:
            problems += (FieldProblem(pointer + one.pointer, one.code, one.detail) for one in error.errors)
    if problems:
        raise InvalidInput(errors=tuple(problems))
    return tuple(dict.fromkeys(found))


def _written(records: Iterable[Record]) -> Iterator[tuple[str, str, str, Handle]]:
    for number, record in enumerate(records):
        if isinstance(record, Conversation):
            for place, subject in enumerate(record.subject):
                yield f"/records/{number}/subject/{place}", record.id, "", subject
        elif isinstance(record, Participant) and record.subject:
            yield f"/records/{number}/subject", record.conversation, record.id, record.subject
