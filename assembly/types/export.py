"""What people are given of a graph (PR-18)."""

from uuid import UUID

import msgspec

from workspaces.types import Moment


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
