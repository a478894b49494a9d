"""The shapes of context assembly on the wire (CA-3, CA-9)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from assembly.errors import answered
from assembly.types import AssemblyFilter, AssemblySummary, AssemblyWish
from lastro.assembly.records import MAX_RECORDS, RuntimeKind
from lastro.assembly.rendering.messages import Format
from lastro.assembly.request import parse_request
from workspaces.errors import InvalidInput
from workspaces.types import FieldProblem, Moment, WorkspaceRef

_ID = Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_.:-]+$")
_NAME = Meta(min_length=1, max_length=256, pattern=r"^[^\x00]+$")
Id = Annotated[str, _ID]
Name = Annotated[str, _NAME]
Budget = Annotated[int, Meta(ge=0, le=2**53)]


class RecordGraph(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Records in their order, stored all or none."""

    records: Annotated[
        tuple[dict[str, Any], ...],
        Meta(
            min_length=1,
            max_length=MAX_RECORDS,
            description="Typed records: `type`, an `id` that is the caller's own, and the members of the type.",
        ),
    ]


class PayloadAnswer(msgspec.Struct, frozen=True):
    """What became of a payload: its length, its SHA-256, and whether it was stored now or there already."""

    payload_id: str
    bytes: int
    sha256: str
    outcome: Literal["stored", "unchanged"]


class PolicyShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which policy; the newest version of the document where none is named."""

    name: Annotated[str, Meta(min_length=1, max_length=40)]
    version: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None


class AssembleContext(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For whom and what a context is assembled."""

    conversation: Id
    branch: Id
    participant: Annotated[str, _ID, Meta(description="Who will see it.")]
    route: Annotated[
        str, _NAME, Meta(description="The provider route it leaves on; one the policy does not name is `*`.")
    ]
    kind: RuntimeKind = "chat"
    run: Annotated[Id | None, Meta(description="The run that will see it: one of the participant.")] = None
    answers: Annotated[Id | None, Meta(description="The message being answered.")] = None
    checkpoint: Annotated[Id | None, Meta(description="What a resume goes on from.")] = None
    parents: Annotated[
        tuple[Id, ...], Meta(max_length=100, description="Messages: the explicit parents of a `branch_send`.")
    ] = ()
    budget_tokens: Budget | None = None
    budget_bytes: Budget | None = None
    skills: Annotated[tuple[Name, ...], Meta(max_length=100)] = ()
    tools: Annotated[tuple[Name, ...], Meta(max_length=500)] = ()
    need_exact: Annotated[
        tuple[Id, ...],
        Meta(max_length=200, description="Artifacts or memories whose exact content is needed."),
    ] = ()
    as_of: Annotated[
        Moment | None, Meta(description="The moment for which it is decided; now if absent.")
    ] = None
    policy: Annotated[PolicyShape | None, Meta(description="The first of the newest version if absent.")] = (
        None
    )
    trace: Annotated[
        Literal["full"] | None, Meta(description="Answer and keep the outcome of every candidate.")
    ] = None
    render: Annotated[Format | None, Meta(description="Also write ready messages for a provider.")] = None


class AskWhy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """About which record of the graph."""

    type: Annotated[str, Meta(min_length=1, max_length=20, pattern=r"^[a-z_]+$")]
    id: Id


class ListedAssemblies(msgspec.Struct, frozen=True):
    """Assemblies, newest first, and the cursor of the next page."""

    items: list[AssemblySummary]
    next_cursor: str | None


class ListAssemblies(msgspec.Struct, frozen=True):
    """Which assemblies are listed."""

    conversation: Id | None = None


_BESIDE = ("policy", "trace", "render")


def assembly_filter(query: Mapping[str, str]) -> AssemblyFilter:
    """Read the query of a list. Raises InvalidInput."""
    try:
        wanted = msgspec.convert({"conversation": query.get("conversation")}, ListAssemblies)
    except msgspec.ValidationError as error:
        problem = FieldProblem("/conversation", "wrong_form", "The id of a Conversation record.")
        raise InvalidInput(errors=(problem,)) from error
    return AssemblyFilter(conversation=wanted.conversation or "")


def assembly_wish(shape: AssembleContext, *, workspace: WorkspaceRef, now: datetime) -> AssemblyWish:
    """Read what a host asks for. Raises InvalidInput with every problem and its place."""
    members = msgspec.structs.asdict(shape) | {"as_of": shape.as_of or now}
    asked = {
        name: value
        for name, value in msgspec.json.decode(msgspec.json.encode(members)).items()
        if value is not None and name not in _BESIDE
    }
    with answered():
        request = parse_request(asked, workspace=str(workspace.id))
    return AssemblyWish(
        request=request,
        policy=shape.policy.name if shape.policy else None,
        policy_version=shape.policy.version if shape.policy else None,
        is_traced=shape.trace == "full",
        render=shape.render,
    )
