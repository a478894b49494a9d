"""Usage and the overview show exactly what the counters say (CO-4, CO-10)."""

import csv
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from console.presenters.charts import KINDS, NAMED, charts
from privacy.models import ErasureRequest
from privacy.selectors.erasures import open_by_age
from privacy.services import erasures
from privacy.services.erasures import Asker
from privacy.types import Target
from tests import factories
from tests.console.conftest import SignedIn
from workspaces import access
from workspaces.models import Person
from workspaces.rules import usage as rules
from workspaces.rules.rights import ROLES
from workspaces.services import people, usage
from workspaces.types import WorkspaceRef


@pytest.fixture(autouse=True)
def _nothing_counted() -> Iterator[None]:
    usage.forget_counted()
    yield
    usage.forget_counted()


@pytest.fixture
def engineer(aurora: WorkspaceRef) -> Person:
    return factories.make_person(aurora, "engineer", name="Eli")


@pytest.fixture
def client(engineer: Person, signed_in: SignedIn) -> Client:
    return signed_in(engineer)


def page(workspace: WorkspaceRef, rest: str = "") -> str:
    return f"/console/w/{workspace.slug}/usage/{rest}"


def counted(workspace: WorkspaceRef, *numbers: tuple[datetime, str, str, int]) -> None:
    """Count and keep what happened at some moments."""
    for at, kind, name, amount in numbers:
        usage.count(workspace.id, kind, name, now=at, amount=amount)
    assert usage.keep_counted() == 0


def shown(answer: Any) -> dict[str, dict[str, int]]:
    """Give what the page shows: the sum of each series by chart, without those in which nothing happened."""
    return {
        view.chart.key: {series.title: series.total for series in view.chart.series if series.total}
        for view in answer.context["charts"]
        if not view.chart.is_empty
    }


def test_usage_shows_exactly_what_the_counters_say(aurora: WorkspaceRef, client: Client) -> None:
    """CO-10: each counter stands in its chart, and no chart has a number that no counter has."""
    now = timezone.now()
    counted(
        aurora,
        (now, "request", "2xx", 100),
        (now, "request", "4xx", 7),
        (now - timedelta(hours=23), "request", "5xx", 2),
        (now - timedelta(hours=24), "request", "5xx", 1000),
        (now, "write", "order-taker", 40),
        (now, "write", "closing", 2),
        (now, "state", "order-taker", 9),
        (now, "refusal", "agent_state_conflict", 5),
        (now, "refusal", "invalid_input", 2),
        (now, "not_stored", "over_cap", 3),
        (now, "not_stored", "not_declared_field", 4),
    )
    usage.count_assembly(aurora.id, naive_tokens=9000, assembled_tokens=2100, now=now)
    assert usage.keep_counted() == 0
    assert shown(client.get(page(aurora))) == {
        "requests": {"Requests": 109, "4xx": 7, "5xx": 2},
        "writes": {"order-taker": 40, "closing": 2},
        "states": {"order-taker": 9},
        "refusals": {"agent_state_conflict": 5, "invalid_input": 2},
        "held-back": {"Another version was stored": 5, "Over the cap": 3, "Undeclared field": 4},
        "tokens": {"All records": 9000, "Assembled": 2100, "Saved": 6900},
    }


def test_many_agents_share_a_line_and_no_number_is_lost(aurora: WorkspaceRef, client: Client) -> None:
    """CO-10: the agents with the most writes have a line each, and the others one together."""
    now = timezone.now()
    counted(aurora, *((now, "write", f"agent-{number}", number) for number in range(1, 10)))
    lines = shown(client.get(page(aurora)))["writes"]
    named = [f"agent-{number}" for number in (9, 8, 7, 6, 5)]
    assert list(lines) == [*named, "Other agents"]
    assert len(named) == NAMED
    assert sum(lines.values()) == sum(range(1, 10))


def test_days_begin_where_the_person_is(aurora: WorkspaceRef, client: Client, engineer: Person) -> None:
    """CO-10: what happened at one moment belongs to another day in another zone; each zone has the same sum."""
    at = datetime(2026, 3, 10, 1, 30, tzinfo=UTC)
    counted(aurora, (at, "request", "2xx", 5))
    now = at + timedelta(hours=3)
    days = {}
    for zone in ("America/Sao_Paulo", "UTC", "Asia/Kathmandu"):
        with access.bound(aurora.id), timezone.override(zone):
            (chart,) = charts(span="7d", now=now, zone=timezone.get_current_timezone(), only=("requests",))
        days[zone] = [f"{row.start:%d}" for row in chart.rows if row.values[0]]
        assert chart.series[0].total == 5
    assert days == {"America/Sao_Paulo": ["09"], "UTC": ["10"], "Asia/Kathmandu": ["10"]}


def test_the_range_stands_in_the_address(aurora: WorkspaceRef, client: Client) -> None:
    """CO-4, CO-10: 24 hours, 7 days and 30 days; whatever else the address says is the first of them."""
    counted(aurora, (timezone.now(), "request", "2xx", 1))
    rows = {
        asked: len(client.get(page(aurora), {"range": asked}).context["charts"][0].chart.rows)
        for asked in (*rules.SPANS, "", "99y", "\x00", "x" * 999)
    }
    assert rows == {"24h": 24, "7d": 7, "30d": 30, "": 24, "99y": 24, "\x00": 24, "x" * 999: 24}


@pytest.mark.parametrize("key", [kind.key for kind in KINDS])
def test_files_hold_the_rows_and_columns_of_the_page(aurora: WorkspaceRef, client: Client, key: str) -> None:
    """CO-4, CO-10: CSV and JSON Lines of each chart are its table; an agent named like a formula stays text."""
    now = timezone.now()
    counted(
        aurora,
        *((now, kind, "=cmd|x", 3) for kind in ("write", "state", "refusal")),
        (now, "request", "2xx", 8),
        (now, "not_stored", "over_cap", 2),
        (now, "tokens", "naive", 6),
    )
    answer = client.get(page(aurora), {"range": "7d"})
    view = next(each for each in answer.context["charts"] if each.chart.key == key)
    addresses = {export["label"]: export["url"] for export in view.exports}
    titles = [series.title for series in view.chart.series]
    table = [[row.start.isoformat(timespec="seconds"), *row.values] for row in view.chart.rows]
    written = client.get(addresses["CSV"]).getvalue().decode()
    head, *lines = csv.reader(io.StringIO(written))
    assert [cell.removeprefix("'") for cell in head] == ["from", *titles]
    assert lines == [[str(cell) for cell in row] for row in table]
    assert not any(cell.startswith("=") for cell in head)
    objects = [json.loads(line) for line in client.get(addresses["JSON Lines"]).getvalue().splitlines()]
    assert objects == [dict(zip(["from", *titles], row, strict=True)) for row in table]


@pytest.mark.parametrize("rest", ["export/xls/", "export/csv/?chart=nothing", "export/csv/?chart=%00"])
def test_a_file_of_nothing_is_not_found(aurora: WorkspaceRef, client: Client, rest: str) -> None:
    """CO-4: a form or a chart that does not exist is no file."""
    expected = 200 if rest.endswith("%00") else 404  # what no filter can be is no filter
    assert client.get(page(aurora, rest)).status_code == expected


def test_open_requests_are_counted_by_their_age(aurora: WorkspaceRef, client: Client) -> None:
    """CO-10: the ages come from the requests themselves; what has ended is in none of them."""
    now = timezone.now()
    with access.bound(aurora.id):
        for number, days in enumerate((0, 7, 8, 15, 16, 31, 400, 2)):
            asked = erasures.request_erasure(
                workspace=aurora,
                target=Target(kind="task", scope_id=f"t-{number}"),
                asker=Asker(factories.SYSTEM, is_verified=False),
                reason="For a test",
                now=now,
            )
            at = now - timedelta(days=days)
            ended = {"ended_at": now, "status": "refused"} if number == 7 else {}
            ErasureRequest.objects.filter(id=asked.id).update(
                requested_at=at, due_on=at.date() + timedelta(days=30), **ended
            )
        assert [(age.count, age.late) for age in open_by_age(now.date())] == [(2, 0), (2, 0), (1, 0), (2, 2)]
    assert [bar.length for bar in client.get(page(aurora)).context["bars"]] == [100, 100, 50, 100]


def test_nothing_counted_says_what_to_do(aurora: WorkspaceRef, client: Client) -> None:
    """CO-8: an empty range says when numbers appear."""
    text = client.get(page(aurora)).content.decode()
    assert "Nothing was counted in this range" in text
    assert "<canvas" not in text


def test_the_overview_adds_up_the_workspaces_of_the_person(
    aurora: WorkspaceRef, boreal: WorkspaceRef, signed_in: SignedIn
) -> None:
    """CO-10, PL-1: requests of two workspaces in one plot and one file, and nothing of a third."""
    now = timezone.now()
    third = factories.make_workspace("Third")
    for number, workspace in enumerate((aurora, boreal, third), 1):
        counted(workspace, (now, "request", "2xx", 9 * number), (now, "request", "5xx", number))
    eva = factories.make_person(aurora, *ROLES, name="Eva")
    with access.bound(boreal.id):
        people.join(person=eva, roles=["engineer"], actor=factories.SYSTEM, now=now)
    client = signed_in(eva)
    answer = client.get("/console/")
    assert {series.title: series.total for series in answer.context["chart"].series} == {
        "Requests": 30,
        "4xx": 0,
        "5xx": 3,
    }
    assert {tile.title: tile.value for tile in answer.context["cards"]}["Server errors"] == "10.00 %"
    lines = client.get("/console/requests/csv/").getvalue().decode().splitlines()
    assert (lines[0], lines[-1].split(",")[1:]) == ("from,Requests,4xx,5xx", ["30", "0", "3"])


CARDS = {
    "owner": ["Approvals", "Features changed"],
    "security": ["Approvals", "Features changed", "Keys that expire", "Server errors"],
    "privacy": ["Erasures due", "Features changed"],
    "support": ["Features changed"],
    "engineer": ["Features changed", "Server errors"],
    "auditor": ["Features changed", "Server errors"],
}


@pytest.mark.parametrize("role", ROLES)
def test_cards_are_those_of_the_role(aurora: WorkspaceRef, signed_in: SignedIn, role: str) -> None:
    """PL-2: the overview shows a card, changes and a plot only to who may open the page that they lead to."""
    client = signed_in(factories.make_person(aurora, role, name="Role"))
    answer = client.get("/console/")
    titles = [tile.title for tile in answer.context["cards"]]
    assert titles == CARDS[role]
    assert {client.get(tile.url).status_code for tile in answer.context["cards"]} == {200}
    assert (answer.context["changes"] is not None) == (role in {"security", "privacy", "auditor"})
    assert (answer.context["chart"] is not None) == (role in {"security", "engineer", "auditor"})
    assert bool(answer.context["health_url"]) == (client.get("/console/health/").status_code == 200)
