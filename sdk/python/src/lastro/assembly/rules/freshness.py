"""Rule 11: a stale memory is never a present fact (CA-8)."""

from dataclasses import replace

from lastro.assembly.policy import when_stale
from lastro.assembly.records import SkillState, ToolMemory
from lastro.assembly.records.classes import MUST_GO_STALE
from lastro.assembly.rules.situation import Omission, Situation, Standing, Verdict, is_needed_exact, is_own
from lastro.assembly.snapshot import Candidate


def freshness(candidate: Candidate, standing: Standing, situation: Situation) -> Verdict:
    """Mark what is stale, or leave it out, as the policy says; what a skill's run left behind ended with it."""
    record = candidate.record
    if isinstance(record, SkillState):
        return standing if _is_loaded(candidate, record, situation) else Omission("expired", "run")
    if not isinstance(record, ToolMemory) or standing.form != "memory":
        return standing
    if not is_stale(record, situation):
        return standing
    if is_needed_exact(candidate, situation) and record.locators and standing.allowed == "raw":
        return replace(standing, stale="stale_after")
    if when_stale(situation.policy, record.freshness) == "omit":
        return Omission("stale", record.freshness)
    return replace(standing, form="stale_marker", stale="stale_after")


def is_stale(memory: ToolMemory, situation: Situation) -> bool:
    """Say whether a memory's time is over. What must go stale and says no time is stale from the beginning."""
    if memory.freshness == "permanent":
        return False
    if memory.stale_after is None:
        return memory.freshness in MUST_GO_STALE
    return memory.stale_after <= situation.request.as_of


def _is_loaded(candidate: Candidate, state: SkillState, situation: Situation) -> bool:
    loaded = any(skill.name in situation.request.skills for skill in state.skills)
    return is_own(candidate, situation) or loaded
