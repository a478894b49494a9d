"""Values that travel through the runtime graph."""

from collections.abc import Iterator, Mapping
from typing import Literal
from uuid import UUID

import msgspec

from lastro.assembly.graph.measuring import Measures
from workspaces.types import Key, WorkspaceRef


class GraphPlace(msgspec.Struct, frozen=True):
    """Where a graph is kept: its workspace, and the keyed hash of the id of its Conversation record (CA-1)."""

    workspace: WorkspaceRef
    conversation: str
    identity_hash: bytes
    hash_key_id: UUID
    previous_hash: bytes | None = None

    @property
    def hashes(self) -> list[bytes]:
        """Give the hashes under which a tombstone may be kept: under the hash key before too, while there is one."""
        return (
            [self.identity_hash] if self.previous_hash is None else [self.identity_hash, self.previous_hash]
        )


NOTHING_MEASURED = Measures()


class Opened(msgspec.Struct, frozen=True, array_like=True):
    """What the ciphertext of a record says: the record as JSON without its payload, and its measures."""

    record: msgspec.Raw
    measures: Measures = NOTHING_MEASURED


class Bounds(msgspec.Struct, frozen=True):
    """How long what is kept (CA-21), in seconds, and the version of the `retention` document that says so."""

    document: int
    artifacts: Mapping[str, int]
    memories: Mapping[str, int]
    assemblies: Mapping[str, int]
    tombstone_seconds: int
    graph_seconds: int
    """How long a graph stays after its last record: the longest of the others, so that it ends behind them."""


class StagedBlob(msgspec.Struct, frozen=True):
    """A blob that a payload may take: its name and its key."""

    name: str
    key: Key


PayloadOutcome = Literal["stored", "unchanged"]


class StoredPayload(msgspec.Struct, frozen=True):
    """What became of a payload that was sent: stored, or there already."""

    payload_id: UUID
    bytes: int
    sha256: str
    outcome: PayloadOutcome


class PayloadDownload(msgspec.Struct, frozen=True):
    """A payload on its way: of what type, how long, and its bytes as they are verified."""

    payload_id: UUID
    media_type: str
    size_bytes: int
    parts: Iterator[bytes]
