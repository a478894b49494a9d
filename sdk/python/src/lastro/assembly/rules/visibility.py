"""Rule 4: who may see a record at all (CA-6)."""

from lastro.assembly.records import Message
from lastro.assembly.rules.situation import (
    Omission,
    Situation,
    Standing,
    Verdict,
    is_of_viewer,
    is_promoted,
    is_report,
)
from lastro.assembly.snapshot import Candidate


def visibility(candidate: Candidate, standing: Standing, situation: Situation) -> Verdict:
    """Leave out what the viewer may not see: another's own, the audit's, another conversation's."""
    if candidate.record.conversation != situation.request.conversation:
        return Omission("not_visible", "conversation")
    if _may_see(candidate, situation):
        return standing
    return Omission("not_visible", _reach(candidate))


def _may_see(candidate: Candidate, situation: Situation) -> bool:
    if is_promoted(candidate, situation) or is_report(candidate, situation):
        return True
    reach = _reach(candidate)
    if reach == "participant":
        return is_of_viewer(candidate, situation) or _is_shared_with(candidate, situation)
    return reach in ("branch", "conversation")


def _is_shared_with(candidate: Candidate, situation: Situation) -> bool:
    return candidate.is_final and situation.request.participant in candidate.record.shared_with


def _reach(candidate: Candidate) -> str:
    record = candidate.record
    if isinstance(record, Message) and not candidate.is_final and record.visibility != "audit":
        return "participant"
    return record.visibility
