"""What working memory holds about a person, for their package (PR-18, WM-22)."""

import logging
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec

from agentstate import documents, encryption
from agentstate.documents import Declared
from agentstate.models import State
from agentstate.rules import bodies
from agentstate.selectors.lives import is_live, kept_fields, valid_until
from agentstate.types import ExportedField, ExportedState, Field, HeldField
from workspaces.documents import Live
from workspaces.errors import KeyDestroyed, Tampered
from workspaces.types import WorkspaceRef

log = logging.getLogger("lastro.agentstate")

ROWS_AT_ONCE = 8
"""A body has up to 2 MiB."""


def export_subject(
    workspace: WorkspaceRef, handle_ids: Sequence[UUID], live: Live, *, now: datetime
) -> Iterator[ExportedState]:
    """Give the states that name a person, field by field with its declaration, values byte for byte as stored.

    What has expired or was dropped is absent, and so is what has lost its keys. A row that does not verify is given
    without its fields, so that one damaged row keeps nobody from the rest. Memory holds a few states at a time.
    """
    for row in _rows(handle_ids):
        declared = documents.declared_for(row.agent, live)
        if is_live(row, declared, now=now):
            yield from _exported(workspace, row, declared, now=now)


def _rows(handle_ids: Sequence[UUID]) -> Iterator[State]:
    """List the live rows in the order of their ids, a few at a time: no cursor is held while they are written."""
    rows = State.objects.filter(life=State.Life.LIVE, handle_id__in=handle_ids)
    rows = rows.defer("recent_writes").select_related("source").order_by("id")
    found = list(rows[:ROWS_AT_ONCE])
    while found:
        yield from found
        found = list(rows.filter(id__gt=found[-1].id)[:ROWS_AT_ONCE])


def _exported(
    workspace: WorkspaceRef, row: State, declared: Declared, *, now: datetime
) -> Iterator[ExportedState]:
    try:
        plain, _ = encryption.open_plain(workspace, row)
    except KeyDestroyed:
        yield from _exported_again(workspace, row, declared, now=now)
        return
    except Tampered:
        log.error("state.damaged", extra={"workspace": str(workspace.id), "state": str(row.id)})
        yield _state(row, declared, fields=None)
        return
    held = kept_fields(row, declared, now=now)
    values = msgspec.json.decode(plain, type=dict[str, msgspec.Raw])
    ends = bodies.expires(held, declared.type, until=valid_until(row, declared))
    known = declared.type.fields if declared.type else {}
    fields = [
        _field(known.get(name), name, values[name], entry, ends.get(name)) for name, entry in held.items()
    ]
    yield _state(row, declared, fields=fields)


def _exported_again(
    workspace: WorkspaceRef, row: State, declared: Declared, *, now: datetime
) -> Iterator[ExportedState]:
    """Read again where a write gave the state another key since the row was read, else nothing is left of it."""
    rows = State.objects.filter(handle=row.handle_id, life=State.Life.LIVE).select_related("source")
    newer = rows.exclude(data_key_id=row.data_key_id).filter(id=row.id).first()
    if newer is not None:
        yield from _exported(workspace, newer, declared, now=now)


def _state(row: State, declared: Declared, *, fields: list[ExportedField] | None) -> ExportedState:
    return ExportedState(
        agent=row.agent,
        scope_kind=row.scope_kind,
        source=row.source.name if row.source else "",
        type=declared.type.type if declared.type else row.type or None,
        schema_version=row.type_version or None,
        version=row.version,
        created_at=row.created_at,
        updated_at=row.updated_at,
        valid_until=valid_until(row, declared),
        is_readable=fields is not None,
        fields=tuple(fields or ()),
    )


def _field(
    declared: Field | None, name: str, value: Any, held: HeldField, until: datetime | None
) -> ExportedField:
    """Describe a value as its field is declared today; a field that no longer is says so."""
    return ExportedField(
        name=name,
        value=value,
        is_declared=declared is not None,
        label=declared.label or None if declared else None,
        type=declared.type if declared else None,
        pii=declared.pii if declared else None,
        sensitivity=declared.sensitivity or None if declared else None,
        origin=declared.origin or None if declared else None,
        named_at=datetime.fromtimestamp(held.named_at, UTC),
        expires_at=until,
    )
