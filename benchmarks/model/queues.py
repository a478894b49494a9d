"""A closed queueing model: clients, parts that take time, cores that parts share, and waits that need none (pure).

Approximate mean value analysis: the recursion over the number of clients is the exact one, in which a newcomer finds
what would be there without it. What is approximate is that a part holds its lock while it waits for a core.

1. A part that runs one thing at a time (an interpreter under its lock, a store with one thread) is a station with a
   queue; there may be several of it, each taking its share. A part that takes as many as come has no queue.
2. Whatever runs needs a core of its machine. Where more parts run than there are cores, all of them slow down alike.
   How many run beside a part is taken from how busy each was with one client fewer, as if independent of each other.
3. A wait that needs no core, such as for the disk, is a delay.

Service times are taken as exponential: real ones vary less, so where a queue decides the model errs to the low side.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import comb, inf

import msgspec


class Machine(msgspec.Struct, frozen=True):
    """Some machines of a kind. Cores need not be whole: others may use a part of them."""

    cores: float
    count: int = 1


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the server: where it runs, and the seconds of a core that one operation takes in it."""

    name: str
    machine: str
    seconds: float
    copies: int | None = None
    """How many there are on all machines of the kind, each for one thing at a time; None takes as many as come."""


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """What one operation goes through."""

    machines: Mapping[str, Machine]
    parts: Sequence[Part]
    delay_seconds: float = 0.0


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What some clients get, who each ask again as soon as they are answered."""

    rate: float
    mean_seconds: float
    median_seconds: float
    busy: Mapping[str, float]
    """How much of each part runs or waits for a core, on average."""


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """For some number of clients: the rate, and how long an operation stays in each part and how long it runs there."""

    rate: float
    stays: Sequence[float]
    holds: Sequence[float]

    @property
    def inside(self) -> list[float]:
        """Give how many are in each part."""
        return [self.rate * stay for stay in self.stays]

    @property
    def running(self) -> list[float]:
        """Give how many of them run, or wait for a core alone."""
        return [self.rate * hold for hold in self.holds]


class Limit(msgspec.Struct, frozen=True):
    """A station, and the rate at which it has no time left."""

    name: str
    rate: float


def solve(network: Network, *, clients: int) -> Load:
    """Give what so many clients get."""
    found = _Found(rate=0.0, stays=[0.0] * len(network.parts), holds=[0.0] * len(network.parts))
    for number in range(1, clients + 1):
        found = _with_another(network, found, number)
    mean = clients / found.rate
    names = [part.name for part in network.parts]
    return Load(
        rate=found.rate,
        mean_seconds=mean,
        median_seconds=mean * _middle(mean, found, network.delay_seconds),
        busy=dict(zip(names, found.running, strict=True)),
    )


def limits(network: Network) -> list[Limit]:
    """List the stations, the one first that has no time left first: no number of clients gets past it."""
    found = [
        Limit(f"cores of {name}", machine.cores * machine.count / taken)
        for name, machine in network.machines.items()
        if (taken := _taken(network, name))
    ]
    found += [
        Limit(part.name, part.copies / part.seconds) for part in network.parts if part.copies and part.seconds
    ]
    return sorted(found, key=lambda limit: limit.rate)


def _with_another(network: Network, before: _Found, clients: int) -> _Found:
    """Add a client to those there were: it finds in each part what was there without it."""
    running = before.running
    holds = [
        part.seconds * _slowed(network, running, place, others=clients - 1)
        for place, part in enumerate(network.parts)
    ]
    stays = [
        hold * (1 + (queue / part.copies if part.copies else 0.0))
        for hold, queue, part in zip(holds, before.inside, network.parts, strict=True)
    ]
    rate = clients / (sum(stays) + network.delay_seconds)
    if rate >= before.rate:
        return _Found(rate=rate, stays=stays, holds=holds)
    # Another client never makes the others do less: it comes of counting a wait for a lock and for a core apart.
    less = (clients / before.rate - network.delay_seconds) / sum(stays)
    return _Found(
        rate=before.rate, stays=[stay * less for stay in stays], holds=[hold * less for hold in holds]
    )


def _taken(network: Network, name: str) -> float:
    """Give what an operation takes of a machine's cores; nothing where its parts could never use all of them."""
    parts, machine = [part for part in network.parts if part.machine == name], network.machines[name]
    most = sum(part.copies if part.copies else inf for part in parts)
    return sum(part.seconds for part in parts) if most > machine.cores * machine.count else 0.0


def _slowed(network: Network, running: Sequence[float], place: int, *, others: int) -> float:
    """Tell by how much a part slows down beside the others that run on its machine."""
    machine = network.machines[network.parts[place].machine]
    beside = [1.0]
    for more in _beside(network, running, place, others=others):
        beside = _sum(beside, more)
    return sum(chance * max(1.0, (1 + count) / machine.cores) for count, chance in enumerate(beside))


def _beside(network: Network, running: Sequence[float], place: int, *, others: int) -> Iterator[list[float]]:
    """Give for each part on the same machine the chances that none of it runs, one, two, and so on."""
    own = network.parts[place]
    machines = network.machines[own.machine].count
    for number, part in enumerate(network.parts):
        if part.machine != own.machine:
            continue
        here = running[number] / machines
        most = max(1, part.copies // machines) if part.copies else others
        chance = min(1.0, here / most) if most else 0.0
        # One copy of a part that runs one thing at a time is this client's own.
        yield _binomial(most - (number == place and part.copies is not None), chance)


def _binomial(most: int, chance: float) -> list[float]:
    return [comb(most, count) * chance**count * (1 - chance) ** (most - count) for count in range(most + 1)]


def _sum(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """Give the chances of the sum of two numbers that know nothing of each other."""
    total = [0.0] * (len(first) + len(second) - 1)
    for one, chance in enumerate(first):
        for other, as_well in enumerate(second):
            total[one + other] += chance * as_well
    return total


def _middle(mean: float, found: _Found, delay: float) -> float:
    """Give the median in means: of a gamma distribution with the variance of the stations (Wilson and Hilferty)."""
    variance = sum(stay * hold for stay, hold in zip(found.stays, found.holds, strict=True)) + delay**2
    return float((1 - variance / mean**2 / 9) ** 3)
