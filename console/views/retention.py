"""How long everything is kept, and what the sweep removed (PR-20)."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.formats import number_format
from django.views.decorators.http import require_safe

from agentstate.models import SweepRun
from agentstate.selectors import sweeps
from assembly.documents import bounds_of
from assembly.models import GraphSweep
from assembly.selectors.sweeps import backlog as graph_backlog
from assembly.selectors.sweeps import graph_sweeps
from console.pages import here, workspace_page
from console.presenters.lists import Table, show_list
from console.views.documents import READERS as DOCUMENT_READERS
from console.views.documents import head_of, publisher_of
from history.documents import retention_of
from history.models import HistorySweep
from history.selectors.sweeps import backlog as history_backlog
from history.selectors.sweeps import history_sweeps
from workspaces import documents
from workspaces.rules.documents import schema

KIND = "retention"
SHOWN = 10
COLUMNS = (
    "ended_at",
    "states",
    "fields",
    "sessions",
    "items",
    "graphs",
    "records",
    "assemblies",
    "traces",
    "tombstones",
    "damaged",
    "backlog",
    "seconds",
)


class Period(msgspec.Struct, frozen=True):
    """One value of the document: its name, what it is about, and how long."""

    name: str
    about: str
    value: str


class RunRow(msgspec.Struct, frozen=True):
    """One run of the sweep, by kind of what it removed."""

    ended_at: datetime
    seconds: float
    states: int
    fields: int
    sessions: int
    items: int
    graphs: int
    records: int
    assemblies: int
    traces: int
    tombstones: int
    damaged: int
    backlog: int


@require_safe
@workspace_page("request_erasure", "approve_erasure", "place_hold", "lift_hold")
def retention(request: Any) -> HttpResponseBase:
    """Show the live retention document in words, what is due now, and the last runs of the sweep."""
    document = head_of(KIND)
    due = [
        sweeps.backlog(timezone.now()),
        history_backlog(retention_of(documents.live(KIND)), now=timezone.now()),
        graph_backlog(bounds_of(documents.live(KIND)), now=timezone.now()),
    ]
    may_read = not request.may.isdisjoint(DOCUMENT_READERS)
    runs = _runs()
    context = {
        "version": document.version,
        "published_at": document.published_at,
        "published_by": publisher_of(document),
        "document_url": here(request, "document", KIND) if may_read else "",
        "periods": list(_periods(document.body)),
        "regime": document.body["regime"],
        "backlog": f"{sweeps.COUNTED_UP_TO:,}+" if max(due) >= sweeps.COUNTED_UP_TO else sum(due),
        "runs": runs,
    }
    return show_list(request, "console/retention.html", context, table=Table("sweeps", COLUMNS, runs))


def _periods(body: Mapping[str, Any]) -> Iterator[Period]:
    """List the values in the order of the schema."""
    for name, part in schema(KIND)["properties"].items():
        value, about = body.get(name), part.get("description", "")
        if name == "regime" or value is None:
            continue
        if not isinstance(value, dict):
            yield Period(name, about, _shown(value))
            continue
        for inner, described in part["properties"].items():
            if inner in value:
                own = described.get("description", "")
                yield Period(f"{name}.{inner}", own or about, _shown(value[inner]))


def _shown(value: str | int) -> str:
    return number_format(value, force_grouping=True) if isinstance(value, int) else value


def _runs() -> list[RunRow]:
    """Give the last runs of all sweeps, newest first."""
    found = (sweeps.sweep_runs(), history_sweeps(), graph_sweeps())
    runs = [_run(run) for rows in found for run in rows[:SHOWN]]
    return sorted(runs, key=lambda run: run.ended_at, reverse=True)[:SHOWN]


def _run(run: SweepRun | HistorySweep | GraphSweep) -> RunRow:
    removed = run.removed
    return RunRow(
        ended_at=run.ended_at,
        seconds=(run.ended_at - run.began_at).total_seconds(),
        states=removed.get("states", 0),
        fields=removed.get("fields", 0),
        sessions=removed.get("sessions", 0),
        items=removed.get("items", 0),
        graphs=removed.get("graphs", 0),
        records=removed.get("graph_records", 0),
        assemblies=removed.get("assemblies", 0),
        traces=removed.get("traces", 0),
        tombstones=removed.get("tombstones", 0) + removed.get("names", 0),
        damaged=run.damaged,
        backlog=run.backlog,
    )
