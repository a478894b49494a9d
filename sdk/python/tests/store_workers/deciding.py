"""Decides once: says `running` while it does, and `stored` or the refusal's name and worker."""

import sys

from lastro.history import NewItem, Outcome, SessionKey, SqliteStore
from lastro.history.contract import View
from lastro.history.errors import DecisionHistoryBusy


def main(file: str, name: str) -> None:
    """Decide when told so."""
    store = SqliteStore(file)

    def operation(_: View | None) -> Outcome[None]:
        say("running")
        sys.stdin.readline()
        return Outcome(None, (NewItem({"by": name}),))

    sys.stdin.readline()
    try:
        store.transact(SessionKey("n", session_id="s"), operation, worker=name)
    except DecisionHistoryBusy as busy:
        say(f"busy {busy.worker}")
    else:
        say("stored")


def say(line: str) -> None:
    """Say a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
