"""What the live documents say about an agent: its object type and how its values are masked (WM-2, PR-5)."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any
from uuid import UUID

import msgspec

from agentstate.rules import object_types
from agentstate.types import DroppedField, ObjectType
from workspaces import documents, encryption
from workspaces.documents import LiveDocument
from workspaces.masking import MaskingPolicy, policy_from
from workspaces.rules.documents import duration_seconds
from workspaces.types import WorkspaceRef

FEATURE = "agent_state"


class Declared(msgspec.Struct, frozen=True):
    """What holds for one agent at this moment; `document` is the version of `object-types` that says so."""

    type: ObjectType | None
    document: int
    policy: MaskingPolicy
    tombstone_seconds: int
    dropped: tuple[DroppedField, ...] = ()


def declared_for(workspace: WorkspaceRef, agent: str) -> Declared:
    """Give the object type that an agent writes under, and the workspace's masking."""
    return declared_by_agent(workspace, [agent])[agent]


def declared_by_agent(workspace: WorkspaceRef, agents: Iterable[str]) -> dict[str, Declared]:
    """Give what holds for each of these agents, from one reading of the documents."""
    live = documents.live("object-types", "masking", "retention")
    types = types_of(live["object-types"])
    dropped = _dropped(live["object-types"].id)
    policy = policy_from(live["masking"].body, hash_key=encryption.subkey(workspace, "masking"))
    return {
        agent: Declared(
            type=object_types.declared_type(types, agent),
            document=live["object-types"].version,
            policy=policy,
            tombstone_seconds=duration_seconds(live["retention"].body["tombstones"]),
            dropped=dropped,
        )
        for agent in agents
    }


def types_of(document: LiveDocument) -> tuple[ObjectType, ...]:
    """Give the object types of a document version, read once per process."""
    return _parsed(document.id, _Held(document.body))


@lru_cache(maxsize=1024)
def _dropped(live_id: UUID) -> tuple[DroppedField, ...]:
    """List what the live version and those before it dropped; a version's past never changes."""
    return tuple(
        DroppedField(document, *name.split(".", 1))
        for document, name in documents.drops("object-types", live_id)
    )


class _Held:
    """Carries a body past the cache's key: the id alone says which one it is."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.body = body

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)


@lru_cache(maxsize=1024)
def _parsed(_: UUID, held: _Held) -> tuple[ObjectType, ...]:
    return object_types.parse_types(held.body)
