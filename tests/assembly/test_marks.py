"""What later records say of earlier ones, at every position, as the graph in memory says it (CA-3, CA-6, CA-12)."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assembly.models import GraphRecord
from lastro.assembly.graph import SELECTABLE, RuntimeGraph
from lastro.assembly.graph.facts import Facts
from lastro.assembly.records import Message, Record, ToolArtifact, ToolCall, parse_record, reference_to
from tests.api import InProcess
from tests.assembly.graphs import Json, Story, at
from tests.assembly.rows import every_row
from workspaces.types import WorkspaceRef

# The same few names for calls and artifacts: what is said of one must not touch the other.
NAMES = ("a", "b", "c")
FAILED: dict[str, Any] = {"error": {"code": "timeout"}, "result": None}
WAYS: dict[str, dict[str, Any]] = {
    "succeeded": {"result": {"value": 1}},
    "failed": FAILED,
    "pending": {"result": None},
    "deferred": {"result": None},
}


class Play:
    """A random run: each step gives a record that names only what is there."""

    def __init__(self, story: Story, draw: Any) -> None:
        self.story, self.draw = story, draw
        self.there: dict[str, list[str]] = {
            "call": [],
            "artifact": [],
            "memory": [],
            "finished": [],
            "message": ["hello"],
            "promotion": [],
        }
        self.steps = {
            "call": self._call,
            "artifact": self._artifact,
            "memory": self._memory,
            "finished": self._finished,
            "message": self._message,
            "resolution": self._resolution,
            "finalized": self._finalized,
            "promotion": self._promotion,
        }

    def step(self) -> Json | None:
        """Give the next record; none where it would name nothing."""
        return self.steps[self.draw(st.sampled_from(sorted(self.steps)))]()

    def _call(self) -> Json | None:
        name = self._new("call", NAMES)
        return self.story.call(name) if name else None

    def _artifact(self) -> Json | None:
        call = self._one("call")
        name = self._new("artifact", (*NAMES, "d", "e")) if call else None
        if not (call and name):
            return None
        status = self.draw(st.sampled_from(sorted(WAYS)))
        minute = self.draw(st.integers(0, 2))
        return self.story.artifact(name, call=call, status=status, recorded_at=at(minute), **WAYS[status])

    def _memory(self) -> Json | None:
        artifact = self._one("artifact")
        name = self._new("memory", NAMES) if artifact else None
        return self.story.memory(name, artifact) if artifact and name else None

    def _finished(self) -> Json | None:
        name = self._new("finished", NAMES)
        if not name:
            return None
        status = self.draw(st.sampled_from(["succeeded", "failed", "timed_out"]))
        call = self._one("call") if self.draw(st.booleans()) else None
        return self.story.finished(name, status=status, parent_call=self.story.id(call) if call else None)

    def _message(self) -> Json | None:
        name = self._new("message", NAMES)
        return self.story.message(name, final=self.draw(st.booleans())) if name else None

    def _resolution(self) -> Json | None:
        kind = self.draw(st.sampled_from(["call", "artifact"]))
        found = self._one(kind)
        named = {kind: self.story.id(found)} if found else None
        return self._event("resolution", outcome="abandoned", **named) if named else None

    def _finalized(self) -> Json | None:
        return self._event("message_finalized", message=self.story.id(self._one("message") or "hello"))

    def _promotion(self) -> Json | None:
        kind = self.draw(st.sampled_from(["message", "artifact", "memory", "finished"]))
        found = self._one(kind)
        type = {"artifact": "tool_artifact", "memory": "tool_memory", "finished": "run_finished"}.get(
            kind, kind
        )
        reach = self.draw(st.sampled_from(["branch", "conversation"]))
        people = self.draw(st.sampled_from([[], [self.story.id("planner")]]))
        members = {"record_type": type, "visibility": reach, "participants": people}
        return self._event("promotion", record=self.story.id(found), **members) if found else None

    def _event(self, type: str, **members: Any) -> Json:
        self.there.setdefault(type, []).append("")
        return self.story.event(type, f"{type}-{len(self.there[type])}", **members)

    def _one(self, kind: str) -> str | None:
        return self.draw(st.sampled_from(self.there[kind])) if self.there[kind] else None

    def _new(self, kind: str, names: tuple[str, ...]) -> str | None:
        """Take a name that its kind has not used yet."""
        free = [name for name in names if name not in self.there[kind]]
        name = self.draw(st.sampled_from(free)) if free else None
        self.there[kind] += [name] if name else []
        return name


def said_in_memory(records: list[Record], one: Record) -> tuple[bool, bool, bool, bool]:
    """Say by the graph in memory whether a record is settled, taken up, promoted, and shared."""
    facts = Facts(records, RuntimeGraph(count=len))
    found = facts.candidate(one)
    is_taken_up = found.is_remembered or (isinstance(one, ToolCall) and _has_artifact(records, one))
    shares = [one for one in found.promotions if not one.participants and one.visibility == "conversation"]
    return (
        found.is_final if isinstance(one, Message) else found.is_resolved,
        is_taken_up,
        bool(found.promotions),
        bool(shares),
    )


def _has_artifact(records: list[Record], call: ToolCall) -> bool:
    return any(isinstance(one, ToolArtifact) and one.call == call.id for one in records)


def said_in_rows(row: GraphRecord, position: int) -> tuple[bool, ...]:
    """Say the same by a row, as the graph was at a position."""
    marks = (row.settled_at, row.taken_up_at, row.promoted_at, row.shared_at)
    return tuple(mark is not None and mark <= position for mark in marks)


@settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_every_position_says_what_the_graph_in_memory_says(
    home: WorkspaceRef, api: InProcess, data: st.DataObject
) -> None:
    """CA-3, CA-12, CA-17, CA-18: whatever came, in whatever batches, each position shows the same."""
    story = Story(api)
    play = Play(story, data.draw)
    steps = (play.step() for _ in range(data.draw(st.integers(5, 25))))
    records = [*story.opening(), *(record for record in steps if record)]
    at = 0
    while at < len(records):
        size = data.draw(st.integers(1, 12))
        story.stored(*records[at : at + size])
        at += size
    parsed = [parse_record(record) for record in records]
    rows = {(row.kind, row.name): row for row in every_row(home, story)}
    for position in range(1, len(parsed) + 1):
        for one in parsed[:position]:
            if isinstance(one, SELECTABLE):
                row = rows[reference_to(one).type, one.id]
                seen = said_in_memory(parsed[:position], one)
                assert said_in_rows(row, position) == seen, (position, one)
