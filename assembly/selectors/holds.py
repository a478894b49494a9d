"""Which graphs a legal hold keeps: as they stand, since nothing of them is kept apart (PR-16)."""

from collections.abc import Collection
from datetime import datetime

from django.db.models import BooleanField, Exists, F, Func, OuterRef, Q, QuerySet, UUIDField, Value

from assembly.models import Graph, GraphPerson, GraphRecord
from workspaces import barriers
from workspaces.models import Hold


class _HoldsOn(Func):
    """Whether a hold keeps a conversation that names nobody here: another app may say whom it names."""

    template = "EXISTS (SELECT FROM lastro_holds_on(%(expressions)s))"
    output_field = BooleanField()


def free(rows: QuerySet[Graph], *, now: datetime) -> QuerySet[Graph]:
    """Leave out the graphs that a standing hold keeps: of the conversation, or of anybody whom it names."""
    holds = barriers.standing_holds(now)
    if not holds.exists():
        return rows
    named = GraphPerson.objects.filter(graph=OuterRef("id"))
    theirs = named.filter(handle__profile_id__in=holds.filter(profile_id__isnull=False).values("profile_id"))
    scopes = holds.filter(scope_hash__isnull=False).values("scope_hash")
    of_nobody = ~Exists(named) & Q(_on_conversation())
    return rows.exclude(Exists(theirs) | Q(conversation_hash__in=scopes) | of_nobody)


def held_graphs(hold: Hold, scopes: Collection[bytes]) -> QuerySet[Graph]:
    """List the graphs that a hold is on: of a person also those that name nobody in their conversations."""
    kept = Graph.objects.filter(life=Graph.Life.LIVE)
    if hold.profile_id is None:
        return kept.filter(conversation_hash=hold.scope_hash)
    named = GraphPerson.objects.filter(graph=OuterRef("id"))
    nobodys = ~Exists(named) & Q(conversation_hash__in=scopes)
    return kept.filter(Exists(named.filter(handle__profile_id=hold.profile_id)) | nobodys)


def is_being_erased(hold: Hold) -> bool:
    """Tell whether an erasure has begun on a graph that a hold would be on, or on records in it."""
    on_it = held_graphs(hold, ())
    marked = GraphRecord.objects.filter(graph__in=on_it, erasure_id__isnull=False)
    return on_it.filter(erasure_id__isnull=False).exists() or marked.exists()


def _on_conversation() -> _HoldsOn:
    nobody = Value(None, output_field=UUIDField())
    return _HoldsOn(F("workspace_id"), Value("conversation"), F("conversation_hash"), nobody)
