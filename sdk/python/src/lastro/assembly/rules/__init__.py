"""The rules of an assembly, each a function, in the order of CA-11, which is also the order of omission reasons."""

from collections.abc import Callable, Mapping

from lastro.assembly.records import (
    ContinuationCheckpoint,
    Message,
    RunFinished,
    SkillState,
    ToolArtifact,
    ToolCall,
    ToolMemory,
)
from lastro.assembly.rules.existence import retention, workspace_and_erasure
from lastro.assembly.rules.freshness import freshness
from lastro.assembly.rules.isolation import isolation
from lastro.assembly.rules.lineage import lineage
from lastro.assembly.rules.privacy import privacy_and_route
from lastro.assembly.rules.promotion import promotion
from lastro.assembly.rules.provenance import provenance
from lastro.assembly.rules.recovery import need_of_raw, recovery_protection
from lastro.assembly.rules.situation import Omission, Situation, Standing, Verdict
from lastro.assembly.rules.supersession import contradiction, supersession
from lastro.assembly.rules.visibility import visibility
from lastro.assembly.snapshot import Candidate, Form

Rule = Callable[[Candidate, Standing, Situation], Verdict]

ADMISSION: tuple[tuple[str, Rule], ...] = (
    ("workspace_and_erasure", workspace_and_erasure),
    ("retention", retention),
    ("lineage", lineage),
    ("visibility", visibility),
    ("isolation", isolation),
    ("promotion", promotion),
    ("privacy_and_route", privacy_and_route),
    ("provenance", provenance),
)
RULES: tuple[tuple[str, Rule], ...] = (
    *ADMISSION,
    ("supersession", supersession),
    ("contradiction", contradiction),
    ("freshness", freshness),
    ("recovery_protection", recovery_protection),
    ("need_of_raw", need_of_raw),
)
"""All but the last one, the budget, which weighs what these leave against each other."""

_FORMS: Mapping[type[object], Form] = {
    Message: "message",
    ToolMemory: "memory",
    RunFinished: "memory",
    SkillState: "skill",
    ToolArtifact: "raw",
    ToolCall: "raw",
    ContinuationCheckpoint: "raw",
}


def own_form(candidate: Candidate) -> Form:
    """Give the form in which a record would be shown if no rule said otherwise."""
    return _FORMS[type(candidate.record)]


def verdicts(
    candidate: Candidate, situation: Situation, rules: tuple[tuple[str, Rule], ...] = RULES
) -> list[tuple[str, Verdict]]:
    """Give what each rule said of a candidate, up to the first that left it out."""
    standing = Standing(own_form(candidate))
    said: list[tuple[str, Verdict]] = []
    for name, rule in rules:
        verdict = rule(candidate, standing, situation)
        said.append((name, verdict))
        if isinstance(verdict, Omission):
            break
        standing = verdict
    return said


def verdict_of(candidate: Candidate, situation: Situation) -> Verdict:
    """Give what the rules before the budget make of a candidate."""
    return verdicts(candidate, situation)[-1][1]


def admits(candidate: Candidate, situation: Situation) -> bool:
    """Say whether a record passes every rule before supersession, as a fact and not as a marker (CA-13)."""
    last = verdicts(candidate, situation, ADMISSION)[-1][1]
    return isinstance(last, Standing) and last.form != "stale_marker"
