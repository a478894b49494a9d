"""What was measured, held against the goals."""

from collections.abc import Iterator, Sequence
from math import inf

import msgspec

from benchmarks.plan import CLIENTS, CONTENDING, SIZE
from benchmarks.rounds import Slice, Spread, ratio, tail
from benchmarks.run import CAS, HELLO, MERGE, RAW_WRITE, READ, Measured

MIB = 1024 * 1024
SQLALCHEMY, ADK, SAVER = (
    "OpenAI SQLAlchemySession",
    "Google ADK DatabaseSessionService",
    "LangGraph AsyncPostgresSaver",
)
ASYNC_PEERS = (SQLALCHEMY, ADK, SAVER, "LangGraph AsyncPostgresStore", "OpenAI SQLiteSession")
PEERS_LACK = (
    "the peers have no HTTP, no authentication, no checks, no masking and no encryption, and run in process"
)


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One number of a goal. It must be at least, or at most, one bound; the other is where we are going."""

    what: str
    value: float
    low: float
    high: float
    must: float | None = None
    aim: float | None = None
    unit: str = "x"
    is_ceiling: bool = False

    def meets(self, bound: float | None) -> bool:
        """Tell whether the number is on the right side of a bound; where there is none it is."""
        if bound is None:
            return True
        return self.value <= bound if self.is_ceiling else self.value >= bound

    @property
    def margin(self) -> float:
        """Tell how far it is from what it must be: 1 is just met."""
        bound = self.must if self.must is not None else self.aim
        if not bound or not self.value:
            return inf if self.meets(bound) else 0.0
        return bound / self.value if self.is_ceiling else self.value / bound


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """One goal: its numbers, and what they leave out. `value` is the number that is nearest to failing."""

    what: str
    parts: tuple[Part, ...]
    leaves_out: str = ""

    @property
    def value(self) -> float:
        return min(self.parts, key=lambda part: part.margin).value

    @property
    def must_met(self) -> bool:
        return all(part.meets(part.must) for part in self.parts)

    @property
    def aim_met(self) -> bool:
        return self.must_met and all(part.meets(part.aim) for part in self.parts)


def goals(measured: Measured) -> dict[str, Goal]:
    """Give every goal that this run has numbers for."""
    return {
        "PF-1": _reads(measured),
        "PF-2": _writes(measured),
        "PF-3": _peers(measured),
        "PF-4": _growth(measured),
        "PF-5": _contention(measured),
        "PF-6": _tails(measured),
        "PF-7": _footprint(measured),
        "PF-8": _assemblies(measured),
        "PF-9": _stalls(measured),
    }


def _reads(measured: Measured) -> Goal:
    slices = {clients: measured.table(clients=clients).slices for clients in (CLIENTS, 32)}
    parts = tuple(
        _ratio(f"of hello world, {clients} clients", of[READ], of[HELLO], must=0.35, aim=0.60)
        for clients, of in slices.items()
    )
    leaves = "hello world has no key, feature, scope, decryption or expiry to look at, and answers 17 bytes"
    return Goal(what="a warm read of a 2 KB state", parts=parts, leaves_out=leaves)


def _writes(measured: Measured) -> Goal:
    of = measured.table(clients=CLIENTS).slices
    parts = (
        _ratio(f"cas of the raw UPDATE, {CLIENTS} clients", of[CAS], of[RAW_WRITE], must=0.18, aim=0.30),
        _ratio("merge_by_key of cas", of[MERGE], of[CAS], must=0.90),
    )
    leaves = "the raw UPDATE has no HTTP, no check, no masking, no encryption, no key row and no hot store"
    return Goal(what="a durable write of a 2 KB state", parts=parts, leaves_out=leaves)


def _peers(measured: Measured) -> Goal:
    of = measured.table(clients=CLIENTS).slices
    writes = ((SQLALCHEMY, 2.0, None), (ADK, 5.0, None), (SAVER, None, 1.0))
    parts = [
        _ratio(f"cas of {peer} write", of[CAS], of[f"{peer} write"], must=must, aim=aim)
        for peer, must, aim in writes
    ]
    parts += [
        _ratio(
            f"read of {peer} read",
            of[READ],
            of[f"{peer} read"],
            must=1.0 if peer in {SQLALCHEMY, ADK} else None,
            aim=1.0,
        )
        for peer in ASYNC_PEERS
    ]
    return Goal(what=f"over HTTP, of the peers, {CLIENTS} clients", parts=tuple(parts), leaves_out=PEERS_LACK)


def _growth(measured: Measured) -> Goal:
    leaves = "only the full run measures a state's write beside 2,000,000 rows"
    if measured.many_rows is not None:
        leaves = "a state's writes are both in raw writes of then"
    return Goal(what="while it grows", parts=tuple(_growth_parts(measured)), leaves_out=leaves)


def _growth_parts(measured: Measured) -> Iterator[Part]:
    many, sessions = measured.many_rows, measured.sessions
    if many is not None:
        what = f"a state's write beside {many.many:,} rows, of beside {many.few:,}, {many.warm:,} of them in turn"
        yield _spread(what, many.ratio, must=0.80)
    for name, slices in (("append", sessions.appends), ("window", sessions.windows)):
        least = min(slices)
        for length in sorted(slices)[1:]:
            what = f"a session's {name} at message {length:,}, of at {least:,}"
            yield _ratio(what, slices[length], slices[least], must=0.80)


def _contention(measured: Measured) -> Goal:
    found = measured.contention
    what = f"{CONTENDING} writers of one state, of {CONTENDING} states"
    parts = (
        _ratio(what, found.together, found.apart, must=0.25, aim=0.50),
        _number("lost writes", found.lost, must=0.0, unit="writes"),
    )
    return Goal(what="merges of different fields of one state", parts=parts)


def _tails(measured: Measured) -> Goal:
    of = measured.table(clients=CLIENTS).slices
    parts = tuple(
        _spread(f"{name}, p99 in medians, {CLIENTS} clients", tail(of[name]), must=5.0, is_ceiling=True)
        for name in (READ, CAS, MERGE)
    )
    return Goal(what="the slowest hundredth", parts=parts)


def _assemblies(measured: Measured) -> Goal:
    most = {10_000: 50.0}
    parts = tuple(
        _number(f"of {size:,} records", took.whole, must=most.get(size), unit="ms")
        for size, took in sorted(measured.assemblies.items())
    )
    parts += tuple(
        _number(f"{min(size, 500):,} records recorded, of {size:,}", took.recording, must=None, unit="ms")
        for size, took in sorted(measured.assemblies.items())
    )
    leaves = "of a context what the server takes to find, decide and write it out; not to keep its record, nor HTTP"
    return Goal(what="a context, at the median", parts=parts, leaves_out=leaves)


def _footprint(measured: Measured) -> Goal:
    grown = measured.growth
    parts = (
        _number("the largest web worker after the load", measured.worker_bytes / MIB, must=120.0, unit="MiB"),
        _number("a state of 2 KB in PostgreSQL", grown.row + grown.key, must=4096.0, unit="bytes"),
        _number("a state of 2 KB in the hot store", grown.hot, must=3584.0, unit="bytes"),
    )
    leaves = (
        f"over {grown.states:,} new states of {SIZE} bytes, indexes, TOAST and key rows ({grown.key:.0f}) in"
    )
    return Goal(what="memory and disk", parts=parts, leaves_out=leaves)


def _stalls(measured: Measured) -> Goal:
    return Goal(
        what=f"warm reads during a stall with {CONTENDING} writes in flight, of those before it",
        parts=tuple(_stall_parts(measured)),
    )


def _stall_parts(measured: Measured) -> Iterator[Part]:
    yield _spread("the states' table locked", measured.stalls.locked, must=0.80)
    if measured.stalls.stopped is not None:
        yield _spread("PostgreSQL stopped", measured.stalls.stopped, must=0.80)


def _ratio(
    what: str,
    ours: Sequence[Slice],
    theirs: Sequence[Slice],
    *,
    must: float | None = None,
    aim: float | None = None,
) -> Part:
    return _spread(what, ratio(ours, theirs), must=must, aim=aim)


def _spread(
    what: str,
    seen: Spread,
    *,
    must: float | None = None,
    aim: float | None = None,
    is_ceiling: bool = False,
) -> Part:
    return Part(
        what=what,
        value=seen.middle,
        low=seen.low,
        high=seen.high,
        must=must,
        aim=aim,
        is_ceiling=is_ceiling,
    )


def _number(what: str, value: float, *, must: float | None, unit: str) -> Part:
    return Part(what=what, value=value, low=value, high=value, must=must, unit=unit, is_ceiling=True)
