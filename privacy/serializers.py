"""The shapes of governance on the wire (PR-2)."""

from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from agentstate.types import TypeEffects
from workspaces.http.serializers import PRINTABLE, HandleShape
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
    space_id: Annotated[
        Annotated[str, Meta(max_length=256)] | None,
        Meta(description="Accepted and not kept: the key says it."),
    ] = None


class ApproveChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An approval says nothing more: the change is named in the path."""


class LiveDocumentAnswer(msgspec.Struct, frozen=True):
    """The live version of a document."""

    kind: str
    version: int
    document: dict[str, Any]


class ChangeAnswer(msgspec.Struct, frozen=True):
    """A change and what became of it; `version` is the published one, `effects` what a proposal does to states."""

    diff_id: str
    kind: str
    status: Literal["proposed", "published"]
    replaces: int
    version: int | None = None
    effects: TypeEffects | None = None


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
