"""One whole run: everything is started, measured in turns and stopped again."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import msgspec

from benchmarks.assembly import Took, assemblies
from benchmarks.ceiling import ceiling
from benchmarks.contention import Contention, contention
from benchmarks.database import own_database, owner_url
from benchmarks.floors import RawReads, RawWrites
from benchmarks.footprint import Growth, growth, worker_bytes
from benchmarks.load import Over
from benchmarks.many_rows import ManyRows, many_rows
from benchmarks.ours import Ours
from benchmarks.peer_process import Peers, running_peers
from benchmarks.plan import CLIENTS, SIZE, Plan
from benchmarks.rounds import Contender, Slice, play
from benchmarks.scripts import Get, body_of
from benchmarks.servers import Served, running_hello, running_server
from benchmarks.sessions import Sessions, sessions
from benchmarks.stall import Stalls, stalls
from benchmarks.workspace import made_workspace

HELLO, EMPTY, READ, CAS, MERGE = "hello world", "empty DRF view", "our read", "our cas", "our merge_by_key"
RAW_WRITE, RAW_READ, CEILING = "raw UPDATE", "raw GET", "our load alone"


class Table(msgspec.Struct, frozen=True):
    """All that took turns with so many clients and values of a size."""

    clients: int
    size: int
    slices: Mapping[str, list[Slice]]


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What one run has seen."""

    plan: Plan
    tables: tuple[Table, ...]
    contention: Contention
    stalls: Stalls
    growth: Growth
    worker_bytes: int
    many_rows: ManyRows | None
    sessions: Sessions
    assemblies: Mapping[int, Took]
    peers: Mapping[str, str]
    seconds: float

    def table(self, *, clients: int, size: int = SIZE) -> Table:
        """Give the table of so many clients."""
        return next(table for table in self.tables if (table.clients, table.size) == (clients, size))


class Ground(msgspec.Struct, frozen=True):
    """What is up while it is measured."""

    ours: Ours
    served: Served
    hello: Served
    raw_writes: RawWrites
    raw_reads: RawReads
    peers: Peers
    variables: Mapping[str, str]


def measure(plan: Plan, *, variables: Mapping[str, str], folder: Path) -> Measured:
    """Run all of it."""
    began = time.monotonic()
    with ExitStack() as stack:
        ground = _ground(plan, stack, variables=variables, folder=folder)
        _tell("what a state costs")
        grown = growth(ground.ours, variables, states=plan.growth_states)
        tables = tuple(
            _table(ground, plan, clients=clients, size=size) for clients, size in _combinations(plan)
        )
        _tell("many writers of one state")
        contended = contention(ground.ours, rounds=plan.rounds, seconds=plan.slice_seconds)
        held = worker_bytes(ground.served)
        _tell("sessions of 10 to 10,000 messages")
        talked = sessions(ground.ours, plan)
        _tell("contexts of conversations of 100 records and more")
        assembled = assemblies(ground.ours, plan)
        many = _many_rows(ground, plan)
        _tell("a database that stands still")
        stalled = stalls(ground.ours, variables, rounds=plan.stall_rounds, seconds=plan.stall_seconds)
        return Measured(
            plan=plan,
            tables=tables,
            contention=contended,
            stalls=stalled,
            growth=grown,
            worker_bytes=held,
            many_rows=many,
            sessions=talked,
            assemblies=assembled,
            peers=ground.peers.versions,
            seconds=time.monotonic() - began,
        )


def _ground(plan: Plan, stack: ExitStack, *, variables: Mapping[str, str], folder: Path) -> Ground:
    _tell("servers, floors and peers")
    ours = {**variables, **plan.variables}
    key = made_workspace()
    served = stack.enter_context(running_server(variables=ours, folder=folder))
    hello = stack.enter_context(running_hello(variables=ours, folder=folder))
    owner = owner_url(variables)
    floor, peers = own_database(owner, "bench_floor"), own_database(owner, "bench_peers")
    process = stack.enter_context(running_peers(peers, log=folder / "peers.log"))
    process.open(clients=max(plan.peer_clients))
    return Ground(
        ours=Ours(served.address, key),
        served=served,
        hello=hello,
        raw_writes=stack.enter_context(RawWrites(floor)),
        raw_reads=stack.enter_context(RawReads(variables["HOT_STORE_URL"])),
        peers=process,
        variables=variables,
    )


def _combinations(plan: Plan) -> list[tuple[int, int]]:
    usual = [(clients, SIZE) for clients in plan.clients]
    return usual + [(CLIENTS, size) for size in plan.sizes if size != SIZE]


def _table(ground: Ground, plan: Plan, *, clients: int, size: int) -> Table:
    _tell(f"{clients} clients, {size} bytes")
    contenders: dict[str, Contender] = {
        HELLO: Over(ground.hello.address, [Get("/hello") for _ in range(clients)]),
        EMPTY: Over(ground.hello.address, [Get("/empty") for _ in range(clients)]),
        READ: ground.ours.reads(clients=clients, size=size),
        CAS: ground.ours.writes(mode="cas", clients=clients, size=size),
        MERGE: ground.ours.writes(mode="merge_by_key", clients=clients, size=size),
        RAW_WRITE: ground.raw_writes.contender(clients=clients, size=size),
        RAW_READ: ground.raw_reads.contender(clients=clients, size=size),
    }
    if clients in plan.peer_clients:
        contenders |= ground.peers.contenders(clients=clients, body=body_of(size))
    with ceiling(clients=clients) as alone:
        slices = play(contenders | {CEILING: alone}, rounds=plan.rounds, seconds=plan.slice_seconds)
    return Table(clients=clients, size=size, slices=slices)


def _many_rows(ground: Ground, plan: Plan) -> ManyRows | None:
    if plan.many_rows is None:
        return None
    _tell(f"a write beside {plan.many_rows:,} rows")
    return many_rows(ground.ours, ground.variables, ground.raw_writes, plan)


def _tell(what: str) -> None:
    print(f"  {time.strftime('%H:%M:%S')}  {what}", flush=True)
