"""Rules 12 and 13: what recovery needs is protected (CA-12), and raw content enters only where it is needed (CA-11)."""

from dataclasses import replace

from lastro.assembly.records import TREATMENTS, ContinuationCheckpoint, ToolArtifact, ToolCall, ToolMemory
from lastro.assembly.rules.promotion import is_waited_for
from lastro.assembly.rules.situation import (
    Omission,
    Situation,
    Standing,
    Verdict,
    class_of,
    is_needed_exact,
    is_own,
    is_recovery,
)
from lastro.assembly.snapshot import Candidate


def recovery_protection(candidate: Candidate, standing: Standing, situation: Situation) -> Verdict:
    """Protect what is unresolved, and the checkpoint of a resume: no budget leaves it out."""
    if is_recovery(candidate, situation):
        return replace(standing, form="recovery", protected=True)
    if candidate.record.id == situation.request.answers and standing.form == "message":
        return replace(standing, protected=True)
    return standing


def need_of_raw(candidate: Candidate, standing: Standing, situation: Situation) -> Verdict:
    """Leave out raw content that nothing needs; bring back what is needed, as far as its class may leave."""
    if standing.form == "recovery":
        return standing
    record = candidate.record
    if isinstance(record, ToolArtifact | ContinuationCheckpoint | ToolCall):
        return standing if _is_needed(candidate, situation) else Omission("not_needed_raw")
    is_excerpt = isinstance(record, ToolMemory) and standing.form == "memory" and bool(record.locators)
    if (
        is_excerpt
        and _may_be_raw(candidate)
        and standing.allowed == "raw"
        and is_needed_exact(candidate, situation)
    ):
        return replace(standing, form="raw")
    return standing


def _may_be_raw(candidate: Candidate) -> bool:
    """Say whether the class of context lets a record be brought back raw (CA-8b)."""
    return TREATMENTS[class_of(candidate)].brought_back_raw


def _is_needed(candidate: Candidate, situation: Situation) -> bool:
    """Say whether an artifact is asked for by name, waited for, or current: of its own run, and of the last round
    or such that no memory stands for it yet.
    """
    if not isinstance(candidate.record, ToolArtifact) or not _may_be_raw(candidate):
        return False
    if is_needed_exact(candidate, situation) or is_waited_for(candidate, situation):
        return True
    return is_own(candidate, situation) and (not candidate.is_remembered or _is_latest(candidate, situation))


def _is_latest(candidate: Candidate, situation: Situation) -> bool:
    latest = situation.latest_round
    return latest is not None and candidate.call is not None and candidate.call.round == latest
