"""What the versions alone must show, whatever the order: quick to check, and a fault is told with two operations.

Numbers never go back, not even over a deletion (WM-9). So once anybody was told of version N, whatever live version
an operation that starts later is told of is N or newer (WM-18), and `absent` needs a deletion in between.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from tests.linearizability.history import Operation

Pair = tuple[Operation, ...]


class Fault(msgspec.Struct, frozen=True):
    """A sentence, and the operations that cannot all be right."""

    sentence: str
    operations: Pair


def faults(operations: Sequence[Operation]) -> list[Fault]:
    """List what cannot be, those that came first in front."""
    telling = [operation for operation in operations if operation.told_version]
    found = [
        *_two_stored_one(telling),
        *_two_told_one(telling),
        *_split_epochs(telling),
        *_older_than_told(operations, telling),
        *_older_than_its_write(operations, telling),
        *_gone_without_deletion(operations, telling),
    ]
    return sorted(found, key=lambda fault: max(each.called for each in fault.operations))


def _two_stored_one(telling: Sequence[Operation]) -> Iterator[Fault]:
    writers: dict[int, Operation] = {}
    for operation in telling:
        first = writers.setdefault(operation.told_version, operation) if operation.is_stored else operation
        if first.identity != operation.identity and first is not operation:
            yield Fault("Two writes were stored at one version: one of them is lost.", (first, operation))


def _two_told_one(telling: Sequence[Operation]) -> Iterator[Fault]:
    bodies: dict[int, Operation] = {}
    epochs: dict[int, Operation] = {}
    for operation in telling:
        assert operation.answer is not None
        version = operation.told_version
        first = epochs.setdefault(version, operation)
        if first.answer and first.answer.epoch != operation.answer.epoch:
            yield Fault("One version was told with two epochs.", (first, operation))
        if operation.kind == "read":
            first = bodies.setdefault(version, operation)
            if first.answer and first.answer.body != operation.answer.body:
                yield Fault("One version was read with two bodies.", (first, operation))


def _split_epochs(telling: Sequence[Operation]) -> Iterator[Fault]:
    """Find an epoch that comes back after another one: a life that ended goes on (WM-9)."""
    last: dict[str, Operation] = {}
    before: Operation | None = None
    for operation in sorted(telling, key=lambda each: each.told_version):
        assert operation.answer is not None
        epoch = operation.answer.epoch
        if before is not None and before.answer and before.answer.epoch != epoch and epoch in last:
            yield Fault("An epoch came back after another one.", (last[epoch], before, operation))
        last[epoch] = before = operation


def _older_than_told(operations: Sequence[Operation], telling: Sequence[Operation]) -> Iterator[Fault]:
    attempts = Counter(operation.identity for operation in operations)
    newest = _Newest(telling)
    for operation in telling:
        is_perhaps_resent = operation.is_stored and attempts[operation.identity] > 1
        told = newest.before(operation.called)
        if told is not None and told.told_version > operation.told_version and not is_perhaps_resent:
            yield Fault(
                f"Version {told.told_version} had been told before this started, which was told"
                f" {operation.told_version}: it is stale.",
                (told, operation),
            )


def _older_than_its_write(operations: Sequence[Operation], telling: Sequence[Operation]) -> Iterator[Fault]:
    """Find what was told before any attempt of the write that made it was called."""
    first_call = _first_calls(operations)
    writers = {operation.told_version: operation for operation in telling if operation.is_stored}
    for operation in telling:
        if operation.returned < first_call.get(operation.told_version, 0):
            writer = writers[operation.told_version]
            yield Fault("A version was told before the write that made it was called.", (operation, writer))


def _gone_without_deletion(operations: Sequence[Operation], telling: Sequence[Operation]) -> Iterator[Fault]:
    deletions = [each for each in operations if _may_have_deleted(each)]
    first_call = _first_calls(operations)
    newest = _Newest(telling)
    for operation in operations:
        if operation.kind != "read" or operation.answer is None or operation.told_version:
            continue
        told = newest.before(operation.called)
        if told is None:
            continue
        began = first_call.get(told.told_version, 0)
        if not any(each.returned > began and each.called < operation.returned for each in deletions):
            sentence = f"Version {told.told_version} had been told, and nothing was deleted: it is lost."
            yield Fault(sentence, (told, operation))


def _may_have_deleted(operation: Operation) -> bool:
    answer = operation.answer
    return operation.kind == "delete" and (answer is None or answer.outcome == "deleted")


def _first_calls(operations: Sequence[Operation]) -> dict[int, int]:
    """Give when the first attempt of the write of each version was called."""
    called: dict[str | int, int] = {}
    for operation in operations:
        called[operation.identity] = min(operation.called, called.get(operation.identity, operation.called))
    return {each.told_version: called[each.identity] for each in operations if each.is_stored}


class _Newest:
    """Answers which operation had been told the newest version before a moment."""

    def __init__(self, telling: Sequence[Operation]) -> None:
        self._moments: list[int] = []
        self._newest: list[Operation] = []
        for operation in sorted(telling, key=lambda each: each.returned):
            if not self._newest or operation.told_version > self._newest[-1].told_version:
                self._moments.append(operation.returned)
                self._newest.append(operation)

    def before(self, moment: int) -> Operation | None:
        place = bisect_left(self._moments, moment)
        return self._newest[place - 1] if place else None
