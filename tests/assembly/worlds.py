"""Worlds of the SDK's tests, recorded in the database and in memory, to be asked alike."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

import msgspec
from django.db import transaction
from runtime_graphs import START, World

from assembly.documents import bounds_of
from assembly.models import GraphRecord
from assembly.rules.tokens import count_tokens
from assembly.selectors.contents import Contents
from assembly.selectors.graphs import SeenGraph, served_graph
from assembly.selectors.snapshots import require_named, snapshot_of
from assembly.services.recording import record
from lastro.assembly.assembler import assemble
from lastro.assembly.graph import RuntimeGraph
from lastro.assembly.policy import Policy
from lastro.assembly.records import Reference, parse_record
from lastro.assembly.results import Assembly
from workspaces import access, documents
from workspaces.types import Caller

NO_ENDS: Mapping[Reference, datetime] = MappingProxyType({})
NOW = START + timedelta(hours=1)


class Recorded(msgspec.Struct):
    """A world in the database, asked by the caller that recorded it."""

    caller: Caller
    world: World

    def seen(self, position: int | None = None) -> SeenGraph:
        """Give the graph as of a position."""
        bounds = bounds_of(documents.live())
        return served_graph(self.caller.workspace, "talk", bounds, now=NOW, position=position)

    def assemble(self, asked: Mapping[str, Any], policy: Policy, *, position: int | None = None) -> Assembly:
        """Assemble what the database gives."""
        seen = self.seen(position)
        request = self.world.request(workspace=str(self.caller.workspace.id), **asked)
        contents = Contents(seen, now=NOW)
        snapshot = snapshot_of(seen, request, policy, require_named(seen, request), now=NOW)
        return assemble(request, snapshot, policy, read=contents.read, fetch=contents.fetch)


def ends_at(now: datetime) -> dict[Reference, datetime]:
    """Give the ends that the bound workspace's records have; what has expired by now has for every moment."""
    rows = GraphRecord.objects.exclude(expires_at=None).values_list("kind", "name", "expires_at")
    return {Reference(kind, name): end if end > now else START for kind, name, end in rows if end}


@contextmanager
def recorded(caller: Caller, world: World, order: Sequence[int] | None = None) -> Iterator[Recorded]:
    """Record a world, in another order where one is given, and take it back at the end."""
    records = [parse_record(value) for value in world.written]
    ordered = records if order is None else [records[place] for place in order]
    with access.bound(caller.workspace.id), transaction.atomic():
        record(caller=caller, records=ordered, bounds=bounds_of(documents.live()), now=NOW)
        yield Recorded(caller, world)
        transaction.set_rollback(True)


def in_memory(
    world: World,
    asked: Mapping[str, Any],
    policy: Policy,
    *,
    order: Sequence[int] | None = None,
    position: int | None = None,
    ends: Mapping[Reference, datetime] = NO_ENDS,
) -> Assembly:
    """Assemble what the graph in memory gives, which says in code what the queries must find."""
    records = [parse_record(value) for value in world.written]
    graph = RuntimeGraph(count_tokens, expires_at=dict(ends))
    graph.record(records if order is None else [records[place] for place in order])
    request = world.request(**asked)
    return assemble(request, graph.snapshot(request, policy, position=position), policy, read=graph.read)
