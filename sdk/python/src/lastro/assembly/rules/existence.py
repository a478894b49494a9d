"""Rules 1 and 2: what is erased, another workspace's, or past its retention (CA-11, CA-21)."""

from lastro.assembly.records import ToolMemory
from lastro.assembly.rules.situation import Omission, Situation, Standing, Verdict, is_recovery
from lastro.assembly.snapshot import Candidate


def workspace_and_erasure(candidate: Candidate, standing: Standing, situation: Situation) -> Verdict:
    """Leave out what is erased, what derives from it, and what is another workspace's: one answer for all."""
    if candidate.is_erased or candidate.workspace != situation.request.workspace:
        return Omission("erased")
    if isinstance(candidate.record, ToolMemory) and any(source.is_erased for source in candidate.sources):
        return Omission("erased", "source")
    return standing


def retention(candidate: Candidate, standing: Standing, situation: Situation) -> Verdict:
    """Leave out what is past its retention, but nothing that recovery needs (CA-12)."""
    ends = candidate.expires_at
    if ends is not None and ends <= situation.request.as_of and not is_recovery(candidate, situation):
        return Omission("expired")
    return standing
