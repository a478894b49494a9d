"""Which graphs an erasure covers, and what of those that name others too (PR-10)."""

from collections.abc import Collection, Sequence, Set
from uuid import UUID

from django.db.models import Q, QuerySet

from assembly.models import ContextAssembly, Graph, GraphPerson, GraphRecord, Link
from assembly.rules.derivation import Node, derived
from workspaces.models import Erasure

AT_ONCE = 2000


def covered(erasure: Erasure, *, alone: Collection[bytes]) -> QuerySet[Graph]:
    """List the graphs of which an erasure takes something."""
    return whole(erasure, alone=alone) | shared(erasure, alone=alone)


def whole(erasure: Erasure, *, alone: Collection[bytes]) -> QuerySet[Graph]:
    """List the graphs that an erasure takes whole.

    Of a conversation: its own. Of a person: of the conversations that name them and nobody else (`alone`).
    """
    scopes = alone if erasure.scope_hash is None else [erasure.scope_hash]
    return _kept().filter(conversation_hash__in=scopes)


def shared(erasure: Erasure, *, alone: Collection[bytes]) -> QuerySet[Graph]:
    """List the graphs that name an erased person, in conversations that name others too."""
    return naming(erasure.handle_ids).exclude(conversation_hash__in=alone)


def naming(handle_ids: Sequence[UUID]) -> QuerySet[Graph]:
    """List the graphs that name a person, as a subject or as a participant."""
    people = GraphPerson.objects.filter(handle_id__in=handle_ids)
    return _kept().filter(id__in=people.values("graph_id"))


def named_in(graphs: QuerySet[Graph]) -> QuerySet[GraphPerson]:
    """List whom some graphs name."""
    return GraphPerson.objects.filter(graph__in=graphs)


def scopes_naming(handle_ids: Sequence[UUID]) -> dict[bytes, UUID]:
    """Give the conversations whose graphs name a person: each keyed hash with the key that made it."""
    found = naming(handle_ids).values_list("conversation_hash", "conversation_key_id").distinct()
    return {bytes(scope): key for scope, key in found if scope is not None and key is not None}


def scopes_of_others(scopes: Collection[bytes], handle_ids: Sequence[UUID]) -> set[bytes]:
    """Tell in which of these conversations a graph names somebody else."""
    others = GraphPerson.objects.exclude(handle_id__in=handle_ids)
    found = _kept().filter(conversation_hash__in=scopes, id__in=others.values("graph_id"))
    return {bytes(scope) for scope in found.values_list("conversation_hash", flat=True) if scope is not None}


def participants_of(graph: Graph, handle_ids: Sequence[UUID]) -> set[str]:
    """Give the participants as whom a graph names a person."""
    people = GraphPerson.objects.filter(graph=graph, handle_id__in=handle_ids).exclude(participant="")
    return set(people.values_list("participant", flat=True))


def theirs(graph: Graph, participants: Collection[str]) -> set[int]:
    """Give the records of some participants of a graph and what derives from them, by their row ids.

    It reads the names of all records of the graph and what they say of each other, and nothing of their content.
    """
    if not participants:
        return set()
    columns = ("id", "kind", "name", "participant", "run", "parent_run")
    rows = GraphRecord.objects.filter(graph=graph, erasure_id=None).values_list(*columns)
    nodes = [Node(*row) for row in rows.iterator(chunk_size=AT_ONCE)]
    links = Link.objects.filter(graph=graph).values_list("record_id", "target_id")
    return derived(nodes, links.iterator(chunk_size=AT_ONCE), participants=participants)


def telling(graph: Graph, participants: Collection[str], names: Set[str]) -> list[UUID]:
    """List the assemblies of a graph that were made for some participants, or that tell of some records by name."""
    rows = ContextAssembly.objects.filter(graph=graph, erasure_id=None).prefetch_related("policy_decisions")
    return [
        assembly.id
        for assembly in rows.iterator(chunk_size=100)
        if assembly.participant in participants or not names.isdisjoint(_words(assembly))
    ]


def waiting(erasure: Erasure) -> QuerySet[Graph]:
    """List the graphs of which an erasure has not taken everything: marked whole, or still naming the person."""
    marked = Q(erasure_id=erasure.id)
    if not erasure.handle_ids:
        return Graph.objects.filter(marked)
    people = GraphPerson.objects.filter(handle_id__in=erasure.handle_ids)
    return Graph.objects.filter(marked | Q(id__in=people.values("graph_id"), erasure_id=None))


def _kept() -> QuerySet[Graph]:
    return Graph.objects.exclude(life=Graph.Life.ERASED)


def _words(assembly: ContextAssembly) -> set[str]:
    """Give every text that an assembly keeps, wherever it stands."""
    found, pending = set[str](), [assembly.selected, assembly.request, assembly.trace]
    pending += (decision.references for decision in assembly.policy_decisions.all())
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            found.add(value)
        elif isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, list):
            pending += value
    return found
