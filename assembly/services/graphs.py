"""The beginning of a graph, and whom it names (CA-1, PR-10, PR-12, PR-15)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from assembly import access, encryption
from assembly.models import Graph, GraphPerson
from assembly.services.keys import reseal
from assembly.types import Bounds, Named
from lastro.assembly.records import Conversation, Record
from workspaces import barriers
from workspaces.encryption import destroy_keys
from workspaces.models import Handle
from workspaces.rules.barriers import require_made_after
from workspaces.rules.handles import Handle as HandleValue
from workspaces.scopes import scope_of
from workspaces.services.profiles import handle_of
from workspaces.types import Key, WorkspaceRef

Handles = Mapping[HandleValue, Handle]


def handles_of(workspace: WorkspaceRef, people: Iterable[Named], *, now: datetime) -> Handles:
    """Give the rows of handles; they are made in one order, so that batches that race never wait for each other."""
    values = sorted({named.handle for named in people}, key=lambda handle: handle.text)
    return {value: handle_of(workspace=workspace, value=value, now=now) for value in values}


def locked_graphs(
    workspace: WorkspaceRef,
    records: Sequence[Record],
    named: Mapping[str, Collection[Handle]],
    conversations: Collection[str],
    bounds: Bounds,
    *,
    now: datetime,
) -> dict[str, Graph]:
    """Give the graphs of conversations, locked until the transaction ends; those that begin in the batch are made.

    All that is missing is made before anything is locked, and both go in the order of the names: batches over several
    conversations that race wait, and never for each other.
    """
    made = _made(workspace, records, named, bounds, now=now)
    rows = access.live_graphs().filter(name__in=conversations).order_by("name")
    found = {graph.name: graph for graph in rows.select_for_update(of=("self",))}
    for graph in made:
        if graph.name not in found or found[graph.name].id != graph.id:
            # Another batch made it first.
            destroy_keys(workspace, graph.data_key_id)
    return found


def name_people(
    workspace: WorkspaceRef, graph: Graph, key: Key, people: Iterable[tuple[Handle, str]], *, now: datetime
) -> Key:
    """Note whom a locked graph names beside those it does, its row unsaved; give its data key from then on.

    The key lies under that of the one person named, and under the workspace's where there are several (PR-15).
    """
    rows = [GraphPerson(graph=graph, handle=handle, participant=name) for handle, name in people]
    if not rows:
        return key
    GraphPerson.objects.bulk_create(rows, ignore_conflicts=True)
    handles = {person.handle for person in people_of([graph])}
    alone = next(iter(handles)) if len(handles) == 1 else None
    if (alone.id if alone else None) == graph.handle_id:
        return key
    graph.handle = alone
    return reseal(workspace, graph, key, now=now)


def people_of(graphs: Collection[Graph]) -> list[GraphPerson]:
    """List whom some graphs name."""
    return list(GraphPerson.objects.filter(graph__in=graphs).select_related("handle"))


def require_new(workspace: WorkspaceRef, graph: Graph, handles: Iterable[Handle], oldest: datetime) -> None:
    """Refuse what was recorded before an erasure of a person named, of the conversation or of the graph (PR-12)."""
    names = [bytes(handle.hash) for handle in handles]
    names += [bytes(graph.conversation_hash)] if graph.conversation_hash else []
    barriers.require_not_erased(names, written_at=oldest)
    require_after_tombstones(workspace, graph.name, oldest)


def require_after_tombstones(workspace: WorkspaceRef, conversation: str, oldest: datetime) -> None:
    """Refuse what is older than an erasure of an earlier life of the same graph (PR-12)."""
    place = access.place_of(workspace, conversation)
    ended = access.erased_graphs(place).filter(ended_at__isnull=False).order_by("-ended_at")
    last = ended.values_list("ended_at", flat=True).first()
    if last is not None:
        require_made_after(last, written_at=oldest)


def touch(graph: Graph, bounds: Bounds, *, now: datetime) -> None:
    """Renew the idle time of a graph, unsaved."""
    graph.touched_at, graph.retention_document = now, bounds.document
    graph.due_at = now + timedelta(seconds=bounds.graph_seconds)


def _made(
    workspace: WorkspaceRef,
    records: Sequence[Record],
    named: Mapping[str, Collection[Handle]],
    bounds: Bounds,
    *,
    now: datetime,
) -> list[Graph]:
    begun = {record.id: record for record in records if isinstance(record, Conversation)}
    there = set(access.live_graphs().filter(name__in=begun).values_list("name", flat=True))
    made = [
        _new(workspace, begun[name], named.get(name, ()), bounds, now=now)
        for name in sorted(begun.keys() - there)
    ]
    Graph.objects.bulk_create(made, ignore_conflicts=True)
    return made


def _new(
    workspace: WorkspaceRef,
    record: Conversation,
    people: Collection[Handle],
    bounds: Bounds,
    *,
    now: datetime,
) -> Graph:
    place = access.place_of(workspace, record.id)
    scope = scope_of(workspace, kind="conversation", id=record.conversation)
    alone = next(iter(people)) if len({handle.id for handle in people}) == 1 else None
    graph = Graph(
        id=uuid4(),
        name=record.id,
        identity_hash=place.identity_hash,
        hash_key_id=place.hash_key_id,
        conversation_hash=scope.hash,
        conversation_key_id=scope.hash_key_id,
        handle=alone,
        data_key_id=encryption.make_data_key(workspace, _id(alone), now=now).id,
        created_at=now,
    )
    touch(graph, bounds, now=now)
    return graph


def _id(handle: Handle | None) -> UUID | None:
    return handle.id if handle else None
