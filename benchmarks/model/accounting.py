"""What the processes of each part have used of the cores, as the kernel counts it (`/proc`, Linux)."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import msgspec
import valkey

from benchmarks.database import owner_url
from benchmarks.load import Over
from benchmarks.processes import children_of
from benchmarks.rounds import Slice
from benchmarks.servers import Served
from benchmarks.stall import postmaster_of

LOAD, FRONT, READER, WRITER, VALKEY, POSTGRES = "load", "front", "reader", "writer", "Valkey", "PostgreSQL"
TICKS = os.sysconf("SC_CLK_TCK")


class NotHere(Exception):
    """The parts do not run on this machine, or the kernel does not tell what they use."""


class Used(msgspec.Struct, frozen=True):
    """Seconds of a core: in the program itself, and in the kernel for it."""

    user: float = 0.0
    system: float = 0.0

    @property
    def both(self) -> float:
        return self.user + self.system

    def __add__(self, other: "Used") -> "Used":
        return Used(self.user + other.user, self.system + other.system)

    def __sub__(self, other: "Used") -> "Used":
        return Used(self.user - other.user, self.system - other.system)


class Counters(msgspec.Struct, frozen=True):
    """What each process of each part has used since it began, and Valkey's calls."""

    processes: Mapping[str, Mapping[int, Used]]
    calls: int
    call_seconds: float


QUIET = 0.25
"""Of a core: where others used more than this, a turn is no proof."""
ENOUGH = 3


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of some clients: what was answered, and what each part used for one operation."""

    done: Slice
    used: Mapping[str, Used]
    cores_left: float
    """What nobody else used of the machine meanwhile."""
    calls: float
    """How often Valkey was called for one operation."""
    call_seconds: float
    """How long all of these calls took in Valkey, without its waking up and its connections."""
    largest_share: float
    """What the busiest web worker did of what all of them did."""

    @property
    def total(self) -> float:
        """Give the seconds of a core that one operation took."""
        return sum(used.both for used in self.used.values())

    @property
    def is_quiet(self) -> bool:
        """Tell whether others left the machine to us."""
        return self.cores_left >= cores() - QUIET


def quietest(turns: Sequence[Turn]) -> Sequence[Turn]:
    """Give the turns in which others left the machine to us; all of them where there are not enough."""
    quiet = [turn for turn in turns if turn.is_quiet]
    return quiet if len(quiet) >= ENOUGH else turns


class Watched:
    """A contender whose turns are accounted."""

    def __init__(self, over: Over, roots: Mapping[str, int], *, hot_store: str) -> None:
        self._over, self._roots = over, roots
        self._store: Any = valkey.Valkey.from_url(hot_store)
        self.turns: list[Turn] = []

    def run(self, seconds: float) -> Slice:
        """Play a turn, and keep what was used in it where nothing was refused."""
        before, machine, own, began = self._read(), _machine(), process_time(), perf_counter()
        done = self._over.run(seconds)
        took, own, machine = perf_counter() - began, process_time() - own, _machine() - machine
        spent = _spent(before, after := self._read())
        if not done.failed:
            totals = {part: sum(each.values(), Used()) for part, each in spent.items()} | {LOAD: Used(own)}
            others = machine - sum(total.both for total in totals.values())
            answered = done.count + len(self._over.scripts)  # what was in flight at the end is answered too
            turn = Turn(
                done=done,
                used={
                    part: Used(each.user / answered, each.system / answered) for part, each in totals.items()
                },
                cores_left=cores() - max(0.0, others) / took,
                calls=(after.calls - before.calls) / answered,
                call_seconds=(after.call_seconds - before.call_seconds) / answered,
                largest_share=_largest_share([*spent[READER].values(), *spent[WRITER].values()]),
            )
            self.turns.append(turn)
        return done

    def _read(self) -> Counters:
        found = self._store.info("commandstats").get("cmdstat_evalsha", {"calls": 0, "usec": 0})
        processes = {part: _processes(root) for part, root in self._roots.items()}
        return Counters(processes, found["calls"], found["usec"] / 1_000_000)


def roots_of(served: Served, variables: Mapping[str, str]) -> dict[str, int]:
    """Give the first process of each part but the load, which is this one. Raises NotHere."""
    postmaster = postmaster_of(owner_url(variables))
    store: Any = valkey.Valkey.from_url(variables["HOT_STORE_URL"]).info("server")
    if postmaster is None or not Path(f"/proc/{store['process_id']}/stat").exists():
        raise NotHere("The model is calibrated on embedded services, on Linux: their processes are not here.")
    web = {part.name: part.child.pid for part in served.parts}
    return {**web, VALKEY: store["process_id"], POSTGRES: postmaster}


def cores() -> int:
    """Tell how many cores this machine has for us."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processes(root: int) -> dict[int, Used]:
    return {process: now for process in (root, *children_of(root)) if (now := _used_by(process)) is not None}


def _used_by(process: int) -> Used | None:
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:  # it has ended
        return None
    fields = text.rpartition(")")[2].split()
    return Used(int(fields[11]) / TICKS, int(fields[12]) / TICKS)


def _machine() -> float:
    """Give the seconds of a core that anything has used, and those that a host has kept."""
    line = Path("/proc/stat").read_text().split("\n", 1)[0]
    user, nice, system, _idle, _disk, irq, softirq, stolen = map(int, line.split()[1:9])
    return (user + nice + system + irq + softirq + stolen) / TICKS


def _spent(before: Counters, after: Counters) -> dict[str, dict[int, Used]]:
    return {
        part: {process: now - before.processes[part].get(process, Used()) for process, now in found.items()}
        for part, found in after.processes.items()
    }


def _largest_share(workers: list[Used]) -> float:
    total = sum(worker.both for worker in workers)
    return max(worker.both for worker in workers) / total if total else 0.0
