"""A graph that is served, opened, and seen as of a position (CA-16, PR-11, PR-20)."""

from datetime import datetime, timedelta

import msgspec

from assembly import access, encryption
from assembly.models import Graph
from assembly.types import Bounds
from workspaces.errors import KeyDestroyed, NotFound
from workspaces.types import Key, WorkspaceRef


class SeenGraph(msgspec.Struct, frozen=True, kw_only=True):
    """A graph as a reader has it: its row, its data key, and the position up to which its records count.

    `bounds` are the live ones: what is over by them is not served.
    """

    workspace: WorkspaceRef
    row: Graph
    key: Key
    bounds: Bounds
    position: int


def served_graph(
    workspace: WorkspaceRef,
    conversation: str,
    bounds: Bounds,
    *,
    now: datetime,
    position: int | None = None,
) -> SeenGraph:
    """Give the graph of a conversation as of a position, the newest where none is named.

    Raises NotFound for all that is not served: unknown, expired, being erased, or without its keys.
    """
    row = access.live_graph(conversation)
    if row is None or not is_served(row, bounds, now=now):
        raise NotFound
    return seen_graph(workspace, row, bounds, position=position)


def seen_graph(
    workspace: WorkspaceRef, row: Graph, bounds: Bounds, *, position: int | None = None
) -> SeenGraph:
    """Open a graph. Raises NotFound where its keys are gone."""
    try:
        key = encryption.graph_key(workspace, row)
    except KeyDestroyed as error:
        raise NotFound from error
    return SeenGraph(
        workspace=workspace,
        row=row,
        key=key,
        bounds=bounds,
        position=row.position if position is None else position,
    )


def is_served(row: Graph, bounds: Bounds, *, now: datetime) -> bool:
    """Tell whether a graph has not ended: of the retention at its last record and the one now, the shorter counts."""
    return now < min(row.due_at, row.touched_at + timedelta(seconds=bounds.graph_seconds))
