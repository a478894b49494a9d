"""The queueing model: what is known in closed form comes out, bounds hold, and more of anything is never worse."""

from collections.abc import Sequence
from itertools import product
from math import factorial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.model.accounting import Turn, Used
from benchmarks.model.calibration import READ, WRITE, Seen
from benchmarks.model.layouts import CORES, FULL, Demand, Layout, Mix, here, needed, spread_out
from benchmarks.model.queues import Machine, Network, Part, limits, solve
from benchmarks.model.report import as_markdown, compared
from benchmarks.rounds import Slice

ONE = "one machine"
READING = Demand(load=0.00004, front=0.0001, locked=0.0003, free=0.00005, valkey=0.00003)
WRITING = Demand(
    load=0.00005, front=0.00012, locked=0.0008, free=0.0001, valkey=0.0001, postgres=0.0003, disk=0.0001
)

seconds = st.floats(0.0001, 0.01)
demands = st.builds(
    Demand,
    load=seconds,
    front=seconds,
    locked=seconds,
    free=seconds,
    valkey=seconds,
    postgres=seconds,
    disk=seconds,
)


def network(*parts: Part, cores: float, delay: float = 0.0) -> Network:
    return Network(machines={ONE: Machine(cores)}, parts=parts, delay_seconds=delay)


def part(seconds: float, *, copies: int | None = None, name: str = "it") -> Part:
    return Part(name=name, machine=ONE, seconds=seconds, copies=copies)


def repairman(*, machines: int, works: float, repair: float) -> float:
    """Give the rate of the one who repairs so many machines (M/M/1//N)."""
    ratio = repair / works
    weights = [factorial(machines) / factorial(machines - down) * ratio**down for down in range(machines + 1)]
    return (1 - 1 / sum(weights)) / repair


def exactly(parts: Sequence[Part], *, cores: float, clients: int) -> float:
    """Give the rate of parts in a row that share cores, by the balance of each state of their Markov chain."""
    states = [state for state in product(range(clients + 1), repeat=len(parts)) if sum(state) == clients]
    chances = dict.fromkeys(states, 1 / len(states))
    into: dict[tuple[int, ...], list[tuple[tuple[int, ...], float]]] = {state: [] for state in states}
    leaves = {}
    for state in states:
        runs = [min(count, part.copies or count) for count, part in zip(state, parts, strict=True)]
        slowed = min(1.0, cores / sum(runs))
        rates = [run * slowed / part.seconds for run, part in zip(runs, parts, strict=True)]
        leaves[state] = rates
        for place, rate in enumerate(rates):
            after = list(state)
            after[place] -= 1
            after[(place + 1) % len(parts)] += 1
            if rate:
                into[tuple(after)].append((state, rate))
    for _ in range(300):
        for state in states:
            inflow = sum(chances[other] * rate for other, rate in into[state])
            chances[state] = (chances[state] + inflow / sum(leaves[state])) / 2
        total = sum(chances.values())
        chances = {state: chance / total for state, chance in chances.items()}
    return sum(chance * leaves[state][0] for state, chance in chances.items())


@pytest.mark.parametrize("cores", [1, 2, 3])
@pytest.mark.parametrize("clients", [1, 2, 5, 8])
def test_locks_and_cores_together(cores: int, clients: int) -> None:
    """PL-14: within a tenth of the exact answer where both are short."""
    parts = [part(0.001, copies=1, name="load"), part(0.004, name="front"), part(0.01, copies=1, name="lock")]
    found = solve(network(*parts, cores=cores), clients=clients).rate
    assert found == pytest.approx(exactly(parts, cores=cores, clients=clients), rel=0.1)


@pytest.mark.parametrize("clients", [1, 2, 3, 8, 40])
def test_cores_alone_do_as_much_as_they_are(clients: int) -> None:
    """PL-14: where only cores are wanted, as many operations run as there are cores or clients."""
    found = solve(network(part(0.01), cores=4), clients=clients)
    assert found.rate == pytest.approx(min(4, clients) / 0.01)
    assert found.mean_seconds == pytest.approx(clients / found.rate)


@pytest.mark.parametrize("clients", [1, 2, 8, 40])
def test_equal_stations_in_a_row(clients: int) -> None:
    """PL-14: of K equal queues N clients get N / ((N + K - 1) * D), as is known in closed form."""
    row = [part(0.01, copies=1, name=str(number)) for number in range(3)]
    assert solve(network(*row, cores=3), clients=clients).rate == pytest.approx(
        clients / ((clients + 2) * 0.01)
    )


@pytest.mark.parametrize("clients", [1, 2, 8, 40])
def test_one_queue_and_a_delay(clients: int) -> None:
    """PL-14: the machine repairman, as is known in closed form."""
    found = solve(network(part(0.01, copies=1), cores=1, delay=0.05), clients=clients)
    assert found.rate == pytest.approx(repairman(machines=clients, works=0.05, repair=0.01))


def test_two_workers_share_the_work() -> None:
    """PL-14: with one client it makes no difference; with many, two do twice as much where cores are there."""
    one, two = (network(part(0.01, copies=copies), cores=4) for copies in (1, 2))
    assert solve(one, clients=1).rate == pytest.approx(solve(two, clients=1).rate)
    assert solve(one, clients=60).rate == pytest.approx(100)
    assert solve(two, clients=60).rate == pytest.approx(200, rel=0.03)


def test_a_core_is_shared_by_all_that_run() -> None:
    """PL-14: what others take of the cores slows everything down, and part of a core is a core that is slower."""
    rates = [solve(network(part(0.01), cores=cores), clients=8).rate for cores in (2.0, 1.5, 0.5)]
    assert rates == pytest.approx([200, 150, 50])


@settings(max_examples=60, deadline=None)
@given(demand=demands, workers=st.integers(1, 4), cores=st.floats(0.5, 8), clients=st.integers(1, 20))
def test_no_rate_is_above_its_bounds(demand: Demand, workers: int, cores: float, clients: int) -> None:
    """PL-14: neither a station's limit, nor what the clients could ask at most if nobody ever waited."""
    wanted = here(demand, workers=workers, cores=cores)
    found = solve(wanted, clients=clients)
    alone = demand.total * max(1.0, 1 / cores) + demand.disk
    bounds = [limit.rate for limit in limits(wanted)] + [clients / alone]
    assert 0 < found.rate <= min(bounds) * 1.000001
    assert 0 < found.median_seconds <= found.mean_seconds
    assert found.mean_seconds == pytest.approx(clients / found.rate)


@settings(max_examples=60, deadline=None)
@given(demand=demands, workers=st.integers(1, 3), cores=st.integers(1, 6), clients=st.integers(1, 15))
def test_more_is_never_worse(demand: Demand, workers: int, cores: int, clients: int) -> None:
    """PL-14: with another client, another core or a worker for each client, no less is done."""
    rate = solve(here(demand, workers=workers, cores=cores), clients=clients).rate
    assert solve(here(demand, workers=workers, cores=cores), clients=clients + 1).rate >= rate * 0.999999
    # Approximate where cores and locks are full together.
    assert solve(here(demand, workers=workers, cores=cores + 1), clients=clients).rate >= rate * 0.95
    assert solve(here(demand, workers=workers + 1, cores=cores), clients=clients).rate >= rate * 0.95


def test_the_median_of_one_exponential_wait() -> None:
    """PL-14: 0.69 of the mean, and nearer to it where many waits come together."""
    alone = solve(network(part(0.01), cores=1), clients=1)
    assert alone.median_seconds / alone.mean_seconds == pytest.approx(0.693, abs=0.02)
    row = [part(0.01, copies=1, name=str(number)) for number in range(8)]
    together = solve(network(*row, cores=8), clients=8)
    assert together.median_seconds / together.mean_seconds > 0.95


def test_the_first_to_be_full() -> None:
    """PL-14: the station with the least time left comes first; cores that can never be full are none."""
    found = limits(network(part(0.01, copies=2, name="lock"), part(0.001, name="free"), cores=1))
    assert [limit.name for limit in found] == [f"cores of {ONE}", "lock"]
    assert [limit.rate for limit in found] == pytest.approx([1 / 0.011, 200])
    assert [limit.name for limit in limits(network(part(0.01, copies=2, name="lock"), cores=4))] == ["lock"]


def test_more_machines_move_the_limit() -> None:
    """PL-14: web machines first, then a store; each store that is split takes so many times as much."""
    mix = Mix(read=READING, write=WRITING, reads=80)
    firsts = [
        limits(spread_out(mix, layout))[0]
        for layout in (
            Layout(web=1),
            Layout(web=2, hot_stores=2),
            Layout(web=200, hot_stores=100),
            Layout(web=200, hot_stores=100, databases=2),
        )
    ]
    assert [limit.name.split()[-2] for limit in firsts] == ["web", "web", "PostgreSQL's", "PostgreSQL's"]
    assert firsts[0].rate == pytest.approx(CORES / mix.each("web"))
    assert firsts[1].rate == pytest.approx(2 * firsts[0].rate)
    assert firsts[3].rate == pytest.approx(2 * firsts[2].rate) == 2 * CORES / (0.2 * 0.0003)


def test_a_machine_of_a_kind_is_like_the_next() -> None:
    """PL-14: twice the machines and twice the clients do twice the work."""
    mix = Mix(read=READING, write=READING, reads=100)
    one = solve(spread_out(mix, Layout(web=1, hot_stores=1)), clients=4)
    two = solve(spread_out(mix, Layout(web=2, hot_stores=2)), clients=8)
    assert two.rate == pytest.approx(2 * one.rate, rel=0.05)


def test_what_a_rate_takes() -> None:
    """PL-14: as many of each that none is fuller than planned."""
    mix = Mix(read=READING, write=WRITING, reads=80)
    takes = needed(mix, rate=10_000)
    layout = Layout(web=takes.web, database_cores=takes.database_cores, hot_stores=takes.hot_stores)
    assert limits(spread_out(mix, layout))[0].rate * FULL >= 10_000
    assert needed(mix, rate=100).database_cores == 1


def turn(demand: Demand, *, rate: int, web: str) -> Turn:
    used = {
        "load": Used(demand.load),
        "front": Used(demand.front),
        "reader": Used(),
        "writer": Used(),
        "Valkey": Used(demand.valkey),
        "PostgreSQL": Used(demand.postgres),
    } | {web: Used(demand.locked, demand.free)}
    done = Slice(count=rate, seconds=1.0, median_ms=8000 / rate)
    return Turn(done=done, used=used, cores_left=2.0, largest_share=0.5, calls=1.0, call_seconds=0.00001)


def seen() -> Seen:
    read, write = turn(READING, rate=3000, web="reader"), turn(WRITING, rate=1000, web="writer")
    return Seen(
        calibrated={READ: [read], WRITE: [write]},
        measured={(READ, 1): [read], (READ, 2): [read], (WRITE, 1): [write], (WRITE, 2): [write]},
        disk_seconds=WRITING.disk,
    )


def test_what_was_used_becomes_a_demand() -> None:
    """PL-14: a worker's own time is under its lock, the kernel's for it is not; only a write waits for the disk."""
    assert seen().demand(READ) == READING
    assert seen().demand(WRITE) == WRITING


def test_a_prediction_is_held_against_what_was_measured() -> None:
    """PL-14: the error of rate and median, for one worker and for two."""
    found = compared(seen())
    assert [(each.operation, each.workers) for each in found] == [
        (READ, 1),
        (READ, 2),
        (WRITE, 1),
        (WRITE, 2),
    ]
    assert found[0].rate_error == pytest.approx(found[0].predicted_rate / 3000 - 1)
    assert found[1].predicted_rate > found[0].predicted_rate


def test_the_report_says_what_is_a_prediction() -> None:
    """PL-14: measured and predicted stand apart, and what is left out is told."""
    text = as_markdown(seen(), {"machine": "a test"})
    for word in ("a test", "A prediction only", "Nothing of this was measured", "leaves out", "is not built"):
        assert word in text
