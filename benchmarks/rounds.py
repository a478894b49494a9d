"""Slices, rounds and ratios. Only what was measured within one run is ever compared."""

import time
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Protocol

import msgspec
from msgspec.structs import replace

UNANSWERED = 1000.0
TRIES, TRIES_TO_WARM = 4, 20
PAUSE_SECONDS = 3.0
"""On a machine that is busy elsewhere a cold read may pass its limit (WM-19), and for a while no other is tried."""


class WrongAnswer(Exception):
    """A contender did not do its work; its rate would say nothing."""


class Slice(msgspec.Struct, frozen=True):
    """One short turn of one contender."""

    count: int
    seconds: float
    median_ms: float = 0.0
    p99_ms: float = 0.0
    failed: int = 0
    wrong: str = ""
    """The first answer that was."""
    repeats: int = 0

    @property
    def rate(self) -> float:
        """Give what was done per second."""
        return self.count / self.seconds


class Spread(msgspec.Struct, frozen=True):
    """A median over rounds, with the lowest and the highest round."""

    middle: float
    low: float
    high: float


class Contender(Protocol):
    """Something that does one kind of work for some seconds."""

    def run(self, seconds: float) -> Slice: ...


Results = Mapping[str, Sequence[Slice]]


def slice_of(latencies: Sequence[float], *, seconds: float, failed: int = 0, wrong: str = "") -> Slice:
    """Sum up the latencies of a turn, in seconds."""
    if not latencies:
        return Slice(count=0, seconds=seconds, failed=failed, wrong=wrong)
    ordered = sorted(latencies)
    return Slice(
        count=len(ordered),
        seconds=seconds,
        median_ms=1000 * ordered[len(ordered) // 2],
        p99_ms=1000 * ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))],
        failed=failed,
        wrong=wrong,
    )


def play(contenders: Mapping[str, Contender], *, rounds: int, seconds: float) -> dict[str, list[Slice]]:
    """Let every contender have one turn per round, in another order each time, after one turn to warm up."""
    results: dict[str, list[Slice]] = {name: [] for name in contenders}
    names = list(contenders)
    for name, contender in contenders.items():
        _turn(name, contender, seconds / 4, tries=TRIES_TO_WARM)
    for number in range(rounds):
        start = number % len(names) if names else 0
        for name in names[start:] + names[:start]:
            results[name].append(_turn(name, contenders[name], seconds))
    return results


def spread(values: Sequence[float]) -> Spread:
    """Give the median and the range."""
    return Spread(median(values), min(values), max(values))


def rates(slices: Sequence[Slice]) -> Spread:
    """Give what was done per second."""
    return spread([done.rate for done in slices])


def ratio(ours: Sequence[Slice], theirs: Sequence[Slice]) -> Spread:
    """Compare round by round, so that what slowed a whole round down falls out."""
    return spread([a.rate / b.rate if b.rate else 0.0 for a, b in zip(ours, theirs, strict=True)])


def tail(slices: Sequence[Slice]) -> Spread:
    """Give the 99th percentile in medians (PF-6); a turn without an answer is as bad as can be."""
    return spread([done.p99_ms / done.median_ms if done.median_ms else UNANSWERED for done in slices])


def _turn(name: str, contender: Contender, seconds: float, *, tries: int = TRIES) -> Slice:
    """Play one turn; one in which something was refused does not count, and is played again a few times."""
    for repeats in range(tries):
        done = contender.run(seconds)
        if not done.failed:
            return replace(done, repeats=repeats)
        time.sleep(PAUSE_SECONDS)
    raise WrongAnswer(f"{name}: {done.failed} of {done.count + done.failed} answers were wrong. {done.wrong}")
