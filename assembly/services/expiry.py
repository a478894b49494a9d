"""Letting a graph and its records follow another retention than the one they were stored under (CA-21)."""

from datetime import timedelta

from django.db.models import Case, DurationField, F, Q, Value, When
from django.db.models.functions import Least

from assembly.models import Graph, GraphRecord
from assembly.selectors.needs import ARTIFACT, MEMORY
from assembly.types import Bounds


def settle(graph: Graph, bounds: Bounds) -> None:
    """Let a locked graph end by the live retention, where that is sooner: nothing that was stored gets more time."""
    ends_at = graph.touched_at + timedelta(seconds=bounds.graph_seconds)
    graph.due_at, graph.retention_document = min(graph.due_at, ends_at), bounds.document
    graph.save(update_fields=["due_at", "retention_document"])
    timed = GraphRecord.objects.filter(graph=graph, expires_at__isnull=False, recorded_at__isnull=False)
    timed.update(expires_at=Least(F("expires_at"), F("recorded_at") + _kept_for(bounds)))


def _kept_for(bounds: Bounds) -> Case:
    """Say how long each retention class is kept."""
    by_class = {
        **{Q(kind=MEMORY, state=name): seconds for name, seconds in bounds.memories.items()},
        Q(kind=ARTIFACT, visibility="audit"): bounds.artifacts["audit"],
        Q(kind=ARTIFACT, state="succeeded"): bounds.artifacts["succeeded"],
    }
    whens = [When(rule, then=Value(timedelta(seconds=seconds))) for rule, seconds in by_class.items()]
    failed = Value(timedelta(seconds=bounds.artifacts["failed"]))
    return Case(*whens, default=failed, output_field=DurationField())
