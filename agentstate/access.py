"""The door to the rows of working memory."""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.conf import settings

from agentstate.documents import DECIDING
from agentstate.models import State
from agentstate.types import StateRow
from workspaces import coherence, documents, rehashing
from workspaces.access import workspaces_with
from workspaces.documents import Live
from workspaces.hotstore import Name, name_of
from workspaces.postgresql.calls import ask
from workspaces.scopes import Scope
from workspaces.types import WorkspaceRef

WRITER_WAITS = "8s"

_READ = "SELECT * FROM lastro_read_state(%s::uuid, %s::bytea, %s::text, %s::uuid, %s::text)"
_TURN = "SELECT * FROM lastro_take_turn(%s::uuid, %s::bigint, %s::bigint, %s::bytea, %s::text, %s::uuid, %s::text)"
_STORE = (
    "SELECT outcome, changed FROM lastro_store_state(%s::uuid, %s::bigint, %s::uuid[], %s::bigint, %s::timestamptz,"
    " %s::bigint, %s::uuid, %s::text, %s::bytea, %s::uuid, %s::text, %s::bigint, %s::text, %s::bytea, %s::uuid,"
    " %s::int, %s::text, %s::text, %s::text, %s::int, %s::int, %s::uuid, %s::uuid, %s::bytea, %s::timestamptz,"
    " %s::timestamptz, %s::timestamptz)"
)


class Place(msgspec.Struct, frozen=True):
    """Where a state is kept: its workspace, scope and agent, and its name in the hot store."""

    workspace: WorkspaceRef
    scope: Scope
    agent: str
    name: Name


def place_of(workspace: WorkspaceRef, scope: Scope, agent: str) -> Place:
    """Give the place of a state, written or not."""
    return Place(workspace, scope, agent, hot_name(workspace, scope.hash, agent))


def hot_name(workspace: WorkspaceRef, scope_hash: bytes, agent: str) -> Name:
    """Name a state in the hot store."""
    return name_of("s", hashlib.sha256(workspace.id.bytes + scope_hash + agent.encode()).digest()[:18])


def read_row(place: Place, *, lock_timeout: str = "") -> StateRow | None:
    """Find the row of a state by one index lookup, which no writer's lock blocks (WM-19)."""
    # A table that is locked whole is left a little before the reader is.
    patience = lock_timeout or f"{settings.READ_WITHIN_SECONDS * 800:.0f}ms"
    where = place.scope.hash, place.agent, place.scope.hash_key_id
    found = ask(_READ, (place.workspace.id, *where, patience))
    return _row(found[0]) if found else None


def take_turn(place: Place) -> tuple[Live, StateRow | None]:
    """Wait for the other writers of a state in the order of arrival; give the live documents, and its row.

    Neither changes until the transaction ends. A row's own lock lets newcomers pass those who wait; the lock of its
    name does not, and holds before there is a row.
    """
    locks = documents.hold_number(), coherence.lock_number(place.name)
    where = place.scope.hash, place.agent, place.scope.hash_key_id, WRITER_WAITS
    ((heads, *row),) = ask(_TURN, (place.workspace.id, *locks, *where))
    live = documents.versions(msgspec.json.decode(heads, type=documents.Heads))
    return live, _row(row) if row[0] is not None else None


def lock_state(place: Place) -> State | None:
    """Wait as `take_turn` does, and give the row as a model."""
    coherence.lock(place.name)
    rows = State.objects.select_for_update()
    found = rows.filter(scope_hash=place.scope.hash, agent=place.agent).first()
    if found is None:
        rehashing.require_current(place.workspace)
    return found


def store_row(
    place: Place, row: StateRow, *, over: int, decided_by: Live, commit_until: datetime
) -> tuple[str, int]:
    """Store a row over the change that it was made from (0: there was none), in one round trip.

    Gives `stored` and the number of the change, or why nothing was stored: `changed`, `busy` or `late` (WM-20), or
    `documents` when another version was published since (PR-3).
    """
    found = ask(_STORE, tuple(_values(place, row, over, decided_by, commit_until)))
    outcome, change = found[0]
    return outcome, change or 0


def workspaces_with_due_states(now: datetime) -> list[WorkspaceRef]:
    """List the workspaces in which rows are due or were written under older object types (PR-20)."""
    return workspaces_with("lastro_with_due_states", now)


def workspaces_with_old_traces(now: datetime) -> list[WorkspaceRef]:
    """List the workspaces with tombstones, or notes of sweeps, whose time has passed."""
    return workspaces_with("lastro_with_old_traces", now)


def _row(values: Sequence[Any]) -> StateRow:
    row = StateRow(**dict(zip(StateRow.__struct_fields__, values, strict=True)))
    row.held = msgspec.json.decode(values[9])
    return row


def _values(
    place: Place, row: StateRow, over: int, decided_by: Live, commit_until: datetime
) -> Iterable[Any]:
    yield from (
        place.workspace.id,
        documents.hold_number(),
        _ids(decided_by),
        coherence.lock_number(place.name),
    )
    yield from (commit_until, over, row.id, row.scope_kind, place.scope.hash, row.hash_key_id, place.agent)
    yield from (row.version, row.epoch, row.body, row.data_key_id, row.body_bytes)
    yield from (msgspec.json.encode(row.held).decode(), row.type, row.type_version, row.types_document)
    yield from (row.retention_seconds, row.handle_id, row.source_id, row.recent_writes)
    yield from (row.created_at, row.updated_at, row.due_at)


def _ids(live: Live) -> list[UUID]:
    return [live[kind].id for kind in ("features", *DECIDING)]
