"""A good request of each route of context assembly, and how each of its refusals is brought about (PL-8, PL-9)."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

from assembly.models import ContextAssembly, Graph
from assembly.rules.payloads import MAX_PAYLOAD_BYTES
from tests.assembly.artifacts import declare, path_of
from tests.assembly.graphs import ASSEMBLE, ASSEMBLIES, GRAPH, Story
from tests.history.refusals import Cast
from workspaces import access
from workspaces.http import limits

Changes = dict[str, Any]
Way = Callable[[Cast, Story], Changes]
WHY = f"{ASSEMBLIES}/{{assembly_id}}/why"
PATHS = (GRAPH, ASSEMBLE, ASSEMBLIES, f"{ASSEMBLIES}/{{assembly_id}}", WHY)
PAYLOAD = "/v1/graph/artifacts/{payload_id}/payload"
CONTENT = b"of an artifact"


class Claimed:
    """A body that says that it is so long, and has nothing: by its length alone it is refused."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __iter__(self) -> Iterator[bytes]:
        return iter(())

    def __len__(self) -> int:
        return self._size

    def read(self, size: int = -1) -> bytes:
        """Give nothing."""
        return b""


def payload(story: Story, *, is_sent: bool) -> str:
    """Record an artifact of CONTENT, and send it or not; give the route of its payload."""
    path = path_of(declare(story, CONTENT))
    if is_sent:
        assert story.api.put(path, CONTENT).status == 200
    return path


def way(path: str, method: str, code: str) -> Way | None:
    """Give how a refusal of a route is brought about, where it takes a way of its own."""
    if path == PAYLOAD:
        return PAYLOAD_WAYS.get((method, code)) or PAYLOAD_WAYS.get(("", code))
    return WAYS.get(path, {}).get(code)


def _others(cast: Cast, story: Story) -> Changes:
    return {"raw": b"something else"}


def _awaited(cast: Cast, story: Story) -> Changes:
    return {"path": payload(story, is_sent=False)}


def _claimed(cast: Cast, story: Story) -> Changes:
    return {"raw": Claimed(MAX_PAYLOAD_BYTES + 1)}


def _with_a_body(cast: Cast, story: Story) -> Changes:
    return {"raw": b" " * (limits.DEFAULT_BODY_BYTES + 1)}


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


_OF_GRAPH: dict[str, Way] = {
    "unknown_reference": _unknown,
    "record_conflict": _taken,
    "supersession_cycle": _circle,
    "subject_erased": _erased,
}
_OF_ASSEMBLING: dict[str, Way] = {
    "not_found": _asked(conversation="nobody"),
    "unknown_reference": _asked(branch="nowhere"),
    "policy_unknown": _asked(policy={"name": "nobody-s"}),
    "checkpoint_missing": _asked(checkpoint="nothing"),
    "context_budget_exceeded": _asked(budget_tokens=1),
}
WAYS: dict[str, dict[str, Way]] = {
    GRAPH: _OF_GRAPH,
    ASSEMBLE: _OF_ASSEMBLING,
    WHY: {"policy_unknown": _policy_gone},
}
PAYLOAD_WAYS: dict[tuple[str, str], Way] = {
    ("", "payload_mismatch"): _others,
    ("", "payload_awaited"): _awaited,
    ("PUT", "payload_too_large"): _claimed,
    ("GET", "payload_too_large"): _with_a_body,
}
