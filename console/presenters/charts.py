"""What the usage page plots, as one table a chart: rows are hours or days, columns are series (CO-10)."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any

import msgspec
from django.http import Http404, StreamingHttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.presenters.exports import TYPES, attachment, csv_lines, json_lines
from workspaces.rules import usage as rules
from workspaces.selectors.usage import Numbers, numbers

Counts = Mapping[datetime, int]
NAMED = 5
"""How many agents or reasons have a line of their own; the others share one."""


class Series(msgspec.Struct, frozen=True):
    """One line of a chart: a number for each row."""

    title: str
    values: list[int]

    @property
    def total(self) -> int:
        """Sum the numbers up."""
        return sum(self.values)


class Row(msgspec.Struct, frozen=True):
    """One row of a chart's table: an hour or a day, and the number of each series."""

    start: datetime
    values: list[int]


class Chart(msgspec.Struct, frozen=True):
    """A chart and its table, which are the same numbers."""

    key: str
    title: Any
    text: Any
    starts: list[datetime]
    series: list[Series]

    @property
    def rows(self) -> list[Row]:
        """Give the table, the oldest row first."""
        columns = [series.values for series in self.series]
        return [Row(start, list(values)) for start, *values in zip(self.starts, *columns, strict=True)]

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing was counted."""
        return not any(series.total for series in self.series)


class _Kind(msgspec.Struct, frozen=True):
    """What one chart is made from."""

    key: str
    title: Any
    text: Any
    counted: tuple[str, ...]
    lines: Callable[[Numbers], list[tuple[str, Counts]]]


def _requests(found: Numbers) -> list[tuple[str, Counts]]:
    classes = found.get(rules.REQUEST, {})
    return [
        (_("Requests"), _sum(classes.values())),
        ("4xx", classes.get("4xx", {})),
        ("5xx", classes.get("5xx", {})),
    ]


def _writes(found: Numbers) -> list[tuple[str, Counts]]:
    return _largest(found.get(rules.WRITE, {}), _("Other agents"))


def _states(found: Numbers) -> list[tuple[str, Counts]]:
    return _largest(found.get(rules.STATE, {}), _("Other agents"))


def _refusals(found: Numbers) -> list[tuple[str, Counts]]:
    return _largest(found.get(rules.REFUSAL, {}), _("Other reasons"))


def _held_back(found: Numbers) -> list[tuple[str, Counts]]:
    refused, not_stored = found.get(rules.REFUSAL, {}), found.get(rules.NOT_STORED, {})
    return [
        (_("Another version was stored"), refused.get("agent_state_conflict", {})),
        (_("Over the cap"), not_stored.get("over_cap", {})),
        (_("Undeclared field"), not_stored.get("not_declared_field", {})),
    ]


def _tokens(found: Numbers) -> list[tuple[str, Counts]]:
    tokens = found.get(rules.TOKENS, {})
    naive, assembled = tokens.get(rules.NAIVE, {}), tokens.get(rules.ASSEMBLED, {})
    saved = {start: count - assembled.get(start, 0) for start, count in naive.items()}
    return [(_("All records"), naive), (_("Assembled"), assembled), (_("Saved"), saved)]


KINDS = (
    _Kind(
        key="requests",
        title=gettext_lazy("Requests and errors"),
        text=gettext_lazy("Answered requests to the API whose key or token was valid."),
        counted=(rules.REQUEST,),
        lines=_requests,
    ),
    _Kind(
        key="writes",
        title=gettext_lazy("Writes by agent"),
        text=gettext_lazy("Writes of working memory that were stored. One that was sent again counts once."),
        counted=(rules.WRITE,),
        lines=_writes,
    ),
    _Kind(
        key="states",
        title=gettext_lazy("New states by agent"),
        text=gettext_lazy("States of working memory that began, the first time or after their end."),
        counted=(rules.STATE,),
        lines=_states,
    ),
    _Kind(
        key="refusals",
        title=gettext_lazy("Refusals by reason"),
        text=gettext_lazy("Answers of 400 and above, by the code that the caller got."),
        counted=(rules.REFUSAL,),
        lines=_refusals,
    ),
    _Kind(
        key="held-back",
        title=gettext_lazy("Conflicts, caps and undeclared fields"),
        text=gettext_lazy("Writes of working memory that changed nothing, and why."),
        counted=(rules.REFUSAL, rules.NOT_STORED),
        lines=_held_back,
    ),
    _Kind(
        key="tokens",
        title=gettext_lazy("Tokens of assembled contexts"),
        text=gettext_lazy("What the models were given, beside what all records together would have been."),
        counted=(rules.TOKENS,),
        lines=_tokens,
    ),
)
KEYS = tuple(kind.key for kind in KINDS)


def charts(*, span: str, now: datetime, zone: tzinfo, only: Iterable[str] = KEYS) -> list[Chart]:
    """Make charts of the bound workspace from its counters, by one query."""
    kinds = [kind for kind in KINDS if kind.key in set(only)]
    starts = rules.starts(span, now=now, zone=zone)
    counted = {name for kind in kinds for name in kind.counted}
    found = numbers(counted, span=span, since=starts[0], zone=zone)
    return [_chart(kind, starts, kind.lines(found)) for kind in kinds]


def chart_file(chart: Chart | None, *, name: str, form: str, now: datetime) -> StreamingHttpResponse:
    """Answer the table of a chart as CSV or as JSON Lines: the rows and columns of the page (CO-4)."""
    if form not in TYPES:
        raise Http404
    head = ["from", *(series.title for series in chart.series)] if chart else ["from"]
    cells = [[row.start.isoformat(timespec="seconds"), *row.values] for row in chart.rows] if chart else []
    lines = (
        csv_lines(head, cells)
        if form == "csv"
        else json_lines(dict(zip(head, row, strict=True)) for row in cells)
    )
    return attachment(lines, name=f"{name}-{now:%Y%m%dT%H%M%SZ}", form=form)


def added(charts: Iterable[Chart]) -> Chart | None:
    """Add charts of the same hours and series up: those of a person's workspaces."""
    found = list(charts)
    if not found:
        return None
    columns = zip(*(chart.series for chart in found), strict=True)
    series = [
        Series(same[0].title, [sum(values) for values in zip(*(each.values for each in same), strict=True)])
        for same in columns
    ]
    return msgspec.structs.replace(found[0], series=series)


def _chart(kind: _Kind, starts: list[datetime], lines: list[tuple[str, Counts]]) -> Chart:
    utc = [start.astimezone(UTC) for start in starts]
    series = [Series(title, [counts.get(start, 0) for start in utc]) for title, counts in lines]
    return Chart(kind.key, kind.title, kind.text, starts, series)


def _largest(named: Mapping[str, Counts], others: str) -> list[tuple[str, Counts]]:
    """Give the names with the highest sums a line each, and the others one together."""
    by_sum = sorted(named.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    kept, rest = by_sum[:NAMED], by_sum[NAMED:]
    if len(rest) == 1:
        return by_sum
    return kept + ([(others, _sum(counts for _name, counts in rest))] if rest else [])


def _sum(counted: Iterable[Counts]) -> Counts:
    total: dict[datetime, int] = {}
    for counts in counted:
        for start, count in counts.items():
            total[start] = total.get(start, 0) + count
    return total
