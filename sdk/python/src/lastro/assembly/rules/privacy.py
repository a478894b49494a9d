"""Rule 7: in which form a privacy class may leave on the route (CA-7), and what a task may not see (CA-10)."""

from dataclasses import replace

from lastro.assembly.policy import Allowed, Lowering, allowed
from lastro.assembly.records import Message, ToolArtifact, ToolMemory, strictest, strictness
from lastro.assembly.rules.situation import (
    Omission,
    Situation,
    Standing,
    Verdict,
    is_needed_exact,
    is_recovery,
)
from lastro.assembly.snapshot import Candidate

_LEVELS: tuple[Allowed, ...] = ("never", "hint", "memory", "raw")


def privacy_and_route(candidate: Candidate, standing: Standing, situation: Situation) -> Verdict:
    """Leave out what may not leave on this route, and say as what the rest may.

    Unresolved recovery state is shown by its bare status where its content may not leave (CA-12).
    """
    if _is_withheld_from_schedule(candidate, situation):
        return Omission("privacy_route", "scheduled")
    found, lowered = effective_privacy(candidate, situation)
    level = allowed(situation.policy, route=situation.request.route, privacy=found)
    if level == "never" and not is_recovery(candidate, situation):
        return Omission("privacy_route", found)
    stands = replace(standing, allowed=level, lowered=lowered)
    return stands if _LEVELS.index(level) >= _LEVELS.index(_least(candidate)) else _as_hint(candidate, stands)


def _least(candidate: Candidate) -> Allowed:
    return "raw" if isinstance(candidate.record, ToolArtifact) else "memory"


def effective_privacy(candidate: Candidate, situation: Situation) -> tuple[str, str]:
    """Give the class that counts, and the tool of the rule that lowered it: a memory's is at least its artifacts'."""
    record = candidate.record
    if not isinstance(record, ToolMemory):
        return strictest(record.privacy), ""
    rules = {rule.tool: rule for rule in situation.policy.lower_privacy}
    found = [(source.privacy, rules.get(source.tool)) for source in candidate.sources]
    lowered = [rule.tool for privacy, rule in found if rule and _lowers(rule, privacy)]
    classes = [rule.to if rule and _lowers(rule, privacy) else privacy for privacy, rule in found]
    return strictest(record.privacy, *classes), ",".join(sorted(set(lowered)))


def _lowers(rule: Lowering, privacy: str) -> bool:
    return rule.was == privacy and strictness(rule.to) < strictness(privacy)


def _as_hint(candidate: Candidate, standing: Standing) -> Verdict:
    if standing.form in ("memory", "raw"):
        return replace(standing, form="hint")
    if isinstance(candidate.record, Message):
        return Omission("privacy_route", "hint")
    return standing


def _is_answered(candidate: Candidate, situation: Situation) -> bool:
    return isinstance(candidate.record, Message) and candidate.record.id == situation.request.answers


def _is_withheld_from_schedule(candidate: Candidate, situation: Situation) -> bool:
    record, request = candidate.record, situation.request
    if (
        request.kind != "scheduled"
        or is_needed_exact(candidate, situation)
        or _is_answered(candidate, situation)
    ):
        return False
    who = situation.snapshot.participants.get(record.participant or "")
    is_persons = who is not None and who.kind == "person" and record.visibility == "participant"
    is_private = strictness(effective_privacy(candidate, situation)[0]) >= strictness("personal")
    return not is_recovery(candidate, situation) and (
        is_persons or (is_private and isinstance(record, ToolMemory | ToolArtifact))
    )
