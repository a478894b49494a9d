"""What a row amounts to at a moment: nothing yet, a tombstone, or a live state without its expired fields."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from agentstate import encryption
from agentstate.documents import Declared
from agentstate.models import State
from agentstate.rules import bodies, resends
from agentstate.types import HeldField, Life, StateRow
from workspaces.encryption import NOTHING_SEEN
from workspaces.errors import KeyDestroyed
from workspaces.hotstore import Seen
from workspaces.types import WorkspaceRef

AnyRow = State | StateRow


def life_of(
    workspace: WorkspaceRef,
    row: AnyRow | None,
    declared: Declared,
    *,
    now: datetime,
    keys: Mapping[UUID, Seen] = NOTHING_SEEN,
) -> Life:
    """Open a row; whatever is not live, or has lost its keys, reads as version 0 (WM-9, WM-17)."""
    if row is None or not is_live(row, declared, now=now):
        return _ended(row)
    try:
        body, key = encryption.open_body(workspace, row, keys)
    except KeyDestroyed:
        return _ended(row)
    held = kept_fields(row, declared, now=now)
    return Life(
        is_live=True,
        version=row.version,
        numbering=row.version,
        epoch=row.epoch,
        body={name: body[name] for name in held},
        held=held,
        stored=frozenset(row.held),
        memory=resends.load(bytes(row.recent_writes)),
        key=key,
    )


def is_live(row: AnyRow, declared: Declared, *, now: datetime) -> bool:
    """Tell whether a row is served at a moment: neither removed nor expired (WM-17, WM-21)."""
    return row.life == State.Life.LIVE and now < valid_until(row, declared)


def kept_fields(row: AnyRow, declared: Declared, *, now: datetime) -> dict[str, HeldField]:
    """Give the fields that a row still holds: neither dropped by a published version nor expired (PR-3, WM-21)."""
    held = {name: HeldField(*entry) for name, entry in row.held.items()}
    held = bodies.undropped_fields(held, kind=row.type, document=row.types_document, dropped=declared.dropped)
    return bodies.unexpired_fields(held, declared.type, now)


def served_fields(row: AnyRow, declared: Declared, *, now: datetime) -> dict[str, HeldField]:
    """Give the fields of a row that are served: still held, and declared today (WM-3)."""
    return bodies.live_fields(kept_fields(row, declared, now=now), declared.type, now)


def valid_until(row: AnyRow, declared: Declared) -> datetime:
    """Give when a live state ends: of the retention at its last write and the one now, the shorter counts (WM-3)."""
    return bodies.valid_until(row.updated_at, row.retention_seconds, declared.type)


def due_at(row: AnyRow, held: Mapping[str, HeldField], declared: Declared) -> datetime:
    """Give when the sweep must look at a state: at its end, or when its first field expires (WM-21)."""
    return bodies.next_expiry(held, declared.type, until=valid_until(row, declared))


def _ended(row: AnyRow | None) -> Life:
    """Give what is left of a life: its numbers, and its writes without the hashes of their bodies."""
    if row is None:
        return Life()
    memory = resends.without_bodies(resends.load(bytes(row.recent_writes)))
    return Life(numbering=row.version, memory=memory)
