"""The shapes of governance on the wire (PR-2, PR-9)."""

from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from agentstate.types import TypeEffects
from workspaces.http.serializers import PRINTABLE, HandleShape
from workspaces.serializers import FoundHandle
from workspaces.types import Moment

Kind = Literal["features", "object-types", "masking", "retention", "assembly-policy"]


class ProposeChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A proposed version. `replaces` is the live version that it was made from; `type` is another name of `kind`."""

    kind: Annotated[Kind | None, Meta(description="The kind of document; required, here or as `type`.")] = (
        None
    )
    type: Kind | None = None
    document: Annotated[
        dict[str, Any],
        Meta(description="The whole document, as `GET /v1/config/{kind}/schema` describes it."),
    ]
    reason: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=500,
            pattern=PRINTABLE,
            description="Why; the audit and the document keep it.",
        ),
    ]
    replaces: Annotated[
        Annotated[int, Meta(ge=1, le=2**31 - 1)] | None,
        Meta(
            description="The live version that this was made from, else 412; absent: the live one, whichever."
        ),
    ] = None
    drop: Annotated[
        tuple[Annotated[str, Meta(max_length=128, pattern=PRINTABLE)], ...],
        Meta(
            max_length=200,
            description="Fields, as `type.field`, that states still hold and the version no longer declares.",
        ),
    ] = ()
    publish_at: Annotated[
        Moment | None,
        Meta(description="When it is to be published, within a year; absent: as soon as it may be."),
    ] = None
    space_id: Annotated[
        Annotated[str, Meta(max_length=256)] | None,
        Meta(description="Accepted and not kept: the key says it."),
    ] = None


Reason = Annotated[
    str, Meta(min_length=1, max_length=500, pattern=PRINTABLE, description="Why; the audit keeps it.")
]


Digest = Annotated[
    str,
    Meta(
        max_length=64,
        pattern="^[0-9a-f]{64}$",
        description="`digest` of the change as it was read: refused with 412 where it says something else by now.",
    ),
]


class ApproveChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An approval may say why, and which content it is about; the change is named in the path."""

    reason: Reason | None = None
    digest: Digest | None = None


class DenyChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A denial or a withdrawal says why."""

    reason: Reason


class PublishChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A publication says nothing more; without the approval that it takes, it breaks the glass and says why."""

    break_glass: Annotated[
        bool, Meta(description="Publish without approval; it alerts every security person.")
    ] = False
    reason: Annotated[Reason | None, Meta(description="Why; required to break the glass.")] = None
    digest: Digest | None = None


class LiveDocumentAnswer(msgspec.Struct, frozen=True):
    """The live version of a document."""

    kind: str
    version: int
    document: dict[str, Any]


Status = Literal["proposed", "approved", "scheduled", "published", "denied", "withdrawn", "failed"]


class ChangeAnswer(msgspec.Struct, frozen=True):
    """A change and what became of it; `version` is the published one, `effects` what a proposal does to states."""

    diff_id: str
    kind: str
    status: Status
    replaces: int
    version: int | None = None
    effects: TypeEffects | None = None
    publish_at: Moment | None = None


class ChangeDetail(ChangeAnswer, frozen=True, kw_only=True):
    """A change with all that an approval approves.

    `digest` names the content, `needs_approval` says whether four eyes hold for its kind, `approvals` how many people
    approved exactly this, and `failure` why a scheduled publication failed.
    """

    document: dict[str, Any]
    drop: list[str]
    reason: str
    proposed_at: Moment
    needs_approval: bool
    approvals: int
    digest: str
    failure: str = ""


ScopeId = Annotated[str, Meta(min_length=1, max_length=512)]
NamelessReason = Annotated[
    str, Meta(min_length=1, max_length=500, pattern=PRINTABLE, description="Why; do not name the person.")
]


class ForgetWish(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is to be erased: `target` names the kind, and exactly the member of that kind is given."""

    target: Literal["profile", "handle", "conversation", "task", "object"]
    profile_id: UUID | None = None
    handle: HandleShape | None = None
    conversation_id: ScopeId | None = None
    task_id: ScopeId | None = None
    object_id: Annotated[ScopeId | None, Meta(description="As `type:namespace:id`.")] = None
    reason: Annotated[
        str, Meta(max_length=500, pattern=PRINTABLE, description="Why; do not name the person.")
    ] = ""


class HoldWish(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is to be held: `target` names the kind, and exactly the member of that kind is given."""

    target: Literal["profile", "conversation", "task"]
    profile_id: UUID | None = None
    conversation_id: ScopeId | None = None
    task_id: ScopeId | None = None
    reason: NamelessReason
    ends_at: Annotated[Moment, Meta(description="When the hold ends by itself; at most 30 years from now.")]


class LiftWish(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a hold is lifted before its end."""

    reason: NamelessReason


class HoldAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A legal hold, by ids and keyed hashes (PR-16)."""

    hold_id: str
    status: Annotated[
        Literal["standing", "lifted", "ended"],
        Meta(description="What it kept is deleted soon after it was lifted or has ended (`settled_at`)."),
    ]
    target: Annotated[str, Meta(description="profile, conversation or task")]
    target_id: Annotated[str, Meta(description="The profile's id; of a conversation or task its keyed hash.")]
    reason: str
    placed_by: str
    placed_at: Moment
    ends_at: Moment
    lifted_by: str | None = None
    lifted_at: Moment | None = None
    lift_reason: str | None = None
    settled_at: Moment | None = None


class HoldList(msgspec.Struct, frozen=True):
    """A page of holds, newest first."""

    items: list[HoldAnswer]
    next_cursor: str | None = None


class ErasureAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A request for erasure and what became of it (PR-9)."""

    request_id: str
    reference: str
    status: Annotated[
        Literal["pending", "running", "completed", "failed"],
        Meta(
            description="`pending` waits (see `blocked_by`); a refused request reads `failed`, with `refusal`."
        ),
    ]
    blocked_by: Literal["approval", "hold"] | None = None
    refusal: Literal["no_match", "legal_hold", "identity_not_verified", "duplicate"] | None = None
    duplicate_of: str | None = None
    target_kind: str
    target_id: Annotated[str, Meta(description="The profile's or handle's id; of a scope its keyed hash.")]
    requested_at: Moment
    due_on: Annotated[str, Meta(description="The last day to answer, by the workspace's regime (PR-17).")]
    completed_at: Moment | None = None
    erased: Annotated[
        dict[str, int], Meta(description="How much went, by kind; empty until it is complete.")
    ] = {}
    export_run_ids: list[str] = []
    receipt_hash: str | None = None
    receipt: Annotated[
        dict[str, Any] | None, Meta(description="The signed receipt, for `manage.py verify_receipt`.")
    ] = None


class ExportSubject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whose package: exactly one of a profile and a handle."""

    profile_id: UUID | None = None
    handle: HandleShape | None = None
    reason: Annotated[
        str,
        Meta(max_length=500, pattern=PRINTABLE, description="Why; the audit and the package's run keep it."),
    ] = ""


class ExportAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A package and how far it is. The link, the digests and the end are there as soon as it is ready."""

    run_id: str
    profile_id: str
    status: Literal["waiting", "building", "ready", "failed", "expired", "revoked"]
    asked_at: Moment
    download_url: Annotated[
        str | None,
        Meta(description="Whoever holds it may download the package until it expires or is revoked."),
    ] = None
    download_expires_at: Moment | None = None
    files: Annotated[
        dict[str, str], Meta(description="The SHA-256 of each file in the zip, by its name.")
    ] = {}
    counts: Annotated[dict[str, int], Meta(description="How many records each file of records has.")] = {}
    sha256: Annotated[str | None, Meta(description="The SHA-256 of the zip.")] = None


class NamedPerson(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One person, by a profile or by a handle: exactly one of them is given."""

    profile_id: UUID | None = None
    handle: HandleShape | None = None


class LinkWish(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Two that are known to be one person."""

    first: NamedPerson
    second: NamedPerson
    reason: Annotated[
        str, Meta(max_length=500, pattern=PRINTABLE, description="Why; do not name the person.")
    ] = ""


class UnlinkWish(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A handle that is another person than the ones it was linked with."""

    handle: HandleShape
    reason: Annotated[
        str, Meta(max_length=500, pattern=PRINTABLE, description="Why; do not name the person.")
    ] = ""


class LinkedProfile(msgspec.Struct, frozen=True, kw_only=True):
    """The person after it; `changed` is false where it was so before."""

    profile_id: str
    pseudonym: str
    handles: list[FoundHandle]
    changed: bool
