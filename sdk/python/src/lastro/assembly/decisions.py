"""The decisions of a policy in one assembly, told by rule and outcome: what the server keeps of them (CA-1, CA-5)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from lastro.assembly.policy import Policy
from lastro.assembly.records import Reference
from lastro.assembly.results import Decision, PolicyDecision
from lastro.assembly.rules.situation import Standing
from lastro.assembly.snapshot import Reason

RULE_OF: Mapping[Reason, str] = {
    "erased": "workspace_and_erasure",
    "expired": "retention",
    "other_branch": "lineage",
    "not_visible": "visibility",
    "isolated": "isolation",
    "not_promoted": "promotion",
    "privacy_route": "privacy_and_route",
    "broken_provenance": "provenance",
    "superseded": "supersession",
    "stale": "freshness",
    "not_needed_raw": "need_of_raw",
    "over_budget": "budget",
    "candidate_limit": "gathering",
}


def policy_decisions(decisions: Iterable[Decision], policy: Policy) -> tuple[PolicyDecision, ...]:
    """Give what the policy brought about, one for each rule and outcome, with the records that it is about."""
    found: defaultdict[tuple[str, str], list[Reference]] = defaultdict(list)
    for decision in decisions:
        for rule, outcome in _told(decision):
            found[rule, outcome].append(decision.reference)
    return tuple(
        PolicyDecision(rule, policy.name, policy.version, outcome, tuple(sorted(references)))
        for (rule, outcome), references in sorted(found.items())
    )


def _told(decision: Decision) -> Iterator[tuple[str, str]]:
    if decision.reason:
        yield RULE_OF[decision.reason], decision.reason
    if isinstance(decision.verdict, Standing):
        yield from _changed(decision.verdict)


def _changed(standing: Standing) -> Iterator[tuple[str, str]]:
    """Give what rules made of a record that is shown, other than showing it as it is."""
    by_form = {
        "hint": "privacy_and_route",
        "raw": "need_of_raw",
        "recovery": "recovery_protection",
        "stale_marker": "provenance" if standing.stale == "broken_provenance" else "freshness",
    }
    if standing.form in by_form:
        yield by_form[standing.form], standing.form
    if standing.lowered:
        yield "lower_privacy", standing.lowered
    if standing.conflicts:
        yield "contradiction", "shown_as_conflicting"
    if standing.repaired:
        yield "provenance", "repaired"
