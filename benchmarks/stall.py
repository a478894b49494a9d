"""A database that stands still while agents go on writing (PF-9)."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import msgspec
import psycopg

from benchmarks.database import STATES, folder_of, owner_url
from benchmarks.load import Over
from benchmarks.ours import Ours
from benchmarks.plan import CLIENTS, CONTENDING, SIZE
from benchmarks.processes import children_of
from benchmarks.rounds import Slice, Spread, spread

SETTLE_SECONDS = 0.3
RECOVERY_SECONDS = 60.0


class Stalls(msgspec.Struct, frozen=True):
    """Reads of other states during a stall, of those before it."""

    locked: Spread
    stopped: Spread | None


def stalls(ours: Ours, variables: Mapping[str, str], *, rounds: int, seconds: float) -> Stalls:
    """Read before and during each kind of stall, several times."""
    reads = ours.reads(clients=CLIENTS, size=SIZE)
    impatient = Over(ours.address, reads.scripts, is_patient=False)
    url = owner_url(variables)
    kinds: dict[str, Callable[[], AbstractContextManager[None]]] = {"locked": lambda: locked(url)}
    postmaster = postmaster_of(url)
    if postmaster is not None:
        kinds["stopped"] = lambda: stopped(postmaster)
    kept: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for kind, stall in kinds.items():
            before = reads.run(seconds / 2)
            with stall(), writes_in_flight(ours, seconds + 1):
                during = impatient.run(seconds)
            kept[kind].append(during.rate / before.rate if before.rate else 0.0)
            _recover(impatient)
    return Stalls(
        locked=spread(kept["locked"]), stopped=spread(kept["stopped"]) if "stopped" in kept else None
    )


@contextmanager
def locked(url: str) -> Iterator[None]:
    """Hold the table of the states as a migration would."""
    with psycopg.connect(url) as connection:
        connection.execute(f"LOCK TABLE {STATES} IN ACCESS EXCLUSIVE MODE")
        yield
        connection.rollback()


@contextmanager
def stopped(postmaster: int) -> Iterator[None]:
    """Stop the database and every process of it, and let them go on at the end whatever happens."""
    os.kill(postmaster, signal.SIGSTOP)  # first, so that no more of them come
    processes = [*children_of(postmaster), postmaster]
    try:
        for process in processes:
            _send(process, signal.SIGSTOP)
        yield
    finally:
        for process in processes:
            _send(process, signal.SIGCONT)


@contextmanager
def writes_in_flight(ours: Ours, seconds: float) -> Iterator[None]:
    """Keep writes waiting for the database, each of a state of its own."""
    scripts = [ours.write("merge_by_key", SIZE) for _ in range(CONTENDING)]
    over = Over(ours.address, scripts, is_patient=False)
    thread = threading.Thread(target=_quietly, args=(over, seconds))
    thread.start()
    time.sleep(SETTLE_SECONDS)
    yield
    thread.join()


def postmaster_of(url: str) -> int | None:
    """Give the process of the embedded database, or none where it is somebody else's."""
    folder = folder_of(url)
    try:
        return int((Path(folder or "") / "data" / "postmaster.pid").read_text().splitlines()[0])
    except (OSError, ValueError, IndexError):
        return None


def _quietly(over: Over, seconds: float) -> None:
    with suppress(OSError):
        over.run(seconds)


def _recover(reads: Over) -> None:
    deadline = time.monotonic() + RECOVERY_SECONDS
    done = Slice(count=0, seconds=1)
    while not done.count and time.monotonic() < deadline:
        with suppress(OSError):
            done = reads.run(0.5)


def _send(process: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)
