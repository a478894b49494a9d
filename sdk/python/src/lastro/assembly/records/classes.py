"""The closed lists of the graph: visibility, privacy, freshness, context and what follows from each (CA-6 to CA-8b)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Visibility = Literal["participant", "branch", "conversation", "audit"]
Isolation = Literal["shared", "participant", "run"]
Privacy = Literal["public", "internal", "personal", "oauth", "secret"]
Freshness = Literal["volatile", "session", "bounded", "durable", "permanent"]
Status = Literal["succeeded", "failed", "pending", "deferred"]
RuntimeKind = Literal[
    "chat", "multi_model", "autonomous", "subagent_child", "parent_resume", "scheduled", "branch_send"
]
ContextClass = Literal[
    "conversational", "operational", "epistemic", "provenance", "policy", "recovery", "planning"
]

STRICTNESS: Mapping[str, int] = {name: rank for rank, name in enumerate(get_args(Privacy))}
STRICTEST: Privacy = "secret"
MUST_GO_STALE = frozenset({"volatile", "bounded"})


def strictness(privacy: str) -> int:
    """Rank a privacy class; one that is not known counts as the strictest (CA-7)."""
    return STRICTNESS.get(privacy, STRICTNESS[STRICTEST])


def strictest(*classes: str) -> Privacy:
    """Give the strictest of some privacy classes (CA-5, CA-7); of none, `public`."""
    names: tuple[Privacy, ...] = get_args(Privacy)
    return names[max(map(strictness, classes), default=0)]


@dataclass(frozen=True, slots=True)
class Treatment:
    """What may happen to a record of one class of context (CA-8b)."""

    windowed: bool
    summarized: bool
    pruned: bool
    brought_back_raw: bool


TREATMENTS: Mapping[ContextClass, Treatment] = {
    "conversational": Treatment(windowed=True, summarized=True, pruned=False, brought_back_raw=False),
    "operational": Treatment(windowed=False, summarized=True, pruned=True, brought_back_raw=True),
    "epistemic": Treatment(windowed=True, summarized=True, pruned=True, brought_back_raw=True),
    "provenance": Treatment(windowed=False, summarized=False, pruned=True, brought_back_raw=True),
    "policy": Treatment(windowed=False, summarized=False, pruned=False, brought_back_raw=False),
    "recovery": Treatment(windowed=False, summarized=False, pruned=False, brought_back_raw=True),
    "planning": Treatment(windowed=True, summarized=False, pruned=True, brought_back_raw=False),
}
"""`pruned` is by retention, while nothing unresolved or living depends on it (CA-21); of planning, after its run."""
