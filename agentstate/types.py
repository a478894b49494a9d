"""Values that travel through working memory."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from workspaces.rules.handles import Handle
from workspaces.types import Key, Moment

SCOPE_KINDS = ("conversation", "task", "object", "subject")

Epoch = Annotated[
    str, Meta(description="The life of the state: another one after it expired or was removed.")
]


class Field(msgspec.Struct, frozen=True):
    """One declared field of an object type (WM-3)."""

    name: str
    type: str
    pii: bool | str = False
    values: tuple[str, ...] = ()
    sensitivity: str = ""
    origin: str = ""
    label: str = ""
    description: str = ""


class ObjectType(msgspec.Struct, frozen=True):
    """A declared schema (WM-3), with what holds where it says nothing.

    `cap_bytes` is none where only the request's own limit holds.
    """

    type: str
    version: str
    ownership: str
    fields: dict[str, Field]
    agents: tuple[str, ...] = ()
    state_retention_seconds: int = 30 * 86_400
    field_retention_seconds: dict[str, int] = {}
    scopes: tuple[str, ...] = SCOPE_KINDS
    cap_bytes: int | None = 16_384
    label: str = ""
    description: str = ""
    purposes: tuple[str, ...] = ()
    recipients: tuple[str, ...] = ()


class HeldField(msgspec.Struct, frozen=True, array_like=True):
    """A field that a state holds: when a write last named it, and its own retention at that write (WM-21)."""

    named_at: float
    retention_seconds: int | None = None


class Holding(msgspec.Struct, frozen=True):
    """What the live states of one agent hold that were last written under one type (PR-3)."""

    agent: str
    type: str
    states: int
    fields: dict[str, int]


class DroppedField(msgspec.Struct, frozen=True):
    """A field that a published version of the object types took out of the states that held it (PR-3)."""

    document: int
    type: str
    field: str


class RemovedField(msgspec.Struct, frozen=True):
    """A field that states still hold and the next types no longer declare (PR-3)."""

    type: str
    field: str
    states: int
    pointer: str


class ChangedField(msgspec.Struct, frozen=True):
    """A field of which stored values were accepted under another declaration: its type, values or pii."""

    type: str
    field: str
    states: int
    aspect: str


class UntypedAgent(msgspec.Struct, frozen=True):
    """An agent whose states lose their type: nothing of them is served, and it can write nothing."""

    agent: str
    states: int


class ShortenedLimit(msgspec.Struct, frozen=True):
    """A limit that gets tighter: `cap_bytes`, `retention.state` or `retention.<field>`; none is no limit."""

    type: str
    limit: str
    before: int | None
    after: int
    states: int


class TypeEffects(msgspec.Struct, frozen=True):
    """What publishing object types does to the states that are stored (PR-3)."""

    removed: tuple[RemovedField, ...] = ()
    changed: tuple[ChangedField, ...] = ()
    untyped: tuple[UntypedAgent, ...] = ()
    shortened: tuple[ShortenedLimit, ...] = ()


class RememberedWrite(msgspec.Struct, frozen=True, array_like=True):
    """A stored write as it is remembered: hashes and the answer, no content (WM-15).

    `key_mac` is empty without an Idempotency-Key; `body_mac` is empty once the key that made it is gone.
    """

    key_mac: bytes
    body_mac: bytes
    credential: bytes
    mode: str
    if_version: int
    version: int = 0
    epoch: str = ""
    at: float = 0.0
    masked: dict[str, int] = {}


class StateWrite(msgspec.Struct, frozen=True, kw_only=True):
    """One write as it came: `raw` is the body of the request, which is hashed and never kept."""

    scope_kind: str
    scope_id: str
    agent: str
    mode: Literal["cas", "merge_by_key"]
    body: dict[str, Any]
    if_version: int | None = None
    subject: Handle | None = None
    written_at: datetime | None = None
    idempotency_key: str | None = None
    raw: bytes = b""


class Life(msgspec.Struct, frozen=True):
    """What a row amounts to now. `numbering` is the last version ever stored, `version` what readers see.

    `stored` names every field of the row, also those that are dropped or expired and wait for the next write.
    """

    is_live: bool = False
    version: int = 0
    numbering: int = 0
    epoch: str = "none"
    body: dict[str, Any] = {}
    held: dict[str, HeldField] = {}
    stored: frozenset[str] = frozenset()
    memory: tuple[RememberedWrite, ...] = ()
    key: Key | None = None


class StateRow(msgspec.Struct, array_like=True, kw_only=True):
    """A row of working memory as it travels between PostgreSQL, the hot store and the rules.

    `change` is 0 for a row that is not stored yet; `handle_hash` is the keyed hash of the handle that it names.
    """

    id: UUID
    scope_kind: str
    hash_key_id: UUID
    life: str = "live"
    version: int = 0
    epoch: str = ""
    body: bytes | None = None
    data_key_id: UUID | None = None
    body_bytes: int = 0
    held: dict[str, Any] = {}
    type: str = ""
    type_version: str = ""
    types_document: int = 0
    retention_seconds: int = 0
    handle_id: UUID | None = None
    source_id: UUID | None = None
    recent_writes: bytes = b""
    created_at: datetime
    updated_at: datetime
    due_at: datetime
    change: int = 0
    handle_hash: bytes | None = None


class Draft(msgspec.Struct, frozen=True):
    """The body that a write leads to, as a value and as compact JSON, or the reason why it leads to none."""

    body: dict[str, Any] = {}
    plain: bytes = b""
    masked: dict[str, int] = {}
    reason: Literal["not_declared_field", "over_cap"] | None = None


class StoredState(msgspec.Struct, frozen=True):
    """The answer to a write."""

    stored: bool
    version: Annotated[int, Meta(description="The version that is stored now; the first is 1.")]
    reason: Annotated[
        Literal["not_declared_field", "over_cap"] | None,
        Meta(description="Why nothing was stored; the state is as it was."),
    ] = None
    masked: Annotated[dict[str, int], Meta(description="How many values were masked, by kind.")] = {}
    epoch: Epoch = "none"


class StateDeletion(msgspec.Struct, frozen=True):
    """The answer to a deletion: whether there was a state, which reads as version 0 now."""

    deleted: bool
    version: int = 0
    epoch: Epoch = "none"


class StateRead(msgspec.Struct, frozen=True):
    """The answer to a read. A state that was never written, has expired or was removed is empty, at version 0."""

    body: Annotated[dict[str, Any], Meta(description="The fields that are held and have not expired.")] = {}
    version: int = 0
    updated_at: Moment | None = None
    valid_until: Annotated[
        Moment | None, Meta(description="When the state leaves, unless written again.")
    ] = None
    epoch: Epoch = "none"
    expires: Annotated[
        dict[str, Moment], Meta(description="When a field leaves, for those that leave before the state.")
    ] = {}


class StateMetadata(msgspec.Struct, frozen=True):
    """What people may see of a state: never its content, never its scope's id (WM-23)."""

    agent: str
    scope_kind: str
    source_id: str
    source: str
    bytes: Annotated[int, Meta(description="The length of the body as compact JSON, after masking.")]
    version: int
    type: str | None
    schema_version: str | None
    created_at: Moment
    updated_at: Moment
    valid_until: Moment
    fields: Annotated[int, Meta(description="How many fields it holds.")]


class ExportedField(msgspec.Struct, frozen=True):
    """A value of a state as a subject package gives it: as stored, with how its field is declared (PR-18).

    `origin` says whether it was provided, observed or derived; `named_at` is when a write last named it.
    """

    name: str
    value: Any
    is_declared: bool
    label: str | None
    type: str | None
    pii: bool | str | None
    sensitivity: str | None
    origin: str | None
    named_at: Moment
    expires_at: Moment | None


class ExportedState(msgspec.Struct, frozen=True, kw_only=True):
    """A state as a subject package gives it; `fields` are empty where what is stored does not verify (PR-18)."""

    agent: str
    scope_kind: str
    source: str
    type: str | None
    schema_version: str | None
    version: int
    created_at: Moment
    updated_at: Moment
    valid_until: Moment
    is_readable: bool
    fields: tuple[ExportedField, ...]
