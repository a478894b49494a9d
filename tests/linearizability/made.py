"""Histories made up for the checker: of a right server, whose clients overlap and lose answers, and broken ones."""

import random
from collections.abc import Sequence
from typing import Any

import msgspec

from tests.linearizability.history import FOREVER, Answer, Operation
from tests.linearizability.model import Expected, Model, State

MODEL = Model(declared=frozenset("ab"), cap_bytes=64)
TOO_LONG = "x" * 80


def right_history(chance: random.Random, *, count: int, clients: int, lost: float = 0.1) -> list[Operation]:
    """Make up a history that has an order: operations take effect one after another within their times."""
    state = State()
    free_at = [0] * clients
    operations: list[Operation] = []
    for number in range(count):
        moment = (number + 1) * 100
        client = _free(chance, free_at, moment)
        called = max(free_at[client], moment - chance.randrange(1, 100 * clients))
        asked = _asked(chance, number, state, operations) | {"called": called, "client": f"c{client}"}
        expected, after = MODEL.perform(state, msgspec.convert(asked, Operation))
        is_lost = chance.random() < lost
        state = after if not is_lost or chance.random() < 0.5 else state
        free_at[client] = moment + chance.randrange(1, 100 * clients)
        end = {} if is_lost else {"returned": free_at[client], "answer": answer_of(expected)}
        operations.append(msgspec.convert(asked | end, Operation))
        free_at[client] += 1
    return operations


def _free(chance: random.Random, free_at: list[int], moment: int) -> int:
    """Choose a client that waits for no answer; a new one when all do."""
    free = [client for client, since in enumerate(free_at) if since < moment]
    if free:
        return chance.choice(free)
    free_at.append(0)
    return len(free_at) - 1


def answer_of(expected: Expected) -> Answer:
    """Give the answer that is right, with a word for the epoch."""
    epoch = f"life{expected.life}" if expected.life else "none"
    return Answer(outcome=expected.outcome, version=expected.version, epoch=epoch, body=expected.body)


def _asked(chance: random.Random, number: int, state: State, earlier: Sequence[Operation]) -> dict[str, Any]:
    base: dict[str, Any] = {"number": number, "state": "s"}
    named = [each for each in earlier[-6:] if each.name]
    if named and chance.random() < 0.15:
        again = chance.choice(named)
        asked = {"kind": again.kind, "changes": again.changes, "if_version": again.if_version}
        return base | asked | {"name": again.name}
    kind = chance.choices(("read", "cas", "merge", "delete"), (5, 4, 4, 1))[0]
    version = max(0, state.version + chance.choice((0, 0, 0, 0, -1, 1)))
    if kind == "read":
        return base | {"kind": kind}
    condition = {"if_version": version} if kind == "cas" or chance.random() < 0.3 else {}
    if kind == "delete":
        return base | condition | {"kind": kind}
    field = chance.choice("aaaabbbbc")
    value = chance.choices((f"v{number}", TOO_LONG, None if kind == "merge" else f"w{number}"), (8, 1, 1))[0]
    name = f"k{number}" if chance.random() < 0.5 else None
    return base | condition | {"kind": kind, "changes": {field: value}, "name": name}


def broken(chance: random.Random, operations: Sequence[Operation]) -> list[Operation]:
    """Change one answer, or one time, of a history."""
    answered = [place for place, each in enumerate(operations) if each.answer is not None]
    if not answered:
        return list(operations)
    place = chance.choice(answered)
    other = operations[chance.choice(answered)].answer
    operation = operations[place]
    assert operation.answer is not None
    replace = msgspec.structs.replace
    change = chance.randrange(5)
    if change == 0:
        version = max(0, operation.answer.version + chance.choice((-1, 1)))
        fresh = replace(operation, answer=replace(operation.answer, version=version))
    elif change == 1:
        fresh = replace(
            operation, answer=replace(operation.answer, epoch=chance.choice(("none", "life1", "life2")))
        )
    elif change == 2:
        fresh = replace(operation, answer=other) if other else operation
    elif change == 3:
        fresh = replace(operation, called=operation.returned - 1)
    else:
        fresh = replace(operation, answer=None, returned=FOREVER)
    return [*operations[:place], fresh, *operations[place + 1 :]]
