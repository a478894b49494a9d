"""What the rules of one assembly know beside the candidate: the request, the policy, and what follows from both."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from lastro.assembly.policy import Allowed, Policy
from lastro.assembly.records import (
    ContextClass,
    ContinuationCheckpoint,
    Message,
    Promotion,
    Reference,
    RunFinished,
    SkillState,
    ToolArtifact,
    ToolCall,
    ToolMemory,
)
from lastro.assembly.snapshot import AssemblyRequest, Candidate, Form, Reason, Snapshot


@dataclass(frozen=True, slots=True)
class Omission:
    """A candidate is left out: the reason of the closed list, and what of it decided, without content (CA-15)."""

    reason: Reason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a candidate stands after some rules: in which form it would be shown.

    `allowed` is what its privacy class may leave as; `lowered` the rule that made it less strict; `stale` says why it
    is no present fact; `protected`: it is never left out for a budget.
    """

    form: Form
    allowed: Allowed = "raw"
    lowered: str = ""
    stale: str = ""
    protected: bool = False
    conflicts: tuple[str, ...] = ()
    repaired: int = 0


Verdict = Standing | Omission


@dataclass(frozen=True)
class Situation:
    """One assembly, as its rules see it."""

    request: AssemblyRequest
    snapshot: Snapshot
    policy: Policy
    admits: "Callable[[Candidate, Situation], bool]"

    @cached_property
    def known(self) -> Mapping[Reference, Candidate]:
        """Give candidates and replacements by their names."""
        both = (*self.snapshot.replacements, *self.snapshot.candidates)
        return {candidate.reference: candidate for candidate in both}

    @cached_property
    def checkpoint(self) -> ContinuationCheckpoint | None:
        """Give the checkpoint of the request, if it is there."""
        name = Reference(ContinuationCheckpoint.wire, self.request.checkpoint or "")
        found = self.known.get(name)
        return found.record if found and isinstance(found.record, ContinuationCheckpoint) else None

    @cached_property
    def own_runs(self) -> frozenset[str]:
        """Give the runs that this context is for: the request's, and the one that a resume goes on with."""
        resumed = self.checkpoint.run if self.checkpoint else None
        return frozenset(run for run in (self.request.run, resumed) if run)

    @cached_property
    def latest_round(self) -> int | None:
        """Give the number of the current run's last response that asked for calls, None where none is numbered."""
        calls = (
            candidate.record if isinstance(candidate.record, ToolCall) else candidate.call
            for candidate in self.snapshot.candidates
            if is_own(candidate, self)
        )
        return max((call.round for call in calls if call and call.round is not None), default=None)

    @cached_property
    def _admitted(self) -> dict[Reference, bool]:
        return {}

    def is_admitted(self, reference: Reference) -> bool:
        """Say whether a record is there and passes every rule before supersession (CA-13)."""
        if reference not in self._admitted:
            found = self.known.get(reference)
            self._admitted[reference] = found is not None and self.admits(found, self)
        return self._admitted[reference]


def is_own(candidate: Candidate, situation: Situation) -> bool:
    """Say whether a record was made by the run that this context is for."""
    return candidate.record.run in situation.own_runs


def is_of_viewer(candidate: Candidate, situation: Situation) -> bool:
    """Say whether a record is its viewer's: of the participant, or of one that nobody but the run owns."""
    record = candidate.record
    if record.participant is None:
        return is_own(candidate, situation)
    return record.participant == situation.request.participant


def is_unresolved(candidate: Candidate) -> bool:
    """Say whether a record is recovery state: a call or failure that still needs care (CA-12)."""
    record = candidate.record
    if isinstance(record, ToolArtifact):
        return record.status != "succeeded" and not candidate.is_resolved
    if isinstance(record, RunFinished):
        return record.status != "succeeded" and not candidate.is_resolved
    return isinstance(record, ToolCall) and not candidate.is_resolved


def is_recovery(candidate: Candidate, situation: Situation) -> bool:
    """Say whether no age, class or size leaves a record out: unresolved, or the checkpoint of the resume."""
    return is_unresolved(candidate) or candidate.record is situation.checkpoint


def class_of(candidate: Candidate) -> ContextClass:
    """Give the class of context of a record (CA-8b); what is unresolved is recovery, whatever it is besides."""
    record = candidate.record
    if is_unresolved(candidate) or isinstance(record, ContinuationCheckpoint):
        return "recovery"
    if isinstance(record, Message):
        return "conversational"
    if isinstance(record, SkillState):
        return "planning"
    return record.context if isinstance(record, ToolArtifact | ToolMemory) else "operational"


def is_needed_exact(candidate: Candidate, situation: Situation) -> bool:
    """Say whether the request asks for the exact content of a record."""
    return candidate.record.id in situation.request.need_exact


def is_report(candidate: Candidate, situation: Situation) -> bool:
    """Say whether a record is the final state of a child of the run that resumes (CA-6)."""
    record = candidate.record
    return (
        situation.request.kind == "parent_resume"
        and isinstance(record, RunFinished)
        and record.parent_run in situation.own_runs
    )


def shows(promotion: Promotion, situation: Situation) -> bool:
    """Say whether a promotion reaches the viewer: named, or by a visibility that everybody of the branch shares."""
    if promotion.participants:
        return situation.request.participant in promotion.participants
    return promotion.visibility in ("branch", "conversation")


def is_promoted(candidate: Candidate, situation: Situation) -> bool:
    """Say whether a record was explicitly promoted to the viewer."""
    return any(shows(promotion, situation) for promotion in candidate.promotions)
