"""One decision at a time, and what is left of a worker that stopped (HI-5)."""

from collections.abc import Callable
from typing import TypeVar

from lastro.history.contract import View
from lastro.history.errors import (
    DecisionHistoryBusy,
    DecisionHistoryNotFound,
    DecisionHistoryRecoveryRefused,
    DecisionHistoryReservationLost,
)
from lastro.history.records import NewItem, Outcome
from lastro.testing.checks.sessions import said
from lastro.testing.uses import Use, hold, refused, same

T = TypeVar("T")


def while_running(then: Callable[[], T], *items: NewItem) -> Callable[[View | None], Outcome[T]]:
    """Give an operation that does something while its session is reserved."""
    return lambda _: Outcome(then(), items)


def second_decision_is_refused(use: Use) -> None:
    """HI-5, O23: a second decision is refused with since when and by which worker, and stores nothing."""
    store, key = use.store(), use.key("busy")
    use.append(store, key, said("0"))

    def second() -> tuple[float, str]:
        with refused(DecisionHistoryBusy) as refusal:
            use.append(store, key, said("second"), worker="w2")
        return refusal.error.since, refusal.error.worker

    since, worker = use.transact(store, key, while_running(second, NewItem(said("1"))), worker="w1")
    same(worker, "w1")
    hold(not use.settable.clock or since == use.clock.now, "since when the first one runs")
    use.append(store, key, said("2"), worker="w2")
    same(use.messages(store, key), [said("0"), said("1"), said("2")])


def every_other_call_is_refused(use: Use) -> None:
    """HI-6: reading, deleting and forking refuse while a decision runs, its first one too."""
    store = use.store()
    old, new, third = use.key("old"), use.key("new"), use.key("third")
    use.append(store, old, NewItem(said("0"), id="m0"))

    def others(name: str) -> None:
        key = use.key(name)
        with refused(DecisionHistoryBusy):
            use.read(store, key)
        with refused(DecisionHistoryBusy):
            use.delete(store, key)
        with refused(DecisionHistoryBusy):
            use.fork(store, key, third, at="m0")

    use.transact(store, old, while_running(lambda: others("old")))
    use.transact(store, new, while_running(lambda: others("new")))
    same(use.messages(store, old), [said("0")])
    same(use.read(store, new), None)


def other_sessions_go_on(use: Use) -> None:
    """HI-3: a decision excludes nobody from another session of the same store."""
    store, one, two = use.store(), use.key("one"), use.key("two")
    use.transact(store, one, while_running(lambda: use.append(store, two, said("2")), NewItem(said("1"))))
    same((use.messages(store, one), use.messages(store, two)), ([said("1")], [said("2")]))


def recovery_needs_the_word(use: Use) -> None:
    """HI-5, O24: a reservation is freed only with the word that its worker has stopped."""
    store, key = use.store(), use.key("word")
    use.append(store, key, said("0"))

    def unspoken() -> None:
        for words in ({}, {"worker_stopped": False}, {"worker_stopped": "yes"}):
            with refused(DecisionHistoryRecoveryRefused):
                use.recover(store, key, **words)
        with refused(DecisionHistoryBusy):
            use.append(store, key, said("second"))

    use.transact(store, key, while_running(unspoken, NewItem(said("1"))))
    same(use.messages(store, key), [said("0"), said("1")])


def recovered_decision_is_not_stored(use: Use) -> None:
    """HI-5: after a recovery the old worker's decision is refused, and the new one's is not disturbed by it."""
    store, key = use.store(), use.key("recovered")
    use.append(store, key, said("0"))

    def recovered() -> None:
        use.recover(store, key, worker_stopped=True)
        use.append(store, key, said("new"))

    with refused(DecisionHistoryReservationLost):
        use.transact(store, key, while_running(recovered, NewItem(said("late"))))

    def overtaken() -> None:
        use.recover(store, key, worker_stopped=True)
        with refused(DecisionHistoryReservationLost):
            use.transact(
                store, key, while_running(lambda: use.recover(store, key, worker_stopped=True), NewItem({}))
            )

    with refused(DecisionHistoryReservationLost):
        use.transact(store, key, while_running(overtaken, NewItem(said("late"))))
    same(use.messages(store, key), [said("0"), said("new")])


def first_decision_recovered_leaves_no_session(use: Use) -> None:
    """HI-5: a session whose first decision was given up is not there."""
    store, key = use.store(), use.key("first")

    def recovered() -> None:
        use.recover(store, key, worker_stopped=True)
        same(use.read(store, key), None)

    with refused(DecisionHistoryReservationLost):
        use.transact(store, key, while_running(recovered, NewItem(said("late"))))
    same(use.read(store, key), None)


def recovery_is_idempotent(use: Use) -> None:
    """HI-5, X11: without a reservation there is nothing to free; an unknown session is refused."""
    store, key = use.store(), use.key("idle")
    use.append(store, key, said("0"))
    use.recover(store, key, worker_stopped=True)
    use.recover(store, key, worker_stopped=True)
    same(use.messages(store, key), [said("0")])
    for unknown in (use.key("unknown"), use.key("idle", namespace="other")):
        with refused(DecisionHistoryNotFound):
            use.recover(store, unknown, worker_stopped=True)
