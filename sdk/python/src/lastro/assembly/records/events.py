"""Records of what changed later: the graph only grows, so a change is a record of its own (CA-3)."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from lastro.assembly.records.classes import Visibility
from lastro.assembly.records.forms import (
    ArtifactId,
    CallId,
    Count,
    Id,
    Length,
    Line,
    MemoryId,
    MessageId,
    ParticipantId,
    Text,
)
from lastro.assembly.records.graph import Failure, FileRef, Owned, Placed, RetryContract


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Promotion(Placed):
    """The explicit word that a record may be seen beyond its owner (CA-6). It lifts isolation for whom it names.

    `participants` names who sees it; without them, `visibility` says how far it reaches.
    """

    wire: ClassVar[str] = "promotion"
    record_type: Literal[
        "message", "tool_artifact", "tool_memory", "checkpoint", "run_finished", "skill_state"
    ]
    record: Id
    visibility: Visibility = "branch"
    participants: Annotated[tuple[ParticipantId, ...], Count(most=100)] = ()
    reason: Line = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MessageFinalized(Placed):
    """A message is final from here on, and so visible as it says."""

    wire: ClassVar[str] = "message_finalized"
    message: MessageId


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Supersession(Placed):
    """A memory replaces an older one, found out after it was recorded; it points from the new to the old (CA-5)."""

    wire: ClassVar[str] = "supersession"
    memory: MemoryId
    supersedes: MemoryId
    reason: Line = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Conflict(Placed):
    """Two memories disagree; open until a settlement names both (CA-13)."""

    wire: ClassVar[str] = "conflict"
    memories: tuple[MemoryId, MemoryId]
    reason: Line = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Settlement(Placed):
    """A conflict is decided, with its reason; recency alone is none (CA-13). `kept` None: both stand."""

    wire: ClassVar[str] = "settlement"
    memories: tuple[MemoryId, MemoryId]
    kept: MemoryId | None = None
    reason: Annotated[str, Length(most=1_000, least=1)]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Resolution(Placed):
    """An unresolved call needs nobody's care any more: answered elsewhere, retried by another, given up (CA-12)."""

    wire: ClassVar[str] = "resolution"
    artifact: ArtifactId | None = None
    call: CallId | None = None
    outcome: Literal["answered", "retried", "abandoned"]
    reason: Line = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RunFinished(Owned):
    """A run reached its final state: a sub-agent's report, files and failure are its parent's from here on (CA-6)."""

    wire: ClassVar[str] = "run_finished"
    status: Literal["succeeded", "failed", "timed_out", "cancelled"]
    report: Text = ""
    files: Annotated[tuple[FileRef, ...], Count(most=100)] = ()
    error: Failure | None = None
    retry: RetryContract | None = None
