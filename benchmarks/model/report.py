"""What the model says beside what was measured, and what it says of more machines, in Markdown."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

import msgspec

from benchmarks.model.accounting import Turn
from benchmarks.model.calibration import READ, WRITE, Seen
from benchmarks.model.layouts import CORES, FULL, Demand, Layout, Mix, here, needed, spread_out
from benchmarks.model.queues import Load, limits, solve
from benchmarks.plan import CLIENTS, SIZE
from benchmarks.rounds import Spread, spread

AIM = 0.20
USUAL = 80
MIXES = (95, USUAL, 50, 0)
LAYOUTS = (
    Layout(web=1),
    Layout(web=2),
    Layout(web=4),
    Layout(web=8),
    Layout(web=16),
    Layout(web=16, hot_stores=4),
    Layout(web=16, database_cores=32, hot_stores=4),
    Layout(web=64, database_cores=32, hot_stores=16),
    Layout(web=64, databases=4, database_cores=32, hot_stores=16),
)
RATES = (1_000, 10_000, 100_000)
LEFT_OUT = f"""
- Work is counted in seconds of these cores; other processors do it in other times.
- Between machines there is a network: it adds a delay to each call, and TCP costs more than the Unix sockets that stand
  here between the server and its stores. TLS is ended elsewhere.
- PostgreSQL counts as cores alone: no vacuum, no checkpoint under a large load, no lock inside it that many cores
  contend for, no disk that is full. Beyond about 16 cores this is optimistic.
- Valkey's time for a call is taken where it has little to do, and wakes up for each; with much to do it takes less. Its
  lines err to the low side.
- All reads are warm, and all writes find their state known and nobody else at it. A first write of a state makes a key
  in the other database, and commits there too.
- Load is spread evenly over workers, machines, servers of PostgreSQL and owners of slots. Nothing fails.
- States have {SIZE:,} bytes; every second writer names its customer and sends an Idempotency-Key.
- A cluster of Valkey is not built (a look at several names is one call, to one node), nor are workspaces spread over
  servers of PostgreSQL: those lines tell what it would bring.
"""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One operation with so many workers: what was measured in each turn, and what the model says for that turn."""

    operation: str
    workers: int
    loads: Sequence[Load]
    turns: Sequence[Turn]

    @property
    def predicted_rate(self) -> float:
        return median(load.rate for load in self.loads)

    @property
    def predicted_ms(self) -> float:
        return 1000 * median(load.median_seconds for load in self.loads)

    @property
    def rate(self) -> Spread:
        return spread([turn.done.rate for turn in self.turns])

    @property
    def median_ms(self) -> Spread:
        return spread([turn.done.median_ms for turn in self.turns])

    @property
    def rate_error(self) -> float:
        return median(load.rate / turn.done.rate - 1 for load, turn in self._pairs())

    @property
    def median_error(self) -> float:
        return median(1000 * load.median_seconds / turn.done.median_ms - 1 for load, turn in self._pairs())

    def _pairs(self) -> Iterator[tuple[Load, Turn]]:
        return zip(self.loads, self.turns, strict=True)

    @property
    def cores(self) -> float:
        return median(turn.cores_left for turn in self.turns)

    @property
    def took(self) -> float:
        """Give the seconds of a core that an operation took when this was measured."""
        return median(turn.total for turn in self.turns)

    @property
    def largest_share(self) -> float:
        return median(turn.largest_share for turn in self.turns)


def compared(seen: Seen) -> list[Compared]:
    """Predict for the cores that others left in each turn, and put what was measured in it beside it."""
    return [
        _compared(seen.demand(operation), operation, workers, turns)
        for (operation, workers), turns in seen.measured.items()
    ]


def as_markdown(seen: Seen, about: Mapping[str, str]) -> str:
    """Give the whole report."""
    return "\n".join(_lines(seen, about))


def _compared(demand: Demand, operation: str, workers: int, turns: Sequence[Turn]) -> Compared:
    networks = [here(demand, workers=workers, cores=turn.cores_left) for turn in turns]
    loads = [solve(network, clients=CLIENTS) for network in networks]
    return Compared(operation=operation, workers=workers, loads=loads, turns=turns)


def _lines(seen: Seen, about: Mapping[str, str]) -> Iterator[str]:
    yield "## A model of the load"
    yield ""
    yield from (f"- {name}: {value}" for name, value in about.items())
    yield ""
    yield f"### What one operation takes ({CLIENTS} clients, one web worker, milliseconds of a core)"
    yield ""
    yield from _demand_table(seen)
    yield ""
    yield f"### Predicted and measured, {CLIENTS} clients, this machine"
    yield ""
    yield from _comparison(compared(seen))
    yield ""
    yield from _prediction(seen)


def _demand_table(seen: Seen) -> Iterator[str]:
    yield "| | load | front | worker, its lock | worker, kernel | Valkey | PostgreSQL | all | waits for the disk |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for operation in (READ, WRITE):
        demand = seen.demand(operation)
        parts = (demand.load, demand.front, demand.locked, demand.free, demand.valkey, demand.postgres)
        times = (*parts, demand.total, demand.disk)
        yield f"| {operation} | " + " | ".join(f"{1000 * time:.3f}" for time in times) + " |"
    yield ""
    for operation in (READ, WRITE):
        calls, seconds = seen.calls(operation)
        yield f"- a {operation} calls Valkey {calls:.1f} times, which takes {1000 * seconds:.3f} ms inside these calls"


def _comparison(found: Sequence[Compared]) -> Iterator[str]:
    yield (
        "| | workers | predicted /s | measured /s | error | predicted median ms | measured | error "
        "| core ms when measured | cores that others left | quiet turns | busiest worker |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for each in found:
        yield (
            f"| {each.operation} | {each.workers} | {each.predicted_rate:,.0f} | {_spread(each.rate, 0)} "
            f"| {each.rate_error:+.0%} | {each.predicted_ms:.2f} | {_spread(each.median_ms, 2)} "
            f"| {each.median_error:+.0%} | {1000 * each.took:.3f} | {each.cores:.2f} "
            f"| {sum(turn.is_quiet for turn in each.turns)} | {each.largest_share:.0%} |"
        )
    yield ""
    yield _verdict(found)


def _verdict(found: Sequence[Compared]) -> str:
    worst = max(max(abs(each.rate_error), abs(each.median_error)) for each in found)
    told = f"The largest error is {worst:.0%}; the aim is {AIM:.0%}: {'met' if worst <= AIM else 'not met'}."
    if not all(turn.is_quiet for each in found for turn in each.turns):
        told += " Others used this machine meanwhile: it is to be run again on a quiet one."
    return told


def _prediction(seen: Seen) -> Iterator[str]:
    read, write = seen.demand(READ), seen.demand(WRITE)
    yield f"### A prediction only: more machines, {CORES} of these cores each"
    yield ""
    yield (
        "Nothing of this was measured. PostgreSQL and Valkey have machines of their own, each web machine a front and "
        f"{CORES} workers of each kind. The rate is the one at which the first station has no time left; plan for "
        f"{FULL:.0%} of it."
    )
    yield ""
    yield "| reads of a hundred | web machines | PostgreSQL | owners of slots | per second | full first | then |"
    yield "|---|---|---|---|---|---|---|"
    for layout in LAYOUTS:
        yield _layout_row(Mix(read=read, write=write, reads=USUAL), layout)
    yield ""
    yield f"What a rate takes, with every station {FULL:.0%} full:"
    yield ""
    yield "| per second | reads of a hundred | web machines | cores of PostgreSQL, writes a second | owners of slots |"
    yield "|---|---|---|---|---|"
    for rate in RATES:
        for reads in MIXES:
            yield _needed_row(Mix(read=read, write=write, reads=reads), rate)
    yield ""
    yield "What it leaves out:"
    yield LEFT_OUT


def _layout_row(mix: Mix, layout: Layout) -> str:
    first, second = limits(spread_out(mix, layout))[:2]
    return (
        f"| {mix.reads} | {layout.web} | {layout.databases} with {layout.database_cores} cores "
        f"| {layout.hot_stores} | {first.rate:,.0f} | {first.name} | {second.name}, at {second.rate:,.0f} |"
    )


def _needed_row(mix: Mix, rate: int) -> str:
    takes, writes = needed(mix, rate=rate), rate * (100 - mix.reads) // 100
    cores = f"{takes.database_cores}, {writes:,}" if writes else "none"
    return f"| {rate:,} | {mix.reads} | {takes.web} | {cores} | {takes.hot_stores} |"


def _spread(seen: Spread, digits: int) -> str:
    return f"{seen.middle:,.{digits}f} ({seen.low:,.{digits}f} to {seen.high:,.{digits}f})"
