"""What an assembly answers and keeps: outcomes, their order, counts, sizes, a digest (CA-15, CA-16)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from lastro.assembly.records import Reference
from lastro.assembly.rules.situation import Omission, Standing, Verdict
from lastro.assembly.snapshot import Candidate, Form, Reason, Size

ASSEMBLER_VERSION = "1"
"""Changes whenever the same graph, policy and request could be decided otherwise (CA-17, CA-18)."""


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """A rule that changed what would have happened: its name, the policy, its outcome, of what (CA-1, CA-5)."""

    rule: str
    policy: str
    version: int
    outcome: str
    references: tuple[Reference, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """The one outcome of a candidate (CA-15)."""

    candidate: Candidate
    verdict: Verdict

    @property
    def reference(self) -> Reference:
        """Name the record."""
        return self.candidate.reference

    @property
    def form(self) -> Form | None:
        """Give the form in which it is shown, None where it is left out."""
        return self.verdict.form if isinstance(self.verdict, Standing) else None

    @property
    def reason(self) -> Reason | None:
        """Give the reason for which it is left out, None where it is shown."""
        return self.verdict.reason if isinstance(self.verdict, Omission) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """One assembled context (CA-16).

    `selected` is in the order in which it is shown; `omitted` counts by reason what was left out, other branches in
    `branch_exclusions` beside it; `considered` is the sum of all. `naive` and `assembled` are sizes. `contents` are the
    raw payloads that were read, by reference.
    """

    policy: str
    policy_version: int
    assembler: str = ASSEMBLER_VERSION
    position: int
    as_of: str
    selected: tuple[Decision, ...]
    decisions: tuple[Decision, ...]
    omitted: Mapping[Reason, int]
    branch_exclusions: int
    considered: int
    naive: Size
    assembled: Size
    digest: str
    policy_decisions: tuple[PolicyDecision, ...] = ()
    contents: Mapping[Reference, bytes] = field(default_factory=dict[Reference, bytes], repr=False)


@dataclass(frozen=True, slots=True)
class RuleSaid:
    """What one rule said of a record: `passed`, or the reason for which it left it out; and the form from there on."""

    rule: str
    outcome: str
    form: Form | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a model saw a record, or did not (CA-17): the outcome, and what each rule said on the way to it.

    `absent`: the record is not in the graph at that position, or was excluded without being read.
    """

    reference: Reference
    outcome: Literal["included", "omitted", "absent"]
    form: Form | None = None
    reason: Reason | None = None
    rules: tuple[RuleSaid, ...] = ()
