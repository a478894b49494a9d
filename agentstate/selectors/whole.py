"""Reading out all that a workspace keeps of working memory, with its content, for who takes it elsewhere (PL-5b)."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from agentstate import documents
from agentstate.models import State
from agentstate.selectors.lives import life_of
from workspaces.types import WorkspaceRef

BATCH = 200


def opened_states(workspace: WorkspaceRef, *, now: datetime) -> Iterator[dict[str, Any]]:
    """Give every live state of the bound workspace, oldest id first, a batch in memory at a time.

    What has expired, and what is being erased, is absent. Raises Tampered at a body that does not verify.
    """
    after = UUID(int=0)
    while rows := _batch(after):
        declared = documents.declared_by_agent({row.agent for row in rows})
        for row in rows:
            life = life_of(workspace, row, declared[row.agent], now=now)
            if life.is_live:
                yield _described(row, life.body)
        after = rows[-1].id


def _batch(after: UUID) -> list[State]:
    live = State.objects.filter(life=State.Life.LIVE, erasure_id=None, id__gt=after)
    return list(live.select_related("source", "handle").order_by("id")[:BATCH])


def _described(row: State, body: Any) -> dict[str, Any]:
    return {
        "id": row.id,
        "scope_kind": row.scope_kind,
        "scope_hash": bytes(row.scope_hash).hex(),
        "agent": row.agent,
        "version": row.version,
        "epoch": row.epoch,
        "type": row.type,
        "type_version": row.type_version,
        "profile_id": row.handle.profile_id if row.handle else None,
        "handle_id": row.handle_id,
        "source": row.source.name if row.source else "",
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "body": body,
    }
