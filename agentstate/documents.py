"""What the live documents say about an agent: its object type and how its values are masked (WM-2, PR-5)."""

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from agentstate.rules import object_types
from agentstate.types import DroppedField, ObjectType
from workspaces import documents, encryption
from workspaces.documents import Live, LiveDocument
from workspaces.masking import MaskingPolicy, policy_from
from workspaces.rules.documents import duration_seconds
from workspaces.types import WorkspaceRef

FEATURE = "agent_state"
DECIDING = ("object-types", "masking", "retention")


class Declared(msgspec.Struct, frozen=True):
    """What holds for one agent at this moment; `document` is the version of `object-types` that says so."""

    type: ObjectType | None
    document: int
    masking: LiveDocument
    tombstone_seconds: int
    dropped: tuple[DroppedField, ...] = ()


def declared_for(agent: str, live: Live | None = None) -> Declared:
    """Give the object type that an agent writes under, and the workspace's masking."""
    return declared_by_agent([agent], live)[agent]


def declared_by_agent(agents: Iterable[str], live: Live | None = None) -> dict[str, Declared]:
    """Give what holds for each of these agents, from one reading of the documents."""
    live = live if live is not None else documents.live(*DECIDING)
    return {agent: _declared(agent, *(live[kind] for kind in DECIDING)) for agent in agents}


def policy_of(workspace: WorkspaceRef, declared: Declared) -> MaskingPolicy:
    """Give how values are masked, with the key of its hashes, which is not kept."""
    return policy_from(declared.masking.body, hash_key=encryption.subkey(workspace, "masking"))


@lru_cache(maxsize=4096)
def _declared(agent: str, types: LiveDocument, masking: LiveDocument, retention: LiveDocument) -> Declared:
    return Declared(
        type=object_types.declared_type(types_of(types), agent),
        document=types.version,
        masking=masking,
        tombstone_seconds=duration_seconds(retention.body["tombstones"]),
        dropped=_dropped(types),
    )


@lru_cache(maxsize=1024)
def types_of(document: LiveDocument) -> tuple[ObjectType, ...]:
    """Give the object types of a document version, read once per process."""
    return object_types.parse_types(document.body)


def _dropped(types: LiveDocument) -> tuple[DroppedField, ...]:
    """List what the live version and those before it dropped."""
    return tuple(DroppedField(document, *name.split(".", 1)) for document, name in types.drops)
