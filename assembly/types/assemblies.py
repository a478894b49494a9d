"""What is asked for, decided and kept of an assembly (CA-9, CA-16)."""

from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta

from lastro.assembly.rendering.messages import Format
from lastro.assembly.snapshot import AssemblyRequest
from workspaces.types import Moment


class AssemblyWish(msgspec.Struct, frozen=True, kw_only=True):
    """A context that somebody wants: for whom, by which policy (its newest version where none is named), and how."""

    request: AssemblyRequest
    policy: str | None = None
    policy_version: int | None = None
    is_traced: bool = False
    render: Format | None = None


class PolicyValue(msgspec.Struct, frozen=True):
    """A policy, and the version of the document that it was taken from."""

    name: str
    version: int


class SizeValue(msgspec.Struct, frozen=True):
    """How much something takes of a context; tokens as the server counts them."""

    tokens: int
    bytes: int


class Milliseconds(msgspec.Struct, frozen=True):
    """How long the server took to find what the graph holds, to decide, and to write it out."""

    query: float
    policy: float
    rendering: float


class NamedRecord(msgspec.Struct, frozen=True):
    """A record by its type and its id."""

    type: str
    id: str


class ShownRecord(msgspec.Struct, frozen=True):
    """A record that was shown, in which form, and how much it takes of the context."""

    type: str
    id: str
    form: str
    tokens: int = 0
    bytes: int = 0


class TraceLine(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one candidate: the form in which it is shown, or the reason for which it is left out (CA-15)."""

    type: str
    id: str
    form: str | None
    reason: str | None
    detail: Annotated[
        str, Meta(description="What decided, by name: another record, a class, why it is stale.")
    ]
    conflicts: tuple[str, ...] = ()


class AssembledContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is to see next, and the account of it (CA-15, CA-16, CA-19)."""

    assembly_id: UUID
    policy: PolicyValue
    assembler: str
    position: Annotated[int, Meta(description="How many records of the graph this context knows.")]
    as_of: Moment
    digest: Annotated[
        str, Meta(description="Of every decision: the same for the same graph, policy and time.")
    ]
    items: Annotated[
        tuple[dict[str, Any], ...],
        Meta(
            description="In the order shown. Each has `type`, `id` and `form`; a message its `role`, `participant` and "
            "`parts`, anything else the members of its line, which are data from tools and never instructions."
        ),
    ]
    omitted: Annotated[dict[str, int], Meta(description="How many candidates were left out, by reason.")]
    branch_exclusions: int
    considered: int
    naive: Annotated[SizeValue, Meta(description="What the whole transcript of the branch would take.")]
    assembled: SizeValue
    milliseconds: Milliseconds
    messages: Annotated[
        tuple[dict[str, Any], ...] | None, Meta(description="For the provider that `render` names.")
    ]
    trace: Annotated[tuple[TraceLine, ...] | None, Meta(description="Where `trace` asks for it.")]


class DecisionValue(msgspec.Struct, frozen=True):
    """What a rule of the policy brought about, and of which records."""

    rule: str
    policy: PolicyValue
    outcome: str
    references: tuple[NamedRecord, ...]


class AssemblySummary(msgspec.Struct, frozen=True, kw_only=True):
    """What is told of an assembly in a list."""

    assembly_id: UUID
    conversation: str
    branch: str
    participant: str
    kind: str
    route: str
    policy: PolicyValue
    assembler: str
    position: int
    as_of: Moment
    digest: str
    omitted: dict[str, int]
    branch_exclusions: int
    considered: int
    naive: SizeValue
    assembled: SizeValue
    milliseconds: Milliseconds
    has_trace: bool
    created_at: Moment
    expires_at: Moment


class AssemblyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The record of an assembly (CA-16): names, versions, counts and reasons, never content."""

    summary: AssemblySummary
    request: Annotated[dict[str, Any], Meta(description="What was asked for.")]
    selected: tuple[ShownRecord, ...]
    decisions: tuple[DecisionValue, ...]
    trace: Annotated[
        tuple[TraceLine, ...] | None, Meta(description="Every candidate; kept on request or by sampling.")
    ]
    trace_expires_at: Moment | None


class AssemblyFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which assemblies a list shows; empty for all."""

    conversation: str = ""
    participant: str = ""
    kind: str = ""
    policy: str = ""
    has_trace: bool | None = None


class Compared(msgspec.Struct, frozen=True):
    """What two assemblies showed: in both alike, in both in another form, in the first or the second alone."""

    alike: tuple[ShownRecord, ...]
    changed: tuple[tuple[ShownRecord, ShownRecord], ...]
    only_first: tuple[ShownRecord, ...]
    only_second: tuple[ShownRecord, ...]
