"""The shapes of the platform's own routes (niadra-compatible where that client calls them, WM-26)."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from workspaces.http.limits import BATCH_ITEMS
from workspaces.http.serializers import HandleType
from workspaces.types import Moment


class SearchProfiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pseudonym (`p_...`) or an identifier in any spelling, narrowed by a handle type and its namespace."""

    query: Annotated[
        str, Meta(min_length=1, max_length=320, description="A pseudonym or an identifier, in any spelling.")
    ]
    limit: Annotated[int, Meta(ge=1, le=100, description="An identifier names one person at most.")] = 20
    type: Annotated[HandleType | None, Meta(description="Read the identifier as this type only.")] = None
    scope: Annotated[
        Annotated[str, Meta(min_length=1, max_length=256)] | None,
        Meta(description="The namespace, for the types that have one."),
    ] = None


class FoundHandle(msgspec.Struct, frozen=True):
    """A handle as people see it: a hint, never its value."""

    type: str
    value: str


class FoundProfile(msgspec.Struct, frozen=True):
    """A profile that a search gave."""

    profile_id: str
    pseudonym: str
    kind: Literal["person"]
    partial: bool
    handles: list[FoundHandle]
    last_seen: Moment


class FoundProfiles(msgspec.Struct, frozen=True):
    """The profiles that a search gave: one or none."""

    items: list[FoundProfile]


class SourceMe(msgspec.Struct, frozen=True):
    """Who the key stands for."""

    space_id: str
    tenant_id: str
    region: str
    environment: str
    source_id: str
    source_name: str
    key_id: str
    scopes: list[str]
    audience: str
    verification_ceiling: str
    purposes: list[str]
    agent_memory: bool


class SdkProfileType(msgspec.Struct, frozen=True):
    """A declared object type."""

    type: str


class SdkProfile(msgspec.Struct, frozen=True):
    """What a client may use: the enabled features and the declared types."""

    features: list[str]
    types: list[SdkProfileType]
    tool_bindings: list[str] = []
    valid_for_s: int = 60


class SigningKeyAnswer(msgspec.Struct, frozen=True):
    """A public key of the deployment. `valid_to` is null for the one that signs now."""

    id: Annotated[str, Meta(description="The first 32 hexadecimal digits of the SHA-256 of the key.")]
    algorithm: Literal["Ed25519"]
    public_key: Annotated[str, Meta(description="Base64 of the 32 bytes of the key.")]
    valid_from: Moment
    valid_to: Moment | None


class SigningKeys(msgspec.Struct, frozen=True):
    """The keys by which receipts and checkpoints verify, the retired ones too, oldest first."""

    items: list[SigningKeyAnswer]


class IngestStatus(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks about one conversation or one task."""

    conversation_id: Annotated[str, Meta(min_length=1, max_length=512)] | None = None
    task_id: Annotated[str, Meta(min_length=1, max_length=512)] | None = None


class IngestState(msgspec.Struct, frozen=True):
    """What became of ingested turns."""

    state: Literal["unknown"] = "unknown"


class Batch(msgspec.Struct, frozen=True):
    """Items of a client's session. They are accepted, and nothing of them is kept."""

    items: Annotated[
        list[dict[str, Any]],
        Meta(min_length=1, max_length=BATCH_ITEMS, description="Items of any type and form."),
    ]


class BatchError(msgspec.Struct, frozen=True):
    """An item that was not accepted, by its place in the batch."""

    index: int
    code: str


class BatchAnswer(msgspec.Struct, frozen=True):
    """How many items were accepted; none is ever refused."""

    accepted: int
    duplicates: int = 0
    errors: list[BatchError] = []
    masked: dict[str, int] = {}
