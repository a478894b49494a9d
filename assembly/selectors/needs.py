"""What of a graph is needed, so that no sweep takes it though its time is over (CA-12, CA-21)."""

from django.db.models import Exists, OuterRef, Q, QuerySet

from assembly.models import GraphRecord, Link

CALL, ARTIFACT, MEMORY = "tool_call", "tool_artifact", "tool_memory"
CHECKPOINT, FINISHED, MESSAGE = "checkpoint", "run_finished", "message"

UNRESOLVED = Q(kind=CALL, settled_at=None, taken_up_at=None) | Q(
    kind__in=(ARTIFACT, FINISHED), settled_at=None
)
"""Recovery state that still needs care, by what stands in clear (CA-12)."""


def unneeded(rows: QuerySet[GraphRecord]) -> QuerySet[GraphRecord]:
    """Keep those of some artifacts and memories that are resolved and that nothing else needs (CA-21).

    Needed by a memory that is kept, by what is unresolved, or by a checkpoint whose run may still go on.
    """
    named = Link.objects.filter(target=OuterRef("id"), record__erasure_id=None)
    by_memory = named.filter(record__kind=MEMORY, member__in=("artifacts", "depends_on"))
    by_recovery = named.filter(record__in=GraphRecord.objects.filter(UNRESOLVED))
    waiting = _waiting_checkpoints()
    by_checkpoint = named.filter(record__in=waiting)
    waited = Link.objects.filter(record__in=waiting, member="waits_for").values("target_id")
    calls = Link.objects.filter(record=OuterRef("id"), member="call", target__in=waited)
    needed = Exists(by_memory) | Exists(by_recovery) | Exists(by_checkpoint) | Exists(calls)
    return rows.exclude(UNRESOLVED).filter(~needed)


def unresolved(**graph: object) -> QuerySet[GraphRecord]:
    """List what is unresolved in a graph."""
    return GraphRecord.objects.filter(UNRESOLVED, erasure_id=None, **graph)


def _waiting_checkpoints() -> QuerySet[GraphRecord]:
    """List the checkpoints whose run has not finished."""
    ends = GraphRecord.objects.filter(
        kind=FINISHED, erasure_id=None, graph=OuterRef("graph"), run=OuterRef("run")
    )
    return GraphRecord.objects.filter(~Exists(ends), kind=CHECKPOINT, erasure_id=None)
