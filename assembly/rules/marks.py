"""What a record changes of those before it: from which position on they are settled, taken up, promoted (CA-3, CA-12).

`lastro.assembly.graph.facts` says the same of a whole graph at once; here it is said as the records come.
"""

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime

from assembly.types import Mark
from lastro.assembly.records import (
    Message,
    MessageFinalized,
    Promotion,
    Record,
    Reference,
    Resolution,
    RunFinished,
    ToolArtifact,
    ToolCall,
    ToolMemory,
    reference_to,
)


class Marks:
    """The marks of some records, and how they change as others come.

    It must be given those that the new records name, and of each call that they name what answers it.
    """

    def __init__(self, stored: Iterable[Mark]) -> None:
        self._marks: dict[Reference, Mark] = {}
        self._artifacts: defaultdict[str, list[Mark]] = defaultdict(list)
        self._finished: defaultdict[str, list[Mark]] = defaultdict(list)
        for mark in stored:
            self._keep(mark)

    def __getitem__(self, reference: Reference) -> Mark:
        return self._marks[reference]

    def add(self, record: Record, position: int) -> None:
        """Keep the mark of a new record, and note at its position what it says of others."""
        mark = _mark_of(record)
        if not _is_open(record):
            mark.settled_at = position
        self._keep(mark)
        match record:
            case ToolArtifact():
                self._answer(mark, position)
            case RunFinished():
                self._finish(mark, position)
            case MessageFinalized():
                _settle(self._marks[Reference(Message.wire, record.message)], position)
            case Resolution():
                self._resolve(record, position)
            case ToolMemory():
                self._take_up(record, position)
            case Promotion():
                self._promote(record, position)

    def _keep(self, mark: Mark) -> None:
        self._marks[mark.reference] = mark
        if mark.call and mark.reference.type == ToolArtifact.wire:
            self._artifacts[mark.call].append(mark)
        elif mark.call and mark.reference.type == RunFinished.wire:
            self._finished[mark.call].append(mark)

    def _answer(self, artifact: Mark, position: int) -> None:
        """Settle all artifacts of the call but the last, by their time; a success answers finished runs, too."""
        call = self._call(artifact.call)
        call.taken_up_at = call.taken_up_at or position
        answers = self._artifacts[artifact.call]
        last = max(answers, key=_order)
        for answer in answers:
            if answer is not last or call.settled_at:
                _settle(answer, position)
        if artifact.status == "succeeded":
            for run in self._finished[artifact.call]:
                _settle(run, position)

    def _finish(self, run: Mark, position: int) -> None:
        answers = self._artifacts[run.call] if run.call else []
        is_answered = any(answer.status == "succeeded" for answer in answers)
        if is_answered or (run.call and self._call(run.call).settled_at):
            _settle(run, position)

    def _resolve(self, resolution: Resolution, position: int) -> None:
        if resolution.artifact:
            _settle(self._marks[Reference(ToolArtifact.wire, resolution.artifact)], position)
        if resolution.call:
            call = resolution.call
            for mark in (self._call(call), *self._artifacts[call], *self._finished[call]):
                _settle(mark, position)

    def _take_up(self, memory: ToolMemory, position: int) -> None:
        for artifact in memory.artifacts:
            mark = self._marks[Reference(ToolArtifact.wire, artifact)]
            mark.taken_up_at = mark.taken_up_at or position

    def _promote(self, promotion: Promotion, position: int) -> None:
        mark = self._marks[Reference(promotion.record_type, promotion.record)]
        mark.promoted_at = mark.promoted_at or position
        if not promotion.participants and promotion.visibility == "conversation":
            mark.shared_at = mark.shared_at or position

    def _call(self, call: str) -> Mark:
        return self._marks[Reference(ToolCall.wire, call)]


def _mark_of(record: Record) -> Mark:
    mark = Mark(reference_to(record), getattr(record, "recorded_at", None))
    if isinstance(record, ToolArtifact):
        mark.call, mark.status = record.call, record.status
    elif isinstance(record, RunFinished):
        mark.call, mark.status = record.parent_call or "", record.status
    return mark


def _is_open(record: Record) -> bool:
    """Say whether a record is not settled by being there."""
    if isinstance(record, ToolArtifact | RunFinished):
        return record.status != "succeeded"
    return isinstance(record, ToolCall) or (isinstance(record, Message) and not record.final)


def _settle(mark: Mark, position: int) -> None:
    mark.settled_at = mark.settled_at or position


def _order(mark: Mark) -> tuple[datetime, str]:
    return mark.recorded_at or datetime.min.replace(tzinfo=UTC), mark.reference.id
