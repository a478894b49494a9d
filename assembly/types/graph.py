"""What is recorded, and where (CA-1 to CA-5)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from lastro.assembly.graph.measuring import Measures
from lastro.assembly.records import Record, Reference
from workspaces.rules.handles import Handle
from workspaces.types import WorkspaceRef


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
    """What the ciphertext of a record says: the record as JSON without its payload, and its measures.

    `sent` is the SHA-256 of the record as it was sent, payload included: a new key needs no more to know it again.
    """

    record: msgspec.Raw
    sent: bytes
    measures: Measures = NOTHING_MEASURED


class Named(msgspec.Struct, frozen=True):
    """A person whom a record names: as a subject of its conversation, or as the participant that it is."""

    conversation: str
    handle: Handle
    participant: str = ""


class New(msgspec.Struct, frozen=True):
    """A record that is not there yet, as canonical JSON, with the SHA-256 of that as it was sent."""

    record: Record
    written: bytes
    sent: bytes


class Outside(msgspec.Struct, frozen=True):
    """Bytes that do not stand in their record: of which role, how many, and themselves unless a PUT brings them."""

    role: Literal["result", "arguments"]
    size_bytes: int
    sha256: str
    media_type: str
    content: bytes | None = None


class Mark(msgspec.Struct):
    """What later records say of one: the positions from which on something is true of it, none for not yet.

    `call` is the call that an artifact answers, or a finished run; `status` how it went.
    """

    reference: Reference
    recorded_at: datetime | None = None
    call: str = ""
    status: str = ""
    settled_at: int | None = None
    taken_up_at: int | None = None
    promoted_at: int | None = None
    shared_at: int | None = None


class RecordedItem(msgspec.Struct, frozen=True):
    """What became of one record: it stands at a position, and its bytes are there or awaited by a PUT (CA-3, CA-4)."""

    type: str
    id: str
    outcome: Literal["stored", "unchanged"]
    position: int
    payload_id: UUID | None = None
    payload: Literal["stored", "awaited"] | None = None
    arguments_payload_id: UUID | None = None


class Recorded(msgspec.Struct, frozen=True):
    """What became of a batch, in its order, and at which position each of its conversations is now."""

    records: tuple[RecordedItem, ...]
    positions: dict[str, int]


class Bounds(msgspec.Struct, frozen=True):
    """How long what is kept (CA-21), in seconds, and the version of the `retention` document that says so."""

    document: int
    artifacts: Mapping[str, int]
    memories: Mapping[str, int]
    assemblies: Mapping[str, int]
    tombstone_seconds: int
    graph_seconds: int
    """How long a graph stays after its last record: the longest of the others, so that it ends behind them."""
