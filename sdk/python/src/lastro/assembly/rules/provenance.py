"""Rule 8: whether a memory's locators still point at what they pointed at (CA-14)."""

from dataclasses import replace

from lastro.assembly.locators import MAX_ATTEMPTS, repaired
from lastro.assembly.policy import when_stale
from lastro.assembly.records import ToolMemory
from lastro.assembly.rules.situation import Omission, Situation, Standing, Verdict
from lastro.assembly.snapshot import Candidate, Provenance, Reader


def provenance(candidate: Candidate, standing: Standing, situation: Situation) -> Verdict:
    """Mark a memory stale whose evidence is not where it says, nor anywhere in its artifact; or leave it out.

    A repair counts that took no more attempts than the policy gives, those before it included.
    """
    record = candidate.record
    if not isinstance(record, ToolMemory) or not record.locators or standing.form == "hint":
        return standing
    found = candidate.provenance
    spent = found.attempts + (record.repair_attempts if found.attempts else 0)
    if found.state in ("intact", "repaired") and spent <= situation.policy.repair_attempts:
        return replace(standing, repaired=found.attempts)
    if when_stale(situation.policy, record.freshness) == "omit":
        return Omission("broken_provenance", found.state)
    return replace(standing, form="stale_marker", stale="broken_provenance")


def provenance_of(memory: ToolMemory, *, read: Reader) -> Provenance:
    """Check a memory's locators against its artifacts, for a store to keep beside it (CA-14).

    To be asked when the memory or a payload of its artifacts is recorded, so that an assembly reads none for it.
    """
    if not memory.locators:
        return Provenance("intact")
    repairs = [
        repaired(locator, payload, attempts=MAX_ATTEMPTS)
        for locator in memory.locators
        if (payload := read(locator.artifact)) is not None
    ]
    states = {repair.state for repair in repairs}
    attempts = max((repair.attempts for repair in repairs), default=0)
    if len(repairs) < len(memory.locators):
        return Provenance("broken" if "broken" in states else "unchecked", attempts)
    return Provenance(next(state for state in ("broken", "repaired", "intact") if state in states), attempts)
