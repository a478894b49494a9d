"""The raw bytes of artifacts (CA-4)."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Literal
from uuid import UUID

import msgspec

from workspaces.types import Key


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
