"""The rows of new records: what stands in clear, what is sealed, and what they change of those before (CA-3, CA-16)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID, uuid4

import msgspec

from assembly import encryption
from assembly.models import Graph, GraphRecord, Link, Payload
from assembly.rules.marks import Marks
from assembly.rules.payloads import parted
from assembly.rules.retention import expiry_of
from assembly.rules.tokens import count_tokens
from assembly.selectors.records import Rows, answers_to, mark_of, opened_calls, stored_results
from assembly.services.payloads import store_inline
from assembly.types import NOTHING_MEASURED, Bounds, Mark, New, Opened, Outside, StagedBlob
from lastro.assembly.graph import SELECTABLE
from lastro.assembly.graph.measuring import Measures, measures_of
from lastro.assembly.locators import canonical
from lastro.assembly.records import (
    Branch,
    Message,
    Owned,
    Record,
    Reference,
    Resolution,
    RunFinished,
    ToolArtifact,
    ToolCall,
    ToolMemory,
    reference_to,
    references_of,
    strictest,
)
from lastro.assembly.records.writing import to_json
from workspaces.types import Caller, Key

BATCH = 5_000
MARKED = ["settled_at", "taken_up_at", "promoted_at", "shared_at"]
PLACING = frozenset(
    {
        "conversation",
        "branch",
        "participant",
        "run",
        "parent_run",
        "message",
        "parent",
        "fork_message",
        "shared_with",
    }
)
"""Members that are columns of their own, or say where a record stands: they make no links."""


class NewRows:
    """The rows of a batch's new records, of one or several graphs whose rows are locked."""

    def __init__(
        self,
        caller: Caller,
        known: Rows,
        keys: Mapping[UUID, Key],
        written: Mapping[str, StagedBlob],
        bounds: Bounds,
        *,
        now: datetime,
    ) -> None:
        self._caller, self._known, self._keys, self._bounds, self._now = caller, known, keys, bounds, now
        assert caller.source_id is not None  # noqa: S101  (only the keys of sources get here)
        self._source = caller.source_id
        self._written = written
        self._new: dict[Reference, tuple[Graph, int, New]] = {}
        self._inline: defaultdict[UUID, list[tuple[Payload, bytes]]] = defaultdict(list)
        self.made: dict[Reference, GraphRecord] = {}

    def add(self, graph: Graph, records: Sequence[New]) -> None:
        """Give new records the next positions of their graph, whose row stays unsaved."""
        for one in records:
            graph.position += 1
            self._new[reference_to(one.record)] = graph, graph.position, one

    def insert(self) -> None:
        """Insert the rows with their links and payloads, and mark those before that they speak of."""
        if not self._new:
            return
        marked = self._stored_marks()
        marks = Marks(mark for _, mark in marked)
        for _, position, one in self._new.values():
            marks.add(one.record, position)
        payloads = self._build(marks)
        GraphRecord.objects.bulk_create(self.made.values())
        Link.objects.bulk_create(self._links(), batch_size=BATCH)
        Payload.objects.bulk_create(payloads)
        changed = [row for row, mark in marked if _take(row, mark)]
        GraphRecord.objects.bulk_update(changed, MARKED, batch_size=BATCH)

    def _stored_marks(self) -> list[tuple[GraphRecord, Mark]]:
        """Give the marks of what is named, and of what answers the calls that are answered or resolved."""
        calls = {
            reference.id: row for reference, row in self._known.items() if reference.type == ToolCall.wire
        }
        asked = {call for _, _, one in self._new.values() if (call := _answered(one.record)) in calls}
        answers = answers_to([calls[call] for call in sorted(asked)])
        there = {row.pk for row, _ in answers}
        named = [(row, mark_of(row)) for row in self._known.values() if row.pk not in there]
        return [*named, *((row, mark_of(row, call)) for row, call in answers)]

    def _build(self, marks: Marks) -> list[Payload]:
        """Make the rows of the records, sealed and measured; give those of their payloads."""
        calls, contents = self._calls(), self._contents()
        payloads: list[Payload] = []
        for reference, (graph, position, one) in self._new.items():
            record, key = one.record, self._keys[graph.id]
            kept, outside = parted(record)
            if isinstance(record, ToolCall):
                calls[record.id] = record
            contents.update(_results(record, outside))
            row = self._row(graph, position, record, marks[reference])
            measures = _measures(record, calls, contents)
            row.naive_tokens, row.naive_bytes = measures.naive.tokens, measures.naive.bytes
            row.content_mac = encryption.content_mac(key, one.sent)
            written = one.written if kept is record else canonical(to_json(kept))
            opened = Opened(msgspec.Raw(written), one.sent, measures)
            encryption.seal_record(self._caller.workspace, row, opened, key)
            self.made[reference] = row
            payloads += (self._payload(row, part, key) for part in outside)
        for graph_id, inline in self._inline.items():
            store_inline(
                workspace=self._caller.workspace,
                payloads=inline,
                written=self._written,
                key=self._keys[graph_id],
            )
        return payloads

    def _row(self, graph: Graph, position: int, record: Record, mark: Mark) -> GraphRecord:
        row = GraphRecord(
            graph=graph,
            source_id=self._source,
            position=position,
            kind=record.wire,
            name=record.id,
            recorded_at=mark.recorded_at,
            seen_at=record.observed_at if isinstance(record, ToolMemory) else mark.recorded_at,
            state=_state_of(record),
        )
        _own(row, record)
        if isinstance(record, ToolMemory):
            sources = [self._row_of(Reference(ToolArtifact.wire, id)).privacy for id in record.artifacts]
            row.privacy = strictest(record.privacy, *sources)
        self._place(row, record)
        _take(row, mark)
        row.expires_at = expiry_of(
            kind=row.kind,
            visibility=row.visibility,
            state=row.state,
            recorded_at=row.recorded_at,
            bounds=self._bounds,
            now=self._now,
        )
        return row

    def _place(self, row: GraphRecord, record: Record) -> None:
        """Note where a record stands in its branch: at its message, else at its own time."""
        row.placed_at = row.recorded_at
        if isinstance(record, Message):
            row.placed_name = record.id
            return
        anchor = record.fork_message if isinstance(record, Branch) else getattr(record, "message", None)
        if anchor and isinstance(record, Owned | Branch):
            message = self._row_of(Reference(Message.wire, anchor))
            row.placed_at, row.placed_name = message.recorded_at, message.name

    def _row_of(self, reference: Reference) -> GraphRecord:
        return self.made.get(reference) or self._known[reference]

    def _calls(self) -> dict[str, ToolCall]:
        """Open the stored calls whose artifacts are new: what was asked counts as part of a naive transcript."""
        artifacts = [one.record for _, _, one in self._new.values() if isinstance(one.record, ToolArtifact)]
        named = {Reference(ToolCall.wire, artifact.call) for artifact in artifacts}
        stored = [self._known[reference] for reference in named if reference in self._known]
        return opened_calls(self._caller.workspace, stored, self._keys)

    def _contents(self) -> dict[str, bytes]:
        """Read the stored results into which new memories point."""
        memories = [one.record for _, _, one in self._new.values() if isinstance(one.record, ToolMemory)]
        named = {
            Reference(ToolArtifact.wire, locator.artifact)
            for memory in memories
            for locator in memory.locators
        }
        stored = [self._known[reference] for reference in named if reference in self._known]
        return stored_results(self._caller.workspace, stored, self._keys)

    def _links(self) -> list[Link]:
        return [
            Link(
                graph=graph,
                record=self.made[reference],
                target=self._row_of(target),
                member=member,
                position=position,
            )
            for reference, (graph, position, one) in self._new.items()
            for member, target in _named_by(one.record)
        ]

    def _payload(self, row: GraphRecord, part: Outside, key: Key) -> Payload:
        """Make the row of some bytes: awaited, where they are not here."""
        payload = Payload(
            id=uuid4(),
            graph=row.graph,
            record=row,
            role=part.role,
            size_bytes=part.size_bytes,
            media_type=part.media_type,
            address=encryption.address(key, part.sha256),
        )
        if part.content is not None:
            self._inline[row.graph_id].append((payload, part.content))
        return payload


def _measures(record: Record, calls: Mapping[str, ToolCall], contents: Mapping[str, bytes]) -> Measures:
    if not isinstance(record, SELECTABLE):
        return NOTHING_MEASURED
    call = calls.get(record.call) if isinstance(record, ToolArtifact) else None
    return measures_of(record, call=call, read=contents.get, count=count_tokens)


def _results(record: Record, outside: Sequence[Outside]) -> dict[str, bytes]:
    """Give the result of an artifact by its id, where it has come."""
    found = next((part.content for part in outside if part.role == "result"), None)
    return {record.id: found} if found is not None else {}


def _answered(record: Record) -> str:
    """Give the call that a record answers or resolves, if any."""
    if isinstance(record, RunFinished):
        return record.parent_call or ""
    return (record.call or "") if isinstance(record, ToolArtifact | Resolution) else ""


def _named_by(record: Record) -> dict[tuple[str, Reference], None]:
    """Give the members by which a record names others, each other once."""
    found = ((pointer.split("/")[1], reference) for pointer, reference in references_of(record))
    return dict.fromkeys((member, reference) for member, reference in found if member not in PLACING)


def _own(row: GraphRecord, record: Record) -> None:
    """Note whose a record is, and who may see it."""
    if isinstance(record, Branch):
        row.branch = record.parent or ""
    if isinstance(record, ToolCall | ToolArtifact):
        row.tool = record.tool
    if isinstance(record, Owned):
        row.branch, row.participant = record.branch, record.participant or ""
        row.run, row.parent_run = record.run or "", record.parent_run or ""
        row.visibility, row.privacy = record.visibility, record.privacy
        row.shared_with = list(record.shared_with)


def _state_of(record: Record) -> str:
    if isinstance(record, ToolArtifact | RunFinished):
        return record.status
    return record.freshness if isinstance(record, ToolMemory) else ""


def _take(row: GraphRecord, mark: Mark) -> bool:
    """Put a mark on its row, unsaved; tell whether it was another one."""
    before = row.settled_at, row.taken_up_at, row.promoted_at, row.shared_at
    row.settled_at, row.taken_up_at = mark.settled_at, mark.taken_up_at
    row.promoted_at, row.shared_at = mark.promoted_at, mark.shared_at
    return before != (row.settled_at, row.taken_up_at, row.promoted_at, row.shared_at)
