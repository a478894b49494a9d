"""Rule 3: the branch of the request and its ancestors, each up to its fork (CA-2, CA-11)."""

from lastro.assembly.records import Message
from lastro.assembly.rules.situation import Omission, Situation, Standing, Verdict
from lastro.assembly.snapshot import Candidate


def is_shared(candidate: Candidate) -> bool:
    """Say whether a record was explicitly made the whole conversation's, on whatever branch it came to be.

    A message never is: what was said on another branch was not said on this one.
    """
    record = candidate.record
    if isinstance(record, Message):
        return False
    reach = [promotion.visibility for promotion in candidate.promotions if not promotion.participants]
    return "conversation" in (record.visibility, *reach)


def is_in_lineage(candidate: Candidate, situation: Situation) -> bool:
    """Say whether a record stands on the lineage, not behind the fork of its branch."""
    step = situation.snapshot.lineage.get(candidate.record.branch)
    return step is not None and step.holds(candidate.placed)


def lineage(candidate: Candidate, standing: Standing, situation: Situation) -> Verdict:
    """Leave out what is of another branch, or behind the fork, unless it is shared."""
    if is_in_lineage(candidate, situation) or is_shared(candidate):
        return standing
    return Omission("other_branch")
