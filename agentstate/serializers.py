"""The shapes of working memory on the wire (WM-26)."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from agentstate.rules.writes import require_form
from agentstate.types import StateMetadata, StateWrite
from workspaces.http.serializers import HandleShape, handle_value

AgentName = Annotated[str, Meta(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f]*$")]
MAX_VERSION = 2**63 - 1
Version = Annotated[int, Meta(ge=0, le=MAX_VERSION)]


class ScopeShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a state belongs to. The id travels in the body, never in a URL (WM-5)."""

    kind: Literal["conversation", "task", "object", "subject"]
    id: Annotated[str, Meta(min_length=1, max_length=512)]


class WriteState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A write: the whole new state (`cas`), or the fields to replace (`merge_by_key`)."""

    scope: ScopeShape
    agent: AgentName
    mode: Literal["cas", "merge_by_key"]
    body: dict[str, Any]
    if_version: Version | None = None
    subject: HandleShape | None = None
    written_at: Annotated[datetime, Meta(tz=True)] | None = None


class ReadState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which state to read."""

    scope: ScopeShape
    agent: AgentName


class DeleteState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which state to remove, and at which version only."""

    scope: ScopeShape
    agent: AgentName
    if_version: Version | None = None


class ProfileStates(msgspec.Struct, frozen=True):
    """The states of a person, newest first, without content."""

    items: list[StateMetadata]
    next_cursor: str | None


def state_write(shape: WriteState, *, raw: bytes, idempotency_key: str | None) -> StateWrite:
    """Bring a write into canonical form, or refuse it with pointers (422)."""
    require_form(shape.body, shape.mode)
    return StateWrite(
        scope_kind=shape.scope.kind,
        scope_id=shape.scope.id,
        agent=shape.agent,
        mode=shape.mode,
        body=shape.body,
        if_version=shape.if_version,
        subject=handle_value(shape.subject, "/subject") if shape.subject else None,
        written_at=shape.written_at,
        idempotency_key=idempotency_key,
        raw=raw,
    )
