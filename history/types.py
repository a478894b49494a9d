"""Values that travel through history."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from lastro.history.records import Kind, NewItem, Pins
from workspaces.rules.handles import Handle
from workspaces.types import Moment, WorkspaceRef


class Identity(msgspec.Struct, frozen=True):
    """Which session of a source: a label that narrows the source, and the ids of HI-1. Its parts are never stored."""

    namespace: str = ""
    session_id: str = ""
    run_id: str = ""
    invocation_id: str = ""
    agent_ref: str = ""


class Place(msgspec.Struct, frozen=True):
    """Where a session is kept: its workspace, its source and the keyed hash of its identity (HI-2)."""

    workspace: WorkspaceRef
    source_id: UUID
    identity_hash: bytes
    hash_key_id: UUID
    previous_hash: bytes | None = None

    @property
    def hashes(self) -> list[bytes]:
        """Give the hashes under which the session may be kept: under the hash key before too, while there is one."""
        return (
            [self.identity_hash] if self.previous_hash is None else [self.identity_hash, self.previous_hash]
        )


class Retention(msgspec.Struct, frozen=True):
    """The bounds of a workspace's history (HI-4), and the version of the document that says so."""

    document: int
    idle_seconds: int
    max_age_seconds: int
    max_sessions: int
    max_store_bytes: int
    tombstone_seconds: int


class Naming(msgspec.Struct, frozen=True):
    """Whom and what a session names (HI-22)."""

    conversation_id: str = ""
    subject: Handle | None = None


class BeginWish(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that wants to begin: `raw` is the body of the request, which is hashed and never kept."""

    create: bool = False
    naming: Naming = Naming()
    pins: Pins | None = None
    worker: str = ""
    idempotency_key: str | None = None
    raw: bytes = b""


class AppendWish(msgspec.Struct, frozen=True, kw_only=True):
    """Items to add, under the token of a reservation or, without one, under a short reservation of their own."""

    items: tuple[NewItem, ...]
    token: str | None = None
    create: bool = False
    naming: Naming = Naming()


class SummaryValue(msgspec.Struct, frozen=True):
    """A host's text for the exchanges that left: how many, their digest, the last of them (HI-18, HI-19)."""

    text: Annotated[str, Meta(min_length=1, max_length=65_536)]
    covers: Annotated[int, Meta(ge=1, le=2**31 - 1, description="How many exchanges it stands for.")]
    digest: Annotated[str, Meta(min_length=1, max_length=128, description="The digest of what it covers.")]
    through: Annotated[str, Meta(max_length=128, description="The id of the last item that it covers.")] = ""
    expires_at: Moment | None = None


class CommitWish(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision leaves: its items, where the branch ends, what it pins, and perhaps another summary."""

    token: str
    items: tuple[NewItem, ...] = ()
    leaf: str = ""
    pins: Pins | None = None
    summary: SummaryValue | None = None
    naming: Naming = Naming()


class PinsValue(msgspec.Struct, frozen=True):
    """What the first decision fixed for a session (HI-1)."""

    provider: str
    model: str
    interface: str
    content_mode: str


class SessionHead(msgspec.Struct, frozen=True):
    """What is known of a session without reading a message."""

    pins: PinsValue | None
    leaf: Annotated[str, Meta(description="The id of the item where its branch ends, empty for none.")]
    count: Annotated[int, Meta(description="How many items it holds.")]
    bytes: Annotated[int, Meta(description="How long their messages are as compact JSON.")]
    summary: SummaryValue | None
    created_at: Moment
    touched_at: Moment
    valid_until: Annotated[Moment, Meta(description="When it leaves, unless it is touched before.")]


class Begun(msgspec.Struct, frozen=True):
    """The answer to a begin: the token that the decision's other calls carry, and the session as it stands."""

    reservation: Annotated[str, Meta(description="Keep it from others: who has it extends the session.")]
    since: Moment
    is_new: Annotated[bool, Meta(description="Whether this request made the session.")]
    head: SessionHead


class Appended(msgspec.Struct, frozen=True):
    """The answer to an append or a commit: the place of each item in the order of the request, no content."""

    positions: Annotated[
        tuple[int, ...], Meta(description="A repeated key gives the place of its first item.")
    ]
    stored: Annotated[int, Meta(description="How many of the items are new.")]
    count: int
    bytes: int


class StoredItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item as it is kept, byte for byte (HI-13)."""

    position: int
    id: str
    parent: str
    kind: Kind
    message: Annotated[msgspec.Raw, Meta(extra_json_schema={"type": "object"})]
    key: str
    provisional: bool
    recorded_at: Moment
    expires_at: Moment | None


class SessionRead(msgspec.Struct, frozen=True):
    """A detached copy of a whole session (HI-6), without what has expired."""

    head: SessionHead
    items: tuple[StoredItem, ...]


class OmissionValue(msgspec.Struct, frozen=True):
    """An item that is missing from the middle of the window, and why."""

    item: str
    reason: str
    rule: str


class WindowRead(msgspec.Struct, frozen=True):
    """Messages ready to send, and the account of how they were chosen (HI-9 to HI-11)."""

    messages: Annotated[tuple[msgspec.Raw, ...], Meta(extra_json_schema={"items": {"type": "object"}})]
    items: Annotated[
        tuple[str, ...], Meta(description="The id of each message, empty for one that was added.")
    ]
    message_count: int
    bytes: int
    trimmed: bool
    omissions: tuple[OmissionValue, ...]
    changed: tuple[str, ...]
    open_calls: tuple[str, ...]
    summary: SummaryValue | None
    summary_refused: Annotated[
        str, Meta(description="Why a stored summary is not served, empty where it is.")
    ]
    through: Annotated[str, Meta(description="The last item before the window, which a summary must cover.")]


class ListWish(msgspec.Struct, frozen=True, kw_only=True):
    """Which items to list; `holds` is the hash of a reservation's token."""

    of: Literal["opaque", "path", "instructions", "key"] = "opaque"
    leaf: str = ""
    key: str = ""
    cursor: int | None = None
    limit: int = 50
    holds: bytes = b""
    with_head: bool = False


class ItemPage(msgspec.Struct, frozen=True):
    """A page of items, the position at which the next one begins, and the head where it was asked for."""

    items: tuple[StoredItem, ...]
    following: int | None
    head: SessionHead | None


class WindowWish(msgspec.Struct, frozen=True, kw_only=True):
    """Which window of a session."""

    provider: str = ""
    leaf: str = ""
    max_messages: int = 128
    max_bytes: int = 262_144
    repair: bool = False
    dialect: str = ""


class ExportedSession(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="session"):
    """A session as a subject package gives it, before its messages (PR-18)."""

    session: UUID
    source: str
    provider: str | None
    model: str | None
    interface: str | None
    content_mode: str | None
    created_at: Moment
    touched_at: Moment
    valid_until: Moment
    items: int
    summary: str | None
    is_readable: bool


class ExportedMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="message"):
    """A message as a subject package gives it: as it was received; none where what is stored does not verify."""

    session: UUID
    position: int
    follows: int
    kind: Kind
    recorded_at: Moment
    expires_at: Moment | None
    is_readable: bool
    message: msgspec.Raw | None


class SessionMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """A session as people see it: neither its ids nor a message (HI-23). `row` and `reservation` name rows alone."""

    row: UUID
    source: str
    provider: str
    model: str
    items: int
    bytes: int
    created_at: datetime
    touched_at: datetime
    valid_until: datetime
    reservation: UUID | None
    reserved_at: datetime | None
    worker: str

    @property
    def status(self) -> str:
        """Say whether a decision runs on it."""
        return "running" if self.reserved_at else "idle"
