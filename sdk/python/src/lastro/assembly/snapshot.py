"""What an assembler is given: a request, and the candidates of the graph at one position, with what is known of each.

A store makes a snapshot with a constant number of queries, or `lastro.assembly.graph` from records in memory. Payloads
are not in it: a reader gives them, and is asked only for those that every rule admitted (CA-11).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal

from lastro.assembly.records import (
    ContinuationCheckpoint,
    Message,
    Participant,
    Promotion,
    Reference,
    RunFinished,
    RuntimeKind,
    SkillState,
    ToolArtifact,
    ToolCall,
    ToolMemory,
    reference_to,
)
from lastro.assembly.records.forms import (
    BranchId,
    ConversationId,
    Count,
    Id,
    MessageId,
    Name,
    Natural,
    ParticipantId,
    RunId,
)

Form = Literal["message", "memory", "raw", "recovery", "stale_marker", "hint", "skill"]
Reason = Literal[
    "erased",
    "expired",
    "other_branch",
    "not_visible",
    "isolated",
    "not_promoted",
    "privacy_route",
    "broken_provenance",
    "superseded",
    "stale",
    "not_needed_raw",
    "over_budget",
    "candidate_limit",
]
Selectable = (
    Message | ToolArtifact | ToolMemory | SkillState | ContinuationCheckpoint | RunFinished | ToolCall
)
Point = tuple[datetime, str]
"""A place in the order of a branch: the time of a message and its id; of what hangs at none, its own time and ''."""

Reader = Callable[[str], bytes | None]
"""Gives the result of an artifact by its id; None where it is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyRequest:
    """For whom and what a context is assembled (CA-9). Without a budget there is no bound but the policy's.

    `run` is the run that will see it; `answers` the message being answered; `parents` the explicit parents of a
    `branch_send`; `need_exact` ids of artifacts or memories whose exact content is needed. `workspace` is the caller's,
    never the request's own word; whoever takes a request also makes sure that `run` is of the participant.
    """

    workspace: str = ""
    conversation: ConversationId
    branch: BranchId
    participant: ParticipantId
    kind: RuntimeKind = "chat"
    route: Name
    run: RunId | None = None
    answers: MessageId | None = None
    checkpoint: Id | None = None
    parents: Annotated[tuple[MessageId, ...], Count(most=100)] = ()
    budget_tokens: Natural | None = None
    budget_bytes: Natural | None = None
    skills: Annotated[tuple[Name, ...], Count(most=100)] = ()
    tools: Annotated[tuple[Name, ...], Count(most=500)] = ()
    need_exact: Annotated[tuple[Id, ...], Count(most=200)] = ()
    as_of: datetime


@dataclass(frozen=True, slots=True, order=True)
class Size:
    """How much something takes of a context."""

    tokens: int = 0
    bytes: int = 0

    def __add__(self, other: "Size") -> "Size":
        return Size(self.tokens + other.tokens, self.bytes + other.bytes)


@dataclass(frozen=True, slots=True)
class Source:
    """An artifact that a memory is derived from, as the graph knows it now."""

    artifact: str
    tool: str
    privacy: str
    is_erased: bool = False


@dataclass(frozen=True, slots=True)
class Provenance:
    """What checking a memory's locators found when it was recorded; unchecked counts as broken (CA-14)."""

    state: Literal["intact", "repaired", "broken", "unchecked"] = "unchecked"
    attempts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A record that may be shown, and what the rest of the graph says of it at this position.

    `placed` is where it stands in its branch. `is_final`: of a message; `is_resolved`: of an artifact, a call or a
    failed run. `replaced_by` holds every record that replaces it, also by way of others; `conflicts` the memories
    that openly contradict it. `is_remembered`: a memory derives from the artifact. `sizes` are stored when it is
    recorded, by form; `naive` is what a transcript carries of it.
    """

    record: Selectable
    placed: Point
    workspace: str = ""
    is_erased: bool = False
    expires_at: datetime | None = None
    is_final: bool = True
    is_resolved: bool = True
    promotions: tuple[Promotion, ...] = ()
    replaced_by: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    provenance: Provenance = Provenance()
    call: ToolCall | None = None
    is_remembered: bool = False
    result_bytes: int = 0
    result_sha256: str | None = None
    naive: Size = Size()
    sizes: Mapping[Form, Size] = field(default_factory=dict[Form, Size])

    @property
    def reference(self) -> Reference:
        """Name the record."""
        return reference_to(self.record)


@dataclass(frozen=True, slots=True)
class Step:
    """A branch of a lineage: how many branches up, and up to which point its records count (None: all)."""

    branch: str
    distance: int
    until: Point | None = None

    def holds(self, placed: Point) -> bool:
        """Say whether a place is not behind the fork."""
        return self.until is None or placed <= self.until


@dataclass(frozen=True, slots=True)
class Fork:
    """Where a branch leaves its parent."""

    parent: str
    at: Point


Lineage = Mapping[str, Step]


def lineage_of(
    branch: str, forks: Mapping[str, Fork], *, depth: int, until: Point | None = None
) -> dict[str, Step]:
    """Give a branch and its ancestors by id, at most `depth` of these: a loop, and a circle of branches ends it."""
    steps = {branch: Step(branch, 0, until)}
    while branch in forks and len(steps) <= depth:
        fork = forks[branch]
        if fork.parent in steps:
            break
        until = fork.at if until is None else min(until, fork.at)
        steps[fork.parent] = Step(fork.parent, len(steps), until)
        branch = fork.parent
    return steps


def joined(*lineages: Lineage) -> dict[str, Step]:
    """Put lineages together, as a message with several parents has them: of a branch, what reaches furthest."""
    steps: dict[str, Step] = {}
    for step in (step for lineage in lineages for step in lineage.values()):
        known = steps.get(step.branch)
        steps[step.branch] = step if known is None else _further(known, step)
    return steps


def _further(one: Step, other: Step) -> Step:
    until = None if one.until is None or other.until is None else max(one.until, other.until)
    return Step(one.branch, min(one.distance, other.distance), until)


def lineage_for(
    request: AssemblyRequest,
    *,
    forks: Mapping[str, Fork],
    parents: Mapping[str, tuple[str, Point]],
    depth: int,
) -> dict[str, Step]:
    """Give the lineage of a request (CA-10): its branch's, or for a `branch_send` that of its explicit parents.

    `parents` gives the branch and the place of each parent message that is there; what is on the new branch itself
    always counts.
    """
    if request.kind != "branch_send" or not request.parents:
        return lineage_of(request.branch, forks, depth=depth)
    places = [parents[name] for name in request.parents if name in parents]
    own = {request.branch: Step(request.branch, 0)}
    return joined(own, *(lineage_of(branch, forks, depth=depth, until=at) for branch, at in places))


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The graph at one position, as far as one request needs it.

    `candidates` get an outcome each. `counted` are others that a store excluded without reading them, by reason.
    `replacements` are no candidates: memories that replace one, looked at only to see whether they are admitted.
    `naive` is the size of the transcript that a naive host would send.
    """

    position: int
    candidates: tuple[Candidate, ...]
    lineage: Lineage
    participants: Mapping[str, Participant] = field(default_factory=dict[str, Participant])
    replacements: tuple[Candidate, ...] = ()
    counted: Mapping[Reason, int] = field(default_factory=dict[Reason, int])
    naive: Size = Size()
