"""The search for an order that explains every answer (Wing and Gong, with Lowe's memory of what was tried).

1. An operation may come next when no other one that is left had been answered before it was called.
2. One that may come next, changes nothing and got the right answer is taken at once: nothing is lost by it.
3. Of those that change the state each is tried, but for those that contradict what the versions say.
4. A point that was reached before, with the same operations behind it and the same state, is left.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from tests.linearizability.hints import Hints
from tests.linearizability.history import Operation
from tests.linearizability.model import Model, State

MAX_POINTS = 20_000


class Point(NamedTuple):
    """A state on the way, and the epochs known of its life and of the one before."""

    state: State = State()
    epoch: str | None = None
    ended: str | None = None


class Verdict(msgspec.Struct, frozen=True):
    """Whether there is an order; if not, how far the best one came: the state there, and who had no place next."""

    is_linearizable: bool
    points: int
    state: State = State()
    placed: tuple[Operation, ...] = ()
    blocked: tuple[Operation, ...] = ()
    is_exhausted: bool = True


class _Frame(msgspec.Struct):
    point: Point
    taken: list[int]
    choices: Iterator[tuple[int, Point]]


class _Left:
    """The operations that have no place yet, as a list in the order of the calls that can be undone."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._end = len(operations)
        self._next = [*range(1, self._end + 1), 0]
        self._before = [self._end, *range(self._end)]
        self.taken = 0
        self.answered = sum(each.answer is not None for each in operations)
        self._operations = operations

    def __iter__(self) -> Iterator[int]:
        place = self._next[self._end]
        while place != self._end:
            yield place
            place = self._next[place]

    def take(self, place: int) -> None:
        self._next[self._before[place]], self._before[self._next[place]] = (
            self._next[place],
            self._before[place],
        )
        self.taken |= 1 << place
        self.answered -= self._operations[place].answer is not None

    def put_back(self, place: int) -> None:
        self._next[self._before[place]] = self._before[self._next[place]] = place
        self.taken ^= 1 << place
        self.answered += self._operations[place].answer is not None


class Search:
    """One search over the operations of one state, which must be in the order of their calls."""

    def __init__(
        self, model: Model, operations: Sequence[Operation], *, max_points: int = MAX_POINTS
    ) -> None:
        self._model, self._operations, self._max_points = model, operations, max_points
        self._hints, self._left = Hints(operations), _Left(operations)
        self._tried: set[tuple[int, Point]] = set()
        self._path: list[int] = []
        self._best = Verdict(is_linearizable=False, points=0)
        self._best_depth = -1

    def run(self) -> Verdict:
        """Look for an order; give it up after `max_points` points."""
        frames = [self._reach(Point())]
        while frames and len(self._tried) < self._max_points:
            if not self._left.answered:
                return Verdict(is_linearizable=True, points=len(self._tried))
            choice = next(frames[-1].choices, None)
            if choice is None:
                self._leave(frames.pop())
            else:
                self._go_on(frames, *choice)
        return msgspec.structs.replace(self._best, points=len(self._tried), is_exhausted=not frames)

    def _go_on(self, frames: list[_Frame], place: int, point: Point) -> None:
        self._take(place)
        if (self._left.taken, point) in self._tried:
            self._give_back(place)
            return
        self._tried.add((self._left.taken, point))
        frame = self._reach(point)
        frame.taken.insert(0, place)
        frames.append(frame)

    def _leave(self, frame: _Frame) -> None:
        for place in reversed(frame.taken):
            self._give_back(place)

    def _take(self, place: int) -> None:
        self._left.take(place)
        self._path.append(place)

    def _give_back(self, place: int) -> None:
        self._left.put_back(place)
        self._path.pop()

    def _reach(self, point: Point) -> _Frame:
        """Take what changes nothing, and list what may come next."""
        taken: list[int] = []
        blocked: list[int] = []
        choices: list[tuple[int, Point]] = []
        deadline = None
        for place in self._left:
            operation = self._operations[place]
            if deadline is not None and operation.called > deadline:
                break
            following = self._following(point, operation)
            if following is point:
                self._take(place)
                taken.append(place)
                continue
            choices += [(place, following)] if following else []
            blocked.append(place)
            deadline = min(deadline or operation.returned, operation.returned)
        self._note(point, blocked)
        return _Frame(point, taken, iter(self._sorted(point, choices)))

    def _following(self, point: Point, operation: Operation) -> Point | None:
        """Give the point after an operation, the same one when it changes nothing, none when it has no place here."""
        if operation.answer is None and not self._may_change(point.state, operation):
            return None
        expected, state = self._model.perform(point.state, operation)
        if operation.answer is not None and not expected.justifies(operation.answer):
            return None
        if state is point.state:
            return point if operation.answer is not None else None
        if not state.is_live:
            return self._after_deletion(point, state)
        is_possible = self._hints.may_store(state.version, operation)
        if not is_possible or not self._hints.may_be(state.version, state.body):
            return None
        return self._after_store(point, state)

    def _may_change(self, state: State, operation: Operation) -> bool:
        """Tell quickly whether an operation that nobody was answered might be what comes next."""
        if operation.demanded not in (None, state.version):
            return False
        return operation.kind == "delete" or self._hints.may_store(state.numbering + 1, operation)

    def _after_deletion(self, point: Point, state: State) -> Point | None:
        following = self._hints.epoch.get(state.numbering + 1)
        if following is not None and following == point.epoch:
            return None
        return Point(state, None, point.epoch or point.ended)

    def _after_store(self, point: Point, state: State) -> Point | None:
        epoch = self._hints.epoch.get(state.version)
        is_other_life = state.life != point.state.life
        if epoch is None:
            return Point(state, point.epoch, point.ended)
        if epoch == point.ended or (not is_other_life and point.epoch not in (None, epoch)):
            return None
        return Point(state, epoch, point.ended)

    def _sorted(self, point: Point, choices: list[tuple[int, Point]]) -> list[tuple[int, Point]]:
        answered = [choice for choice in choices if self._operations[choice[0]].answer is not None]
        answered.sort(key=lambda choice: self._operations[choice[0]].returned)
        others = {self._operations[place].number: (place, after) for place, after in choices}
        unknown = [self._operations[place] for place, _ in choices if self._operations[place].answer is None]
        likely = self._hints.likely(point.state.numbering + 1, unknown)
        return answered + [others[operation.number] for operation in likely]

    def _note(self, point: Point, blocked: list[int]) -> None:
        depth = len(self._path)
        if depth > self._best_depth:
            self._best_depth = depth
            self._best = Verdict(
                is_linearizable=False,
                points=0,
                state=point.state,
                placed=tuple(self._operations[place] for place in self._path[-8:]),
                blocked=tuple(self._operations[place] for place in blocked),
            )
