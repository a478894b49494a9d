"""Saves batch after batch, and says each number once it is saved; ends itself at a step of SQLite's when told so."""

import itertools
import os
import signal
import sys

from lastro.history import NewItem, Outcome, SessionKey, SqliteStore
from lastro.history.contract import View
from lastro.history.records import Head, Summary
from lastro.history.stores.appends import removal
from store_workers.deciding import say

BATCH = 5
KEY = SessionKey("n", session_id="s")


def batch(number: int) -> Outcome[int]:
    """Give what one batch saves: messages, and a head that says which batch it was."""
    items = tuple(NewItem({"batch": number, "n": n, "text": "x" * 700}) for n in range(BATCH))
    summary = Summary(f"batch {number}", number + 1, "d", "t")
    return Outcome(number, items, Head(conversation=f"c-{number}", summary=summary))


def opaque(number: int) -> Outcome[None]:
    """Give a record that is kept and one that takes it back."""
    kept = NewItem({"opaque": number}, id=f"o{number}", kind="opaque")
    return Outcome(None, (kept, removal([f"o{number}"])))


def saved(view: View | None) -> Outcome[int]:
    """Save the batch behind the last one."""
    return batch(0 if view is None or view.head.summary is None else view.head.summary.covers)


def main(file: str, steps: str) -> None:
    """Save until the end."""
    store = SqliteStore(file)
    if int(steps):
        end_at(store, int(steps))
    say("ready")
    for number in itertools.count():
        say(str(store.transact(KEY, saved, worker="writer")))
        store.transact(SessionKey("n", session_id="o"), lambda _, number=number: opaque(number))  # type: ignore[misc]
        store.delete(SessionKey("n", session_id="f"))
        store.fork(KEY, SessionKey("n", session_id="f"), at=store.read(KEY).items[-1].id)  # type: ignore[union-attr]


def end_at(store: SqliteStore, steps: int) -> None:
    """End the process at a step inside a statement, where nothing can be tidied up."""
    left = itertools.count(steps, -1)

    def step() -> int:
        if next(left) <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    connection = store._connection._connection
    assert connection is not None
    connection.set_progress_handler(step, 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
