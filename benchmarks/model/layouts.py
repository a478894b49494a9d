"""From what an operation takes to the machines that it runs on: this one, and more of them (pure)."""

from math import ceil

import msgspec

from benchmarks.model.queues import Machine, Network, Part

HERE, WEB, DATABASE, HOT_STORE = "this machine", "web machines", "PostgreSQL's machine", "Valkey's machine"
CORES = 8
"""Of each machine in a prediction."""
FULL = 0.7
"""How full a station is planned to be: beyond that, waiting grows faster than the work."""


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of a core that one operation takes in each part, and the seconds that it waits for the disk."""

    load: float = 0.0
    front: float = 0.0
    locked: float = 0.0
    """In a web worker's own program, under its interpreter's lock."""
    free: float = 0.0
    """In the kernel for a web worker, without the lock."""
    valkey: float = 0.0
    postgres: float = 0.0
    disk: float = 0.0

    @property
    def web(self) -> float:
        """Give what a web machine does for it."""
        return self.front + self.locked + self.free

    @property
    def total(self) -> float:
        """Give what one machine does for it that has all of the parts."""
        return self.load + self.web + self.valkey + self.postgres


class Mix(msgspec.Struct, frozen=True, kw_only=True):
    """So many reads of a hundred operations; the others are writes."""

    read: Demand
    write: Demand
    reads: int

    def each(self, part: str) -> float:
        """Give what an operation takes in a part, on average."""
        read: float = getattr(self.read, part)
        write: float = getattr(self.write, part)
        return (self.reads * read + (100 - self.reads) * write) / 100


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """So many machines of each kind."""

    web: int = 1
    databases: int = 1
    database_cores: int = CORES
    hot_stores: int = 1


def here(demand: Demand, *, workers: int, cores: float) -> Network:
    """Give everything on one machine, the load too, for operations of one kind."""
    parts = (
        _part("load", HERE, demand.load, copies=1),
        _part("front", HERE, demand.front),
        _part("a web worker's lock", HERE, demand.locked, copies=workers),
        _part("web workers in the kernel", HERE, demand.free),
        _part("Valkey", HERE, demand.valkey, copies=1),
        _part("PostgreSQL", HERE, demand.postgres),
    )
    return Network(machines={HERE: Machine(cores)}, parts=parts, delay_seconds=demand.disk)


def spread_out(mix: Mix, layout: Layout) -> Network:
    """Give a mix on machines of their own: web machines with their front, PostgreSQL, Valkey; the clients elsewhere.

    Each web machine has as many workers of each kind as cores.
    """
    reads, writes, workers = mix.reads / 100, 1 - mix.reads / 100, CORES * layout.web
    parts = (
        _part("front", WEB, mix.each("front")),
        _part("readers' locks", WEB, reads * mix.read.locked, copies=workers),
        _part("writers' locks", WEB, writes * mix.write.locked, copies=workers),
        _part("web workers in the kernel", WEB, mix.each("free")),
        _part("Valkey's one thread", HOT_STORE, mix.each("valkey"), copies=layout.hot_stores),
        _part("PostgreSQL", DATABASE, mix.each("postgres")),
    )
    machines = {
        WEB: Machine(CORES, layout.web),
        DATABASE: Machine(layout.database_cores, layout.databases),
        HOT_STORE: Machine(CORES, layout.hot_stores),
    }
    return Network(machines=machines, parts=parts, delay_seconds=mix.each("disk"))


class Needed(msgspec.Struct, frozen=True):
    """What a rate takes, with every station as full as is planned for."""

    web: int
    database_cores: int
    hot_stores: int


def needed(mix: Mix, *, rate: float) -> Needed:
    """Tell what it takes to do so many operations of a mix a second."""
    return Needed(
        web=ceil(rate * mix.each("web") / FULL / CORES),
        database_cores=ceil(rate * mix.each("postgres") / FULL),
        hot_stores=ceil(rate * mix.each("valkey") / FULL),
    )


def _part(name: str, machine: str, seconds: float, *, copies: int | None = None) -> Part:
    return Part(name=name, machine=machine, seconds=seconds, copies=copies)
