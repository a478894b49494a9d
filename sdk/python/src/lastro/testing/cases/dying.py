"""`python -m lastro.testing.cases.dying KIND PLACE WORKER NAMESPACE SESSION`: reserve a session, say so, and wait.

The key of a server is read from the environment, as `lastro.testing` reads it: arguments can be seen by others.
"""

import os
import sys
import time

from lastro.history.contract import HistoryStore, View
from lastro.history.records import Outcome, SessionKey
from lastro.history.stores.server import ServerStore
from lastro.history.stores.sqlite import SqliteStore
from lastro.testing.cases.stage import KEY_VARIABLE, LONG


def main() -> None:
    """Hold a reservation until the end of the process."""
    kind, place, worker, namespace, session_id = sys.argv[1:]
    store: HistoryStore = (
        SqliteStore(place, ttl=LONG)
        if kind == "sqlite"
        else ServerStore(os.environ[KEY_VARIABLE], base_url=place)
    )
    store.transact(SessionKey(namespace, session_id), _held, worker=worker)


def _held(_: View | None) -> Outcome[None]:
    sys.stdout.write("reserved\n")
    sys.stdout.flush()
    time.sleep(600)
    return Outcome(None)


if __name__ == "__main__":
    main()
