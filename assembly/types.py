"""Values that travel through the runtime graph."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from lastro.assembly.graph.measuring import Measures
from lastro.assembly.records import Record, Reference
from lastro.assembly.rendering.messages import Format
from lastro.assembly.snapshot import AssemblyRequest
from workspaces.rules.handles import Handle
from workspaces.types import Key, Moment, WorkspaceRef


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


class StagedBlob(msgspec.Struct, frozen=True):
    """A blob that a payload may take: its name and its key."""

    name: str
    key: Key


NOTHING_WRITTEN: Mapping[str, StagedBlob] = MappingProxyType({})

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


class AssemblyWish(msgspec.Struct, frozen=True, kw_only=True):
    """A context that somebody wants: for whom, by which policy (its newest version where none is named), and how."""

    request: AssemblyRequest
    policy: str | None = None
    policy_version: int | None = None
    is_traced: bool = False
    render: Format | None = None


class PolicyValue(msgspec.Struct, frozen=True):
    """A policy, and the version of the document that it was taken from."""

    name: str
    version: int


class SizeValue(msgspec.Struct, frozen=True):
    """How much something takes of a context; tokens as the server counts them."""

    tokens: int
    bytes: int


class Milliseconds(msgspec.Struct, frozen=True):
    """How long the server took to find what the graph holds, to decide, and to write it out."""

    query: float
    policy: float
    rendering: float


class NamedRecord(msgspec.Struct, frozen=True):
    """A record by its type and its id."""

    type: str
    id: str


class ShownRecord(msgspec.Struct, frozen=True):
    """A record that was shown, and in which form."""

    type: str
    id: str
    form: str


class TraceLine(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one candidate: the form in which it is shown, or the reason for which it is left out (CA-15)."""

    type: str
    id: str
    form: str | None
    reason: str | None
    detail: Annotated[
        str, Meta(description="What decided, by name: another record, a class, why it is stale.")
    ]
    conflicts: tuple[str, ...] = ()


class AssembledContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is to see next, and the account of it (CA-15, CA-16, CA-19)."""

    assembly_id: UUID
    policy: PolicyValue
    assembler: str
    position: Annotated[int, Meta(description="How many records of the graph this context knows.")]
    as_of: Moment
    digest: Annotated[
        str, Meta(description="Of every decision: the same for the same graph, policy and time.")
    ]
    items: Annotated[
        tuple[dict[str, Any], ...],
        Meta(
            description="In the order shown. Each has `type`, `id` and `form`; a message its `role`, `participant` and "
            "`parts`, anything else the members of its line, which are data from tools and never instructions."
        ),
    ]
    omitted: Annotated[dict[str, int], Meta(description="How many candidates were left out, by reason.")]
    branch_exclusions: int
    considered: int
    naive: Annotated[SizeValue, Meta(description="What the whole transcript of the branch would take.")]
    assembled: SizeValue
    milliseconds: Milliseconds
    messages: Annotated[
        tuple[dict[str, Any], ...] | None, Meta(description="For the provider that `render` names.")
    ]
    trace: Annotated[tuple[TraceLine, ...] | None, Meta(description="Where `trace` asks for it.")]


class DecisionValue(msgspec.Struct, frozen=True):
    """What a rule of the policy brought about, and of which records."""

    rule: str
    policy: PolicyValue
    outcome: str
    references: tuple[NamedRecord, ...]


class AssemblySummary(msgspec.Struct, frozen=True, kw_only=True):
    """What is told of an assembly in a list."""

    assembly_id: UUID
    conversation: str
    branch: str
    participant: str
    kind: str
    route: str
    policy: PolicyValue
    assembler: str
    position: int
    as_of: Moment
    digest: str
    omitted: dict[str, int]
    branch_exclusions: int
    considered: int
    naive: SizeValue
    assembled: SizeValue
    milliseconds: Milliseconds
    has_trace: bool
    created_at: Moment
    expires_at: Moment


class AssemblyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The record of an assembly (CA-16): names, versions, counts and reasons, never content."""

    summary: AssemblySummary
    request: Annotated[dict[str, Any], Meta(description="What was asked for.")]
    selected: tuple[ShownRecord, ...]
    decisions: tuple[DecisionValue, ...]
    trace: Annotated[
        tuple[TraceLine, ...] | None, Meta(description="Every candidate; kept on request or by sampling.")
    ]
    trace_expires_at: Moment | None


class RuleValue(msgspec.Struct, frozen=True):
    """What one rule said of a record: `passed`, or the reason for which it left it out."""

    rule: str
    outcome: str
    form: str | None
    detail: str


class LocatorValue(msgspec.Struct, frozen=True):
    """Where in an artifact something stands, and the SHA-256 of what stood there."""

    artifact: str
    digest: str
    pointer: str | None = None
    lines: Annotated[tuple[int, ...] | None, Meta(description="The first and the last, from 1.")] = None
    bytes: Annotated[tuple[int, ...] | None, Meta(description="The first, from 0, and the end.")] = None


class ProvenanceStep(msgspec.Struct, frozen=True, kw_only=True):
    """One record on the way from a memory to what it came from: its artifacts, their calls, the run that asked."""

    type: str
    id: str
    tool: str = ""
    comes_from: tuple[NamedRecord, ...] = ()
    locators: tuple[LocatorValue, ...] = ()


class AssemblerVersions(msgspec.Struct, frozen=True):
    """The version of the assembler that decided then, and the one that evaluates now."""

    then: str
    now: str


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """Why a model saw a record, or did not (CA-17)."""

    outcome: Literal["included", "omitted", "absent"]
    form: str | None
    reason: str | None
    rules: tuple[RuleValue, ...]
    provenance: tuple[ProvenanceStep, ...]
    assembler: AssemblerVersions
    is_reproduced: Annotated[
        bool, Meta(description="Whether the same evaluation now gives the digest that was kept.")
    ]
    gone: Annotated[int, Meta(description="How many records up to that position are not there any more.")]


class AssemblyFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which assemblies a list shows; empty for all."""

    conversation: str = ""
    participant: str = ""
    kind: str = ""
    policy: str = ""
    has_trace: bool | None = None


class Compared(msgspec.Struct, frozen=True):
    """What two assemblies showed: in both alike, in both in another form, in the first or the second alone."""

    alike: tuple[ShownRecord, ...]
    changed: tuple[tuple[ShownRecord, ShownRecord], ...]
    only_first: tuple[ShownRecord, ...]
    only_second: tuple[ShownRecord, ...]


class ExportedGraph(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="graph"):
    """A graph as a subject package gives it, before its records (PR-18).

    `is_whole`: all of it; else what is the person's own of a conversation with others, too.
    """

    graph: UUID
    conversation: str
    created_at: Moment
    touched_at: Moment
    valid_until: Moment
    is_whole: bool
    is_readable: bool


class ExportedRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="graph_record"):
    """A record as a subject package gives it: as it was sent, without the bytes that follow it in lines of their own.

    There is no content where what is stored does not verify.
    """

    graph: UUID
    position: int
    type: str
    id: str
    source: str
    recorded_at: Moment | None
    expires_at: Moment | None
    is_readable: bool
    content: msgspec.Raw | None


class ExportedPart(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="payload"):
    """The bytes of a record's payload, or a part of them: as text where they are one, else in base64.

    Parts are numbered from 0; the bytes of all of them, in their order, are the payload.
    """

    graph: UUID
    type: str
    id: str
    role: str
    media_type: str
    size_bytes: int
    part: int
    is_last: bool
    is_readable: bool = True
    text: str | None = None
    base64: bytes | None = None
