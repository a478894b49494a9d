"""What the answers of a whole history say of each version: its body, its epoch, and who wrote it.

Versions never come twice (WM-9), so that an order of operations that contradicts one of these is no order.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from tests.linearizability.history import Body, Operation

Pair = tuple[str, str | None]


class Hints:
    """The facts of each version that somebody was told of; of two that contradict each other the first one."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.body: dict[int, Body] = {}
        self.epoch: dict[int, str] = {}
        self.writer: dict[int, str | int] = {}
        for operation in operations:
            self._note(operation)
        self._seen = sorted(self.body)
        self._shown = _first_shown(self.body)
        self._windows = self._windows_of(operations)

    def _note(self, operation: Operation) -> None:
        answer = operation.answer
        if answer is None or not answer.version:
            return
        self.epoch.setdefault(answer.version, answer.epoch)
        if operation.is_stored:
            self.writer.setdefault(answer.version, operation.identity)
        if operation.kind == "read":
            self.body.setdefault(answer.version, answer.body)

    def body_from(self, version: int) -> Body:
        """Give the first body that somebody saw from a version on."""
        place = bisect_left(self._seen, version)
        return self.body[self._seen[place]] if place < len(self._seen) else ()

    def may_store(self, version: int, operation: Operation) -> bool:
        """Tell whether an operation may have stored a version: nobody else did, and its values were seen in time."""
        if self.writer.get(version, operation.identity) != operation.identity:
            return False
        after, until = self._windows.get(operation.number, (0, version))
        return after < version <= until

    def may_be(self, version: int, body: Body) -> bool:
        """Tell whether this may be the body of a version."""
        return self.body.get(version, body) == body

    def _windows_of(self, operations: Sequence[Operation]) -> dict[int, tuple[int, int]]:
        """Give between which versions a write was stored of which somebody saw a value that no other write has.

        It came after the last body that did not show the value and no later than the first one that did.
        """
        senders = Counter(pair for operation in operations for pair in operation.changes.items())
        windows = {}
        for operation in operations:
            shown = [
                self._shown[pair]
                for pair in operation.changes.items()
                if _is_sole(pair, senders, self._shown)
            ]
            if shown:
                windows[operation.number] = self._before(max(shown)), min(shown)
        return windows

    def _before(self, version: int) -> int:
        """Give the last version before another one of which somebody saw the body."""
        place = bisect_left(self._seen, version)
        return self._seen[place - 1] if place else 0

    def likely(self, version: int, unknown: Sequence[Operation]) -> list[Operation]:
        """Sort operations that nobody was answered by how likely it is that one of them stored a version.

        First those of which the next body that was seen shows a value, then those that no body ever shows.
        """
        nearest = set(self.body_from(version))

        def rank(operation: Operation) -> tuple[int, int]:
            pairs = set(operation.changes.items())
            return (0 if pairs & nearest else 2 if pairs & self._shown.keys() else 1), operation.called

        return sorted(unknown, key=rank)


def _first_shown(bodies: dict[int, Body]) -> dict[Pair, int]:
    """Give the first version in which each value was seen."""
    return {pair: version for version in sorted(bodies, reverse=True) for pair in bodies[version]}


def _is_sole(pair: Pair, senders: Counter[Pair], shown: dict[Pair, int]) -> bool:
    return pair in shown and senders[pair] == 1
