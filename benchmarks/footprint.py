"""What a worker holds, and what a state costs in both stores (PF-7)."""

from collections.abc import Mapping

import msgspec

from benchmarks.database import KEYS, STATES, hot_bytes, total_bytes
from benchmarks.ours import Ours
from benchmarks.plan import CLIENTS, SIZE
from benchmarks.processes import children_of, held_bytes
from benchmarks.scripts import body_of
from benchmarks.servers import Served

MOST_SECONDS = 60.0
"""Where the machine is busy, fewer states are as telling."""


class Growth(msgspec.Struct, frozen=True):
    """Bytes per state of 2 KB."""

    states: int
    row: float
    key: float
    hot: float


def growth(ours: Ours, variables: Mapping[str, str], *, states: int) -> Growth:
    """Store so many new states, and divide what both stores have grown by."""
    ours.fleet(states=CLIENTS, body=body_of(SIZE))  # what each connection costs is not a state's
    before = _sizes(variables)
    stored = ours.fleet(states=states, body=body_of(SIZE), most_seconds=MOST_SECONDS).states
    row, key, hot = (
        (after - earlier) / stored for earlier, after in zip(before, _sizes(variables), strict=True)
    )
    return Growth(states=stored, row=row, key=key, hot=hot)


def worker_bytes(served: Served) -> int:
    """Give what the largest process of the server's workers holds."""
    workers = [pid for part in served.parts for pid in children_of(part.child.pid)]
    return max(map(held_bytes, workers), default=0)


def _sizes(variables: Mapping[str, str]) -> tuple[int, int, int]:
    return total_bytes(variables, STATES), total_bytes(variables, KEYS), hot_bytes(variables)
