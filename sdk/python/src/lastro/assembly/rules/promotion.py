"""Rule 6: a child's records without a promotion, and the narrow views of sub-agents and resumes (CA-6, CA-10)."""

from collections.abc import Callable, Mapping

from lastro.assembly.records import Message, ToolArtifact, ToolCall, ToolMemory
from lastro.assembly.rules.situation import (
    Omission,
    Situation,
    Standing,
    Verdict,
    is_needed_exact,
    is_own,
    is_promoted,
    is_report,
    is_unresolved,
)
from lastro.assembly.snapshot import Candidate


def promotion(candidate: Candidate, standing: Standing, situation: Situation) -> Verdict:
    """Leave out a child's record that nobody promoted, and what the kind of run is not to see."""
    if is_own(candidate, situation):
        return standing
    view = _VIEWS.get(situation.request.kind)
    if _is_kept_by_child(candidate, situation) or (view and not view(candidate, situation)):
        return Omission("not_promoted", situation.request.kind)
    return standing


def _is_kept_by_child(candidate: Candidate, situation: Situation) -> bool:
    if candidate.record.parent_run is None or is_report(candidate, situation):
        return False
    return not is_promoted(candidate, situation)


def _child_view(candidate: Candidate, situation: Situation) -> bool:
    """Show a child its task, and what was promoted to it by name: so a sibling's is not by being the branch's."""
    if candidate.record.id == situation.request.answers and isinstance(candidate.record, Message):
        return True
    viewer = situation.request.participant
    return any(viewer in promotion.participants for promotion in candidate.promotions)


def _resume_view(candidate: Candidate, situation: Situation) -> bool:
    """Show a resume its checkpoint, what that names, the children's, and what the request names: no blind query."""
    if is_report(candidate, situation) or _is_promoted_by_child(candidate, situation):
        return True
    return _is_named(candidate, situation) or is_needed_exact(candidate, situation)


def _is_promoted_by_child(candidate: Candidate, situation: Situation) -> bool:
    return candidate.record.parent_run in situation.own_runs and is_promoted(candidate, situation)


def _is_named(candidate: Candidate, situation: Situation) -> bool:
    record, checkpoint = candidate.record, situation.checkpoint
    if isinstance(record, Message):
        return record.id in (situation.request.answers, *(checkpoint.messages if checkpoint else ()))
    if checkpoint is None:
        return False
    if isinstance(record, ToolArtifact | ToolCall):
        return is_waited_for(candidate, situation) or is_unresolved(candidate)
    named = checkpoint.memories if isinstance(record, ToolMemory) else ()
    return record.id in named or record is checkpoint


def is_waited_for(candidate: Candidate, situation: Situation) -> bool:
    """Say whether a record is of a call that the checkpoint waits for."""
    record, checkpoint = candidate.record, situation.checkpoint
    if checkpoint is None or not isinstance(record, ToolArtifact | ToolCall):
        return False
    return (record.call if isinstance(record, ToolArtifact) else record.id) in checkpoint.waits_for


_VIEWS: Mapping[str, Callable[[Candidate, Situation], bool]] = {
    "subagent_child": _child_view,
    "parent_resume": _resume_view,
}
