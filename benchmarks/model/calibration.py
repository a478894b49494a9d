"""Our server with one web worker and with two, in turns: what an operation takes, and what is measured (PL-14)."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import perf_counter

import msgspec
import psycopg

from benchmarks.database import own_database, owner_url
from benchmarks.load import Over
from benchmarks.model.accounting import (
    FRONT,
    LOAD,
    POSTGRES,
    READER,
    VALKEY,
    WRITER,
    Turn,
    Watched,
    quietest,
    roots_of,
)
from benchmarks.model.layouts import Demand
from benchmarks.ours import Ours
from benchmarks.plan import CLIENTS, SIZE
from benchmarks.rounds import play
from benchmarks.servers import running_server
from benchmarks.workspace import made_workspace
from console.embedded.parts import Size

SYNCS = 200
READ, WRITE = "read", "write"
WEB = {READ: READER, WRITE: WRITER}
CALIBRATION, MEASUREMENT = "calibration", "measurement"
TAKES = {1: (CALIBRATION, MEASUREMENT), 2: (MEASUREMENT,)}
"""With so many workers, what turns are for: no prediction is held against the turns that it was made from.

Both have as many clients: with fewer of them each part wakes up more often for an operation, which costs more.
"""

SYNC_TABLE = "CREATE TABLE sync (value bigint); INSERT INTO sync VALUES (0)"
COMMIT = "UPDATE sync SET value = value + 1"


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What one run has seen: turns by operation, of the calibration, of one worker and of two; the disk's wait."""

    calibrated: Mapping[str, Sequence[Turn]]
    measured: Mapping[tuple[str, int], Sequence[Turn]]
    disk_seconds: float

    def calls(self, operation: str) -> tuple[float, float]:
        """Give how often Valkey is called for one operation, and how long that takes in it."""
        turns = self.calibrated[operation]
        return median(turn.calls for turn in turns), median(turn.call_seconds for turn in turns)

    def demand(self, operation: str) -> Demand:
        """Give what one operation takes: medians over the turns of the calibration."""
        turns = self.calibrated[operation]
        web = WEB[operation]
        return Demand(
            load=_both(turns, LOAD),
            front=_both(turns, FRONT),
            locked=median(turn.used[web].user for turn in turns),
            free=median(turn.used[web].system for turn in turns),
            valkey=_both(turns, VALKEY),
            postgres=_both(turns, POSTGRES),
            disk=self.disk_seconds if operation == WRITE else 0.0,
        )


def calibrate(*, variables: Mapping[str, str], folder: Path, rounds: int, seconds: float) -> Seen:
    """Let all of them take turns. Raises NotHere, WrongAnswer."""
    key = made_workspace()
    disk_seconds = _disk_seconds(own_database(owner_url(variables), "bench_model"))
    with ExitStack() as stack:
        contenders = {
            (operation, workers, purpose): watched
            for workers in TAKES
            for (operation, purpose), watched in _watched(
                stack, key, variables=variables, folder=folder, workers=workers
            ).items()
        }
        play({str(name): watched for name, watched in contenders.items()}, rounds=rounds, seconds=seconds)
    # Without those to warm up.
    turns = {name: quietest(watched.turns[-rounds:]) for name, watched in contenders.items()}
    return Seen(
        calibrated={operation: turns[operation, 1, CALIBRATION] for operation in WEB},
        measured={
            (operation, workers): turns[operation, workers, MEASUREMENT]
            for operation in WEB
            for workers in TAKES
        },
        disk_seconds=disk_seconds,
    )


def _watched(
    stack: ExitStack, key: str, *, variables: Mapping[str, str], folder: Path, workers: int
) -> dict[tuple[str, str], Watched]:
    """Start a server with so many workers, and give its contenders."""
    size, place = Size(workers=workers), folder / f"workers-{workers}"
    served = stack.enter_context(running_server(variables=variables, folder=place, size=size))
    ours, roots = Ours(served.address, key), roots_of(served, variables)
    store = variables["HOT_STORE_URL"]
    return {
        (operation, purpose): Watched(_over(ours, operation), roots, hot_store=store)
        for purpose in TAKES[workers]
        for operation in WEB
    }


def _over(ours: Ours, operation: str) -> Over:
    if operation == READ:
        return ours.reads(clients=CLIENTS, size=SIZE)
    return ours.writes(mode="cas", clients=CLIENTS, size=SIZE)


def _both(turns: Sequence[Turn], part: str) -> float:
    return median(turn.used[part].both for turn in turns)


def _disk_seconds(url: str) -> float:
    """Tell how much longer a commit takes that waits for the disk than one that does not."""
    took: dict[str, list[float]] = {"on": [], "off": []}
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SYNC_TABLE)
        for number in range(SYNCS):
            wanted = "off" if number % 2 else "on"
            connection.execute(f"SET synchronous_commit = {wanted}")
            before = perf_counter()
            connection.execute(COMMIT, prepare=True)
            took[wanted].append(perf_counter() - before)
    return max(0.0, median(took["on"]) - median(took["off"]))
