"""What an append and a look at the newest messages cost, in SQLite's own steps (HI-3)."""

import sqlite3
from collections.abc import Callable
from functools import partial
from itertools import islice

from lastro.history import NewItem, Outcome, SessionKey, SqliteStore
from lastro.history.contract import View

KEY = SessionKey("n", session_id="s")


class Counted:
    """A store whose connection counts the steps of its statements."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")
        self.store = SqliteStore(connection=self.connection)
        self.steps = 0
        self.connection.set_progress_handler(self._step, 1)

    def _step(self) -> int:
        self.steps += 1
        return 0

    def cost(self, call: Callable[[], object]) -> int:
        """Give the steps of a call."""
        before = self.steps
        call()
        return self.steps - before

    def append(self, count: int = 1, *, key: str = "") -> None:
        """Append messages."""
        items = tuple(NewItem({"n": n, "text": "x" * 100}, key=key and f"{key}-{n}") for n in range(count))
        self.store.transact(KEY, lambda _: Outcome(None, items))

    def grown_to(self, count: int) -> "Counted":
        """Grow the session, some of it opaque, with a key for each message."""
        for start in range(0, count, 100):
            self.append(100, key=f"k{start}")
            opaque = tuple(NewItem({"o": n}, kind="opaque") for n in range(40))
            self.store.transact(KEY, lambda _, opaque=opaque: Outcome(None, opaque))  # type: ignore[misc]
        return self


def newest(view: View | None) -> Outcome[int]:
    return Outcome(len(list(islice(view.backwards(view.head.leaf), 20))) if view else 0)


def last_opaque(view: View | None) -> Outcome[object]:
    return Outcome(next(view.opaque()) if view else None)


def test_saving_costs_what_is_appended() -> None:
    """HI-3: the ten-thousandth message costs what the hundredth did, but for the depth of an index."""
    few, many = Counted().grown_to(100), Counted().grown_to(10_000)
    calls: tuple[Callable[[Counted], object], ...] = (
        Counted.append,
        lambda counted: counted.append(3, key="new"),
        lambda counted: counted.store.transact(KEY, newest),
        lambda counted: counted.store.transact(KEY, last_opaque),
    )
    for call in calls:
        costs = [counted.cost(partial(call, counted)) for counted in (few, many)]
        assert costs[0] > 0
        assert costs[1] <= costs[0] * 1.05


def test_other_sessions_cost_nothing() -> None:
    """HI-4: what other sessions hold is counted without reading them."""
    alone, crowded = Counted().grown_to(100), Counted().grown_to(100)
    for number in range(100):
        key = SessionKey("n", session_id=f"other-{number}")
        crowded.store.transact(key, lambda _: Outcome(None, (NewItem({}),)))
    assert crowded.cost(crowded.append) <= alone.cost(alone.append) * 1.05
