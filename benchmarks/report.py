"""What a run has seen, for people (Markdown) and for programs (JSON)."""

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.goals import Goal, Part, goals
from benchmarks.plan import Plan
from benchmarks.rounds import rates, ratio, spread
from benchmarks.run import HELLO, RAW_WRITE, Measured, Table

MARK = "<!-- What follows is written by `make bench DOC=1`. -->"
LEFT_OUT = (
    "Client, servers, database, hot store and peers share the cores: only ratios within one run count.",
    "The cores are shared and noisy: differences under 15 % mean nothing.",
    "The peers and the raw floors run in process: no HTTP, no authentication, no checks, no encryption.",
    "Every second writing client names its customer and sends an Idempotency-Key; the others do neither.",
    "One machine, no network between the parts, and its disk: a slower one changes every write.",
    "LangGraph's savers keep each write as a checkpoint, the OpenAI sessions and ADK add a row; ours replaces one.",
)


def as_json(measured: Measured, about: Mapping[str, str]) -> dict[str, Any]:
    """Give each goal with its value, whether it is met, and its parts; and on what it ran under `run`."""
    found = {name: _goal(goal) for name, goal in goals(measured).items()}
    plan = measured.plan
    return found | {
        "run": {
            "about": dict(about),
            "quick": plan.is_quick,
            "rounds": plan.rounds,
            "slice_seconds": plan.slice_seconds,
            "seconds": round(measured.seconds, 1),
            "repeats": _repeats(measured),
            "tables": [_table(table) for table in measured.tables],
        }
    }


def as_markdown(measured: Measured, about: Mapping[str, str]) -> str:
    """Give the report."""
    return "\n".join(_lines(measured, about)) + "\n"


def documented(text: str, report: str) -> str:
    """Put a report into a document, in place of the one that stands there."""
    return text.split(MARK, maxsplit=1)[0] + MARK + "\n\n" + report


def _goal(goal: Goal) -> dict[str, Any]:
    return {
        "what": goal.what,
        "value": round(goal.value, 4),
        "must_met": goal.must_met,
        "aim_met": goal.aim_met,
        "leaves_out": goal.leaves_out,
        "parts": [_part(part) for part in goal.parts],
    }


def _table(table: Table) -> dict[str, Any]:
    spreads = {name: rates(slices) for name, slices in table.slices.items()}
    return {
        "clients": table.clients,
        "size": table.size,
        "per_second": {
            name: [round(rate.middle, 1), round(rate.low, 1), round(rate.high, 1)]
            for name, rate in spreads.items()
        },
    }


def _part(part: Part) -> dict[str, Any]:
    return {
        "what": part.what,
        "value": round(part.value, 4),
        "low": round(part.low, 4),
        "high": round(part.high, 4),
        "unit": part.unit,
        "must": part.must,
        "aim": part.aim,
        "bound": "at most" if part.is_ceiling else "at least",
    }


def _lines(measured: Measured, about: Mapping[str, str]) -> Iterator[str]:
    yield from ("## What a run has seen", "")
    yield _how(measured.plan, measured.seconds)
    yield f"Turns that were played again because an answer was refused: {_repeats(measured)}."
    yield ""
    yield from (f"- {name}: {value}" for name, value in about.items())
    yield from ("", "### Goals", "")
    yield from _goal_table(measured)
    for table in measured.tables:
        yield from ("", f"### {table.clients} clients, values of {table.size:,} bytes", "")
        yield from _speed_table(table)
    yield from ("", "### What they leave out", "")
    yield from (f"- {sentence}" for sentence in LEFT_OUT)


def _repeats(measured: Measured) -> int:
    return sum(done.repeats for table in measured.tables for of in table.slices.values() for done in of)


def _how(plan: Plan, seconds: float) -> str:
    command = "make bench QUICK=1" if plan.is_quick else "make bench"
    return (
        f"`{command}`: {plan.rounds} rounds, in each of them one turn of {plan.slice_seconds} s per contender in "
        f"another order; medians over the rounds, lowest and highest in brackets. It took {seconds:.0f} s."
    )


def _goal_table(measured: Measured) -> Iterator[str]:
    yield "| goal | what | measured | must | aim | |"
    yield "|---|---|---|---|---|---|"
    for name, goal in goals(measured).items():
        for part in goal.parts:
            yield (
                f"| {name} | {goal.what}: {part.what} | {_value(part)} | {_bound(part, part.must)} "
                f"| {_bound(part, part.aim)} | {_verdict(part)} |"
            )
        if goal.leaves_out:
            yield f"| | *{goal.leaves_out}* | | | | |"


def _speed_table(table: Table) -> Iterator[str]:
    yield "| | per second | median ms | p99 ms | of hello world | of the raw UPDATE |"
    yield "|---|---|---|---|---|---|"
    for name, slices in table.slices.items():
        rate, hello = rates(slices), ratio(slices, table.slices[HELLO])
        raw, middle = ratio(slices, table.slices[RAW_WRITE]), spread([done.median_ms for done in slices])
        slow = spread([done.p99_ms for done in slices])
        yield (
            f"| {name} | {rate.middle:,.0f} ({rate.low:,.0f} to {rate.high:,.0f}) | {middle.middle:.2f} "
            f"| {slow.middle:.2f} | {hello.middle:.2f} | {raw.middle:.2f} |"
        )


def _value(part: Part) -> str:
    digits = 2 if part.unit == "x" else 0
    text = f"{part.value:,.{digits}f}" + ("" if part.unit == "x" else f" {part.unit}")
    return text if part.low == part.high else f"{text} ({part.low:.2f} to {part.high:.2f})"


def _bound(part: Part, bound: float | None) -> str:
    if bound is None:
        return ""
    return f"{'at most' if part.is_ceiling else 'at least'} {bound:g}"


def _verdict(part: Part) -> str:
    if not part.meets(part.must):
        return "not met"
    return "met" if part.meets(part.aim) else "met, the aim not"
