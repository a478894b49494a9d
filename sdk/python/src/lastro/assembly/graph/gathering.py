"""The order in which candidates are gathered, and where it ends (CA-11)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lastro.assembly.policy import Policy
from lastro.assembly.records import (
    Message,
    RunFinished,
    ToolArtifact,
    ToolMemory,
)
from lastro.assembly.rules.lineage import is_shared
from lastro.assembly.rules.situation import is_unresolved
from lastro.assembly.snapshot import (
    AssemblyRequest,
    Candidate,
    Lineage,
    Reason,
)


@dataclass(frozen=True, slots=True)
class Ranks:
    """The order in which candidates are gathered: what is named or protected, recent messages, memories, the rest."""

    request: AssemblyRequest
    policy: Policy
    lineage: Lineage
    found: Sequence[Candidate]
    named: frozenset[str]

    def parted(self) -> tuple[list[Candidate], list[Candidate]]:
        """Part those within the policy's bound from those beyond; what is named or protected is always within."""
        recent = self._recent()
        ranked = sorted(self.found, key=lambda one: (self._group(one, recent), *self._within(one)))
        always = sum(self._group(one, recent) == 0 for one in ranked)
        bound = max(self.policy.candidates, always)
        return ranked[:bound], ranked[bound:]

    def counted(self, beyond: Iterable[Candidate]) -> dict[Reason, int]:
        """Count what lies beyond, by its reason."""
        counts: dict[Reason, int] = {}
        for one in beyond:
            of_ours = self.is_of_lineage(one) or is_shared(one)
            reason: Reason = "candidate_limit" if of_ours else "other_branch"
            counts[reason] = counts.get(reason, 0) + 1
        return counts

    def is_of_lineage(self, one: Candidate) -> bool:
        step = self.lineage.get(one.record.branch)
        return step is not None and step.holds(one.placed)

    def _recent(self) -> frozenset[str]:
        said = [
            one
            for one in self.found
            if isinstance(one.record, Message) and self.is_of_lineage(one) and self._reaches(one)
        ]
        said.sort(key=lambda one: one.placed, reverse=True)
        return frozenset(one.record.id for one in said[: self.policy.recent_messages + 1])

    def _group(self, one: Candidate, recent: frozenset[str]) -> int:
        of_ours = self.is_of_lineage(one) or is_shared(one)
        if not of_ours or not self._reaches(one):
            return 5
        if one.record.id in self.named or is_unresolved(one):
            return 0
        if isinstance(one.record, Message):
            return 1 if one.record.id in recent else 4
        if isinstance(one.record, ToolArtifact) and one.record.run != self.request.run:
            return 4
        return 2 if self.is_of_lineage(one) else 3

    def _reaches(self, one: Candidate) -> bool:
        """Say whether a record could be the viewer's to see, as a query can ask it; the rules say it for good."""
        record = one.record
        is_open = record.visibility in ("branch", "conversation") or bool(one.promotions)
        of_viewer = record.participant in (None, self.request.participant)
        is_child = isinstance(record, RunFinished) and self.request.kind == "parent_resume"
        return is_open or of_viewer or is_child or self.request.participant in record.shared_with

    def _within(self, one: Candidate) -> tuple[int, float, str, str]:
        step = self.lineage.get(one.record.branch)
        seen = one.record.observed_at if isinstance(one.record, ToolMemory) else one.record.recorded_at
        far = len(self.lineage) + 1
        return (step.distance if step else far, -seen.timestamp(), one.record.id, one.record.wire)
