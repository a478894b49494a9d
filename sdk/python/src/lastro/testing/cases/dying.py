"""`python -m lastro.testing.cases.dying KIND PLACE WORKER SESSION`: reserve a session, say so, and wait for the end."""

import sys
import time

from lastro.history.contract import HistoryStore, View
from lastro.history.records import Outcome, SessionKey
from lastro.history.stores.sqlite import SqliteStore
from lastro.testing.cases.stage import LONG


def main() -> None:
    """Hold a reservation until the end of the process."""
    kind, place, worker, session_id = sys.argv[1:]
    store = _store(kind, place)
    store.transact(SessionKey("case", session_id), _held, worker=worker)


def _store(kind: str, place: str) -> HistoryStore:
    if kind != "sqlite":
        raise SystemExit(f"no store of this kind: {kind}")
    return SqliteStore(place, ttl=LONG)


def _held(_: View | None) -> Outcome[None]:
    sys.stdout.write("reserved\n")
    sys.stdout.flush()
    time.sleep(600)
    return Outcome(None)


if __name__ == "__main__":
    main()
