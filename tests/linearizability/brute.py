"""The plainest check there is, for tiny histories: every order, and every choice of what never happened."""

from collections.abc import Iterator, Sequence

from tests.linearizability.history import Operation
from tests.linearizability.model import Expected, Model, State

Told = tuple[int, str]


def is_linearizable(operations: Sequence[Operation], model: Model) -> bool:
    """Tell whether some order of all that was answered, and of some that was not, explains every answer."""
    return any(map(_have_one_word_each, _orders(tuple(operations), State(), model)))


def _orders(left: tuple[Operation, ...], state: State, model: Model) -> Iterator[tuple[Told, ...]]:
    """Give, for each order that explains the answers, which life was told by which epoch."""
    if all(operation.answer is None for operation in left):
        yield ()
        return
    for operation in left:
        if any(other.returned < operation.called for other in left):
            continue
        expected, after = model.perform(state, operation)
        if operation.answer is None or expected.justifies(operation.answer):
            rest = tuple(other for other in left if other is not operation)
            for order in _orders(rest, after, model):
                yield (*_told(operation, expected), *order)


def _told(operation: Operation, expected: Expected) -> tuple[Told, ...]:
    answer = operation.answer
    return ((expected.life, answer.epoch),) if answer is not None and expected.life else ()


def _have_one_word_each(order: tuple[Told, ...]) -> bool:
    pairs = set(order)
    return len(pairs) == len({life for life, _ in pairs}) == len({epoch for _, epoch in pairs})
