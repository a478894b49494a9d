"""What a legal hold has kept of working memory, and what it holds as it stands (PR-16)."""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.db.models import Q, QuerySet

from agentstate import encryption
from agentstate.models import KeptVersion, State
from workspaces.models import Hold
from workspaces.types import WorkspaceRef

CHUNK = 200
_NAMING_PEOPLE = ("conversation", "task")


class HeldVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One version under a hold, decrypted; `kept_at` is None for the one that is live."""

    state_id: UUID
    scope_kind: str
    scope_hash: str
    agent: str
    version: int
    epoch: str
    type: str
    handle_id: UUID | None
    updated_at: datetime
    kept_at: datetime | None
    body: dict[str, Any]


def kept_versions(hold: Hold) -> QuerySet[KeptVersion]:
    """List the versions that a hold has kept, in the order in which they were."""
    return KeptVersion.objects.filter(hold=hold).order_by("id")


def kept_scopes(hold: Hold) -> set[bytes]:
    """Give the scopes of which a hold has kept something."""
    found = KeptVersion.objects.filter(hold=hold).values_list("scope_hash", flat=True).distinct()
    return {bytes(scope) for scope in found}


def held_states(hold: Hold, scopes: Collection[bytes]) -> QuerySet[State]:
    """List the live states that a hold is on: of a person also those that name nobody in their conversations."""
    live = State.objects.filter(life=State.Life.LIVE)
    if hold.profile_id is None:
        return live.filter(scope_hash=hold.scope_hash)
    nobodys = Q(handle_id=None, scope_kind__in=_NAMING_PEOPLE, scope_hash__in=scopes)
    return live.filter(Q(handle__profile_id=hold.profile_id) | nobodys)


def held_versions(workspace: WorkspaceRef, hold: Hold, scopes: Collection[bytes]) -> Iterator[HeldVersion]:
    """Decrypt what a hold has kept, oldest first, and then what is live. Raises KeyDestroyed, Tampered."""
    for kept in kept_versions(hold).iterator(chunk_size=CHUNK):
        yield _opened(workspace, kept, state_id=kept.state_id, kept_at=kept.kept_at)
    for state in held_states(hold, scopes).order_by("id").iterator(chunk_size=CHUNK):
        yield _opened(workspace, state, state_id=state.id, kept_at=None)


def _opened(
    workspace: WorkspaceRef, row: KeptVersion | State, *, state_id: UUID, kept_at: datetime | None
) -> HeldVersion:
    body, _key = (
        encryption.open_kept(workspace, row)
        if isinstance(row, KeptVersion)
        else encryption.open_body(workspace, row)
    )
    return HeldVersion(
        state_id=state_id,
        scope_kind=row.scope_kind,
        scope_hash=bytes(row.scope_hash).hex(),
        agent=row.agent,
        version=row.version,
        epoch=row.epoch,
        type=row.type,
        handle_id=row.handle_id,
        updated_at=row.updated_at,
        kept_at=kept_at,
        body=body,
    )
