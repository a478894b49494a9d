"""Rules 9 and 10: replaced records, and the two sides of an open conflict (CA-13)."""

from dataclasses import replace

from lastro.assembly.records import Reference, ToolMemory
from lastro.assembly.rules.situation import Omission, Situation, Standing, Verdict
from lastro.assembly.snapshot import Candidate


def supersession(candidate: Candidate, standing: Standing, situation: Situation) -> Verdict:
    """Leave out what is replaced by a record that is itself admitted in this lineage and visible here."""
    replacement = _replacement(candidate, situation)
    return Omission("superseded", replacement) if replacement else standing


def contradiction(candidate: Candidate, standing: Standing, situation: Situation) -> Verdict:
    """Show both sides of an open conflict, each marked with the other that stands; recency decides nothing."""
    others = [Reference(ToolMemory.wire, other) for other in candidate.conflicts]
    shown = tuple(sorted(other.id for other in others if _stands(other, situation)))
    return replace(standing, conflicts=shown)


def _stands(reference: Reference, situation: Situation) -> bool:
    other = situation.known.get(reference)
    return other is not None and situation.is_admitted(reference) and not _replacement(other, situation)


def _replacement(candidate: Candidate, situation: Situation) -> str:
    names = (Reference(candidate.record.wire, id) for id in candidate.replaced_by)
    return next((name.id for name in names if situation.is_admitted(name)), "")
