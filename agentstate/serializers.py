"""The shapes of working memory on the wire (WM-26)."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from agentstate.rules.writes import require_form
from agentstate.types import StateMetadata, StateWrite
from workspaces.http.serializers import HandleShape, handle_value
from workspaces.types import Moment

# A look-ahead, since Python's `$` also matches before a last line break.
AgentName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=256,
        pattern=r"^(?![\s\S]*[\x00-\x1f\x7f])",
        description="The agent whose state it is; its object type follows from this name.",
    ),
]
MAX_VERSION = 2**63 - 1
Version = Annotated[int, Meta(ge=0, le=MAX_VERSION)]
IfVersion = Annotated[
    Version | None,
    Meta(
        description="Only at this stored version, else 412. For `cas` absent means 0: it must not exist yet."
    ),
]


class ScopeShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a state belongs to. The id travels in the body, never in a URL (WM-5)."""

    kind: Literal["conversation", "task", "object", "subject"]
    id: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=512,
            description="The conversation's or task's id; `type:namespace:id` of an object; "
            "`<type>:<value>` or `<type>:<namespace>:<value>` of a subject's handle, in any spelling.",
        ),
    ]


class WriteState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A write: the whole new state (`cas`), or the fields to replace (`merge_by_key`)."""

    scope: ScopeShape
    agent: AgentName
    mode: Annotated[
        Literal["cas", "merge_by_key"],
        Meta(
            description="`cas`: `body` is the whole new state. `merge_by_key`: each member replaces its field."
        ),
    ]
    body: Annotated[
        dict[str, Any],
        Meta(
            description="Declared fields and their values. In a merge a field written as exactly "
            '`{"$delete": true}` is removed.'
        ),
    ]
    if_version: IfVersion = None
    subject: Annotated[
        HandleShape | None,
        Meta(description="The person whom the state is about, where the scope does not name them."),
    ] = None
    written_at: Annotated[
        Moment | None,
        Meta(description="When the code made the write, for late ones; one in the future counts as now."),
    ] = None


class ReadState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which state to read."""

    scope: ScopeShape
    agent: AgentName


class DeleteState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which state to remove, and at which version only."""

    scope: ScopeShape
    agent: AgentName
    if_version: Annotated[Version | None, Meta(description="Only at this stored version, else 412.")] = None


class ProfileStates(msgspec.Struct, frozen=True):
    """The states of a person, newest first, without content."""

    items: list[StateMetadata]
    next_cursor: Annotated[str | None, Meta(description="The `cursor` of the next page, null on the last.")]


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
