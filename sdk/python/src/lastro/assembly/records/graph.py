"""The records of the runtime graph, as hosts write them (CA-1, CA-2, CA-4, CA-5). Immutable; what changes is a record.

Members are the members of the wire, and their types its forms; a member with a default may be absent. Times are
aware. `type` on the wire is the class's `wire`.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from lastro.assembly.records.classes import (
    ContextClass,
    Freshness,
    Isolation,
    Privacy,
    RuntimeKind,
    Status,
    Visibility,
)
from lastro.assembly.records.forms import (
    ArtifactId,
    BranchId,
    CallId,
    ConversationId,
    Count,
    Data,
    Digest,
    Id,
    Json,
    Length,
    Line,
    MemoryId,
    MessageId,
    Name,
    Natural,
    ParticipantId,
    Quiet,
    RunId,
    Share,
    Text,
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Record(Quiet):
    """What every record has: an id, unique among those of its type in the workspace."""

    wire: ClassVar[str] = ""
    id: Id

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id})"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Handle(Quiet):
    """An identifier of a person: type, value and, for some types, a namespace."""

    type: Name
    value: Annotated[str, Length(most=512, least=1)]
    scope: Name | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Conversation(Record):
    """A conversation, with the company's own id of it, and whom it is with."""

    wire: ClassVar[str] = "conversation"
    conversation: Annotated[str, Length(most=512, least=1)]
    subject: Annotated[tuple[Handle, ...], Count(most=20)] = ()
    recorded_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Placed(Record):
    """What stands in a conversation; `recorded_at` is when it came to be, by the host's clock."""

    conversation: ConversationId
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Branch(Placed):
    """A path through a conversation; it has its parent's records up to the fork message, without a copy."""

    wire: ClassVar[str] = "branch"
    parent: BranchId | None = None
    fork_message: MessageId | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Participant(Placed):
    """Who takes part: a model under a profile, a person, a moderator.

    `subject` names the person by a handle: whoever asks for that person's erasure takes this participant's records too.
    """

    wire: ClassVar[str] = "participant"
    kind: Literal["model", "person", "moderator"] = "model"
    name: Name
    subject: Handle | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Owned(Placed):
    """Whose a record is and who may see it. `message` is the one at which it came to be; without it, its time counts.

    `parent_run` says that a sub-agent's run made it: then only a promotion shows it to anybody else (CA-6).
    """

    branch: BranchId
    participant: ParticipantId | None = None
    run: RunId | None = None
    parent_run: RunId | None = None
    parent_call: CallId | None = None
    batch: Id | None = None
    message: MessageId | None = None
    shared_with: Annotated[tuple[ParticipantId, ...], Count(most=100)] = ()
    isolation: Isolation = "shared"
    visibility: Visibility = "participant"
    privacy: Privacy = "internal"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Part(Quiet):
    """A part of a message: a text, or something else by its address or its base64 data."""

    kind: Literal["text", "image", "audio", "file"] = "text"
    text: Text = ""
    media_type: Name | None = None
    url: Annotated[str, Length(most=8_192)] | None = None
    data: Data | None = None
    name: Name | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Message(Owned):
    """What was visibly said. One that is not final is its own participant's alone (CA-6)."""

    wire: ClassVar[str] = "message"
    role: Literal["user", "assistant", "moderator"]
    parts: Annotated[tuple[Part, ...], Count(most=64, least=1)]
    answers: MessageId | None = None
    final: bool = True
    visibility: Visibility = "branch"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ModelRun(Owned):
    """One attempt to generate, at a route, for a participant; its own id is in `run` of what it makes."""

    wire: ClassVar[str] = "model_run"
    kind: RuntimeKind = "chat"
    route: Name
    model: Name
    provider_metadata: Json = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Payload(Quiet):
    """Raw bytes: either a JSON value (a text stands for its own bytes), or what a PUT brings, by size and digest."""

    value: Json = None
    bytes: Natural | None = None
    sha256: Digest | None = None
    media_type: Name = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ToolCall(Owned):
    """A call that a run asked for. `round` counts the run's responses: calls of one round are answered together."""

    wire: ClassVar[str] = "tool_call"
    tool: Name
    arguments: Payload = Payload(value={})
    round: Natural | None = None
    provider_metadata: Json = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Failure(Quiet):
    """An error of a tool as a runtime needs it: a code, a message, whether trying again makes sense."""

    code: Name
    message: Text = ""
    retryable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RetryContract(Quiet):
    """What a retry needs: the tool, not before when, how often still, under which key, and with which arguments."""

    tool: Name
    not_before: datetime | None = None
    attempts_left: Natural | None = None
    idempotency_key: Name | None = None
    arguments: Json = None
    needs: Line = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ToolArtifact(Owned):
    """The raw evidence of one call, stored before anything is cut for display (CA-4).

    A later artifact of the same call is that call's result: it resolves the pending, deferred or failed one before.
    """

    wire: ClassVar[str] = "tool_artifact"
    call: CallId
    tool: Name
    tool_version: Name | None = None
    status: Status
    arguments: Payload | None = None
    result: Payload | None = None
    error: Failure | None = None
    retry: RetryContract | None = None
    skills: Annotated[tuple[Name, ...], Count(most=100)] = ()
    provider_metadata: Json = None
    context: ContextClass = "operational"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Locator(Quiet):
    """Where in an artifact's result something stands, and the SHA-256 of what stood there (CA-5).

    Exactly one of: a JSON pointer (digest over canonical JSON), lines from 1 with both ends, bytes from 0 without
    the end.
    """

    artifact: ArtifactId
    pointer: Annotated[str, Length(most=2_048)] | None = None
    lines: tuple[Natural, Natural] | None = None
    bytes: tuple[Natural, Natural] | None = None
    digest: Digest


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Confidence(Quiet):
    """How sure a memory is, from 0 to 1, who says so and why."""

    value: Share
    source: Name
    reason: Line = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ToolMemory(Owned):
    """The compact form of some evidence (CA-5): a decision on top of artifacts, which it names and points into.

    `about` says what it is about without saying it: all that a hint or a marker of staleness shows.
    `depends_on` names memories without which its words say nothing ("unchanged since the last read"):
    it is shown only beside them.
    """

    wire: ClassVar[str] = "tool_memory"
    artifacts: Annotated[tuple[ArtifactId, ...], Count(most=50, least=1)]
    tools: Annotated[tuple[Name, ...], Count(most=50)] = ()
    summary: Annotated[str, Length(most=8_192, least=1)]
    about: Line = ""
    data: Json = None
    confidence: Confidence | None = None
    ambiguities: Annotated[tuple[Line, ...], Count(most=50)] = ()
    limits: Annotated[tuple[Line, ...], Count(most=50)] = ()
    freshness: Freshness
    observed_at: datetime
    stale_after: datetime | None = None
    revalidate_with: Annotated[tuple[Name, ...], Count(most=20)] = ()
    locators: Annotated[tuple[Locator, ...], Count(most=50)] = ()
    repair_attempts: Natural = 0
    supersedes: Annotated[tuple[MemoryId, ...], Count(most=50)] = ()
    conflicts_with: Annotated[tuple[MemoryId, ...], Count(most=50)] = ()
    depends_on: Annotated[tuple[MemoryId, ...], Count(most=50)] = ()
    context: ContextClass = "epistemic"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Skill(Quiet):
    """A skill that a run has loaded, and the tools it brought."""

    name: Name
    version: Name | None = None
    profile: Name | None = None
    tools: Annotated[tuple[Name, ...], Count(most=200)] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SkillState(Owned):
    """What is loaded during a run: planning context, which ends with it (CA-8b). A later one replaces it."""

    wire: ClassVar[str] = "skill_state"
    skills: Annotated[tuple[Skill, ...], Count(most=100)]
    plan: Annotated[tuple[Line, ...], Count(most=100)] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContinuationCheckpoint(Owned):
    """State of a runtime between two actions, not messages (CA-2): what it waits for and what a resume must have."""

    wire: ClassVar[str] = "checkpoint"
    state: Json = None
    waits_for: Annotated[tuple[CallId, ...], Count(most=200)] = ()
    memories: Annotated[tuple[MemoryId, ...], Count(most=200)] = ()
    messages: Annotated[tuple[MessageId, ...], Count(most=200)] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FileRef(Quiet):
    """A file that a run made: its id where the host keeps it, and its name."""

    id: Name
    name: Name
    media_type: Name | None = None
    bytes: Natural | None = None
