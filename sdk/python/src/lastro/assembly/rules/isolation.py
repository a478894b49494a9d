"""Rule 5: what is isolated although it would be visible (CA-2), and what of others a kind of run lets in (CA-10)."""

from lastro.assembly.records import Message
from lastro.assembly.rules.situation import (
    Omission,
    Situation,
    Standing,
    Verdict,
    is_of_viewer,
    is_own,
    is_promoted,
    is_report,
)
from lastro.assembly.snapshot import Candidate


def isolation(candidate: Candidate, standing: Standing, situation: Situation) -> Verdict:
    """Leave out what an isolated participant or run keeps; a promotion lifts it. `multi_model` hears, sees no more."""
    if is_promoted(candidate, situation) or is_report(candidate, situation):
        return standing
    kept_by = _keeper(candidate, situation)
    return Omission("isolated", kept_by) if kept_by else standing


def _keeper(candidate: Candidate, situation: Situation) -> str:
    record = candidate.record
    if record.isolation == "run" and not is_own(candidate, situation):
        return "run"
    if is_of_viewer(candidate, situation):
        return ""
    if record.isolation == "participant":
        return "participant"
    is_said = isinstance(record, Message)
    return "multi_model" if situation.request.kind == "multi_model" and not is_said else ""
