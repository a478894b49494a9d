"""A good request of each route of context assembly, and how each of its refusals is brought about (PL-8, PL-9)."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from assembly.models import ContextAssembly, Graph
from tests.assembly.graphs import ASSEMBLE, ASSEMBLIES, GRAPH, Story
from tests.history.refusals import Cast
from workspaces import access

Changes = dict[str, Any]
WHY = f"{ASSEMBLIES}/{{assembly_id}}/why"
PATHS = (GRAPH, ASSEMBLE, ASSEMBLIES, f"{ASSEMBLIES}/{{assembly_id}}", WHY)


def good(story: Story, path: str) -> dict[str, Any]:
    """Give the body of a request that is answered, about a conversation of its own."""
    if path == WHY:
        return {"type": "message", "id": story.id("hello")}
    if path == ASSEMBLE:
        story.stored(*story.whole())
        return story.asking()
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


def _asked(**members: Any) -> Callable[[Cast, Story], Changes]:
    """Give a way of asking for a context that is refused for some members."""

    def asked(cast: Cast, story: Story) -> Changes:
        story.stored(*story.whole())
        return {"body": story.asking(**members)}

    return asked


def _policy_gone(cast: Cast, story: Story) -> Changes:
    """Name an assembly by a policy whose version is not there."""
    story.stored(*story.whole())
    kept = story.assembled()["assembly_id"]
    with access.bound(cast.workspace.id):
        ContextAssembly.objects.filter(id=kept).update(policy_version=4711)
    return {"path": WHY.replace("{assembly_id}", kept)}


_OF_GRAPH: dict[str, Callable[[Cast, Story], Changes]] = {
    "unknown_reference": _unknown,
    "record_conflict": _taken,
    "supersession_cycle": _circle,
    "subject_erased": _erased,
}
_OF_ASSEMBLING: dict[str, Callable[[Cast, Story], Changes]] = {
    "not_found": _asked(conversation="nobody"),
    "unknown_reference": _asked(branch="nowhere"),
    "policy_unknown": _asked(policy={"name": "nobody-s"}),
    "checkpoint_missing": _asked(checkpoint="nothing"),
    "context_budget_exceeded": _asked(budget_tokens=1),
}
WAYS: dict[str, dict[str, Callable[[Cast, Story], Changes]]] = {
    GRAPH: _OF_GRAPH,
    ASSEMBLE: _OF_ASSEMBLING,
    WHY: {"policy_unknown": _policy_gone},
}
