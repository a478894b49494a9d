"""Usage: what the counters say, as plots, tables and files (CO-10)."""

from datetime import date
from typing import Any

import msgspec
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from console.pages import asked, here, workspace_page
from console.presenters.charts import KEYS, Chart, chart_file, charts
from console.presenters.exports import TYPES
from console.presenters.rows import Tab
from privacy.selectors.erasures import open_by_age
from workspaces.rules.usage import SPANS, is_hourly

READERS = ("view_usage",)
BAR_WIDTH = 100


class ChartView(msgspec.Struct, frozen=True):
    """A chart with the addresses of its files."""

    chart: Chart
    exports: list[dict[str, str]]


class Bar(msgspec.Struct, frozen=True):
    """One bar: its label, its number, and its length of 100."""

    label: str
    count: int
    late: int
    length: int


@require_safe
@workspace_page(*READERS)
def usage(request: Any) -> HttpResponse:
    """Plot what was counted in a range, and list the same numbers beneath each plot."""
    span, now = _span(request), timezone.now()
    made = charts(span=span, now=now, zone=timezone.get_current_timezone())
    context = {
        "tabs": _tabs(request, span),
        "span": span,
        "is_hourly": is_hourly(span),
        "charts": [_shown(request, chart, span) for chart in made],
        "is_empty": all(chart.is_empty for chart in made),
        "bars": _bars(now.date()),
    }
    return render(request, "console/usage.html", context)


@require_safe
@workspace_page(*READERS)
def usage_export(request: Any, form: str) -> StreamingHttpResponse:
    """Download the table of one chart, as CSV or as JSON Lines: the rows and columns of the page (CO-4)."""
    key, span, now = asked(request, "chart") or KEYS[0], _span(request), timezone.now()
    if key not in KEYS:
        raise Http404
    (chart,) = charts(span=span, now=now, zone=timezone.get_current_timezone(), only=(key,))
    return chart_file(chart, name=f"usage-{request.workspace.slug}-{key}-{span}", form=form, now=now)


def _span(request: Any) -> str:
    span = asked(request, "range")
    return span if span in SPANS else next(iter(SPANS))


def _tabs(request: Any, span: str) -> list[Tab]:
    titles = {"24h": _("24 hours"), "7d": _("7 days"), "30d": _("30 days")}
    return [
        Tab(title=titles[name], url=here(request, "usage", range=name), current=name == span)
        for name in SPANS
    ]


def _shown(request: Any, chart: Chart, span: str) -> ChartView:
    return ChartView(chart, _exports(request, chart, span))


def _exports(request: Any, chart: Chart, span: str) -> list[dict[str, str]]:
    """Give the addresses of a chart's files."""
    labels = {"csv": _("CSV"), "jsonl": _("JSON Lines")}
    return [
        {"label": labels[form], "url": here(request, "usage_export", form, chart=chart.key, range=span)}
        for form in TYPES
    ]


def _bars(today: date) -> list[Bar]:
    """Give the open requests for erasure by their age, from the requests themselves."""
    titles = (_("Up to 7 days"), _("8 to 15 days"), _("16 to 30 days"), _("Over 30 days"))
    ages = open_by_age(today)
    most = max((age.count for age in ages), default=0) or 1
    return [
        Bar(title, age.count, age.late, round(BAR_WIDTH * age.count / most))
        for title, age in zip(titles, ages, strict=True)
    ]
