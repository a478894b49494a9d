"""What retention may take, by class of context (CA-8b, CA-21); a sweep asks it, an assembly does not."""

from datetime import datetime

from lastro.assembly.records import TREATMENTS, ContinuationCheckpoint
from lastro.assembly.rules.situation import class_of, is_unresolved
from lastro.assembly.snapshot import Candidate


def may_prune(candidate: Candidate, *, as_of: datetime, is_needed: bool) -> bool:
    """Say whether retention may remove a record: past its end, of a class that may go, and needed by nothing.

    `is_needed`: an unresolved record, a live reference to a file or a memory that is kept depends on it.
    """
    if is_needed or is_unresolved(candidate):
        return False
    is_over = candidate.expires_at is not None and candidate.expires_at <= as_of
    resolved = isinstance(candidate.record, ContinuationCheckpoint)
    return is_over and (TREATMENTS[class_of(candidate)].pruned or resolved)
