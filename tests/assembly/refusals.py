"""A good request of each route of context assembly, and how each of its refusals is brought about (PL-8, PL-9)."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from assembly.models import Graph
from tests.assembly.graphs import GRAPH, Story
from tests.history.refusals import Cast
from workspaces import access

Changes = dict[str, Any]
PATHS = (GRAPH,)


def good(story: Story, path: str) -> dict[str, Any]:
    """Give the body of a request that is answered, about a conversation of its own."""
    return {"records": story.whole()}


def _unknown(cast: Cast, story: Story) -> Changes:
    return _body(story.branch())


def _taken(cast: Cast, story: Story) -> Changes:
    story.stored(*story.whole())
    return _body(story.message(text="Something else"))


def _circle(cast: Cast, story: Story) -> Changes:
    story.stored(*story.whole(), story.memory("newer", supersedes=[story.id("memory")]))
    pair = {"memory": story.id("memory"), "supersedes": story.id("newer")}
    return _body(story.event("supersession", "circle", **pair))


def _erased(cast: Cast, story: Story) -> Changes:
    """Take the graph away, as an erasure does after what is sent was made."""
    story.stored(*story.opening())
    with access.bound(cast.workspace.id):
        newest = Graph.objects.latest("created_at")
        Graph.objects.filter(id=newest.id).update(erasure_id=uuid4(), ended_at=newest.touched_at)
    return _body(story.message("late"))


def _body(*records: dict[str, Any]) -> Changes:
    return {"body": {"records": list(records)}}


WAYS: dict[str, Callable[[Cast, Story], Changes]] = {
    "unknown_reference": _unknown,
    "record_conflict": _taken,
    "supersession_cycle": _circle,
    "subject_erased": _erased,
}
