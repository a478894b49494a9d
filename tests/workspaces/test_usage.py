"""What is counted in each hour, and how exactly (CO-10)."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from threading import Event, Thread
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import OperationalError, connection
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from tests import factories
from tests.api import InProcess, OverHttp
from tests.server import Server
from workspaces import access
from workspaces.models import UsageHour
from workspaces.rules import usage as rules
from workspaces.services import usage
from workspaces.tasks import forget_usage
from workspaces.types import WorkspaceRef

ZONES = ("UTC", "America/Sao_Paulo", "Europe/Paris", "Asia/Kathmandu", "Pacific/Apia", "America/New_York")


@pytest.fixture(autouse=True)
def _nothing_counted() -> Iterator[None]:
    """Begin and end with nothing that other tests have counted."""
    usage.forget_counted()
    yield
    usage.forget_counted()


def kept(workspace: WorkspaceRef) -> dict[tuple[str, str], int]:
    """Keep what this process has counted, and give all that is kept, by kind and name."""
    assert usage.keep_counted() == 0
    with access.bound(workspace.id):
        return {(row.kind, row.name): row.count for row in UsageHour.objects.all()}


def test_writes_and_states_are_counted_by_agent(aurora: WorkspaceRef) -> None:
    """CO-10: each stored write counts for its agent, a state once for its life, and a resend not at all."""
    factories.publish_types(aurora, factories.order_type(agents=["order-taker", "closing"]))
    agent = InProcess(factories.make_key(aurora))
    scope = factories.scope()
    for step in ("cart", "done"):
        agent.write(factories.write({"step": step}, scope=scope))
    again = factories.write({"step": "cart"}, agent="closing", scope=scope)
    for _ in range(3):
        assert agent.write(again, **{"Idempotency-Key": "once"}).status == 200
    found = kept(aurora)
    assert {name: count for (kind, name), count in found.items() if kind == "write"} == {
        "order-taker": 2,
        "closing": 1,
    }
    assert {name: count for (kind, name), count in found.items() if kind == "state"} == {
        "order-taker": 1,
        "closing": 1,
    }
    assert found[("request", "2xx")] == 5


def test_a_state_that_begins_again_counts_again(aurora: WorkspaceRef) -> None:
    """CO-10: what is written after a removal is another state."""
    agent = InProcess(factories.make_key(aurora))
    scope = factories.scope()
    agent.write(factories.write(scope=scope))
    agent.post("/v1/agent-state/delete", {"scope": scope, "agent": "order-taker"})
    agent.write(factories.write(scope=scope))
    assert kept(aurora)[("state", "order-taker")] == 2


def test_refusals_conflicts_caps_and_undeclared_fields_are_counted(aurora: WorkspaceRef) -> None:
    """CO-10: each refusal counts under its code, and what was answered without being stored under its reason."""
    factories.publish_types(aurora, factories.order_type(agent_state={"cap_bytes": 1024}))
    agent = InProcess(factories.make_key(aurora))
    stale = factories.write({"step": "cart"}, mode="cas", if_version=7)
    refused = [
        agent.write(stale),
        agent.write(factories.write([])),
        agent.post("/v1/history/read", {"session_id": "s"}),
    ]
    assert [answer.code for answer in refused] == ["agent_state_conflict", "invalid_input", "feature_off"]
    reasons = [
        agent.write(factories.write({"unheard_of": 1})).body["reason"],
        agent.write(factories.write({"remark": "x" * 2000})).body["reason"],
    ]
    assert reasons == ["not_declared_field", "over_cap"]
    assert kept(aurora) == {
        ("refusal", "agent_state_conflict"): 1,
        ("refusal", "invalid_input"): 1,
        ("refusal", "feature_off"): 1,
        ("not_stored", "not_declared_field"): 1,
        ("not_stored", "over_cap"): 1,
        ("request", "4xx"): 3,
        ("request", "2xx"): 2,
    }


def test_who_is_not_known_counts_for_no_workspace(aurora: WorkspaceRef, boreal: WorkspaceRef) -> None:
    """CO-10, PL-1: a request without a valid key is nobody's, and one workspace's numbers are not the other's."""
    assert InProcess(None).read(factories.scope()).status == 401
    assert InProcess("lst_nonsense").read(factories.scope()).status == 401
    InProcess(factories.make_key(aurora)).read(factories.scope())
    assert kept(aurora) == {("request", "2xx"): 1}
    assert kept(boreal) == {}


@pytest.mark.parametrize("reads_before", [0, 1])
def test_a_caller_who_is_limited_counts(aurora: WorkspaceRef, settings: Settings, reads_before: int) -> None:
    """CO-10, PL-5: what the limit of a key refuses counts for its workspace, whether or not the key was met before."""
    agent = InProcess(factories.make_key(aurora))
    settings.RATE_LIMITS = {"key": (0.01, 1), "address": (1000, 2000)}
    answers = [agent.read(factories.scope()).status for _ in range(2 + reads_before)]
    assert answers == [200] + [429] * (1 + reads_before)
    assert kept(aurora)[("refusal", "rate_limited")] == 1 + reads_before


def test_nothing_that_was_sent_is_in_the_numbers(aurora: WorkspaceRef) -> None:
    """CO-10, CO-12: an agent that no type declares, a path and a body leave no word in the counters."""
    agent = InProcess(factories.make_key(aurora))
    agent.write(factories.write({"step": "zq7word"}, agent="zq7word"))
    agent.post("/v1/zq7word", {"zq7word": "zq7word"})
    agent.write({"zq7word": 1})
    assert not [name for _kind, name in kept(aurora) if "zq7word" in name]


def test_many_processes_add_to_one_number(aurora: WorkspaceRef) -> None:
    """CO-10: what is kept later is added to what was kept before, in the hour in which it was counted."""
    now = timezone.now()
    for hours in (0, 0, 1):
        usage.count(aurora.id, "write", "order-taker", now=now - timedelta(hours=hours), amount=3)
        kept(aurora)
    with access.bound(aurora.id):
        rows = UsageHour.objects.order_by("hour").values_list("hour", "count")
        before, present = (rules.start_of(rules.hour_of(now) - back) for back in (1, 0))
        assert list(rows) == [(before, 3), (present, 6)]


def test_what_the_database_does_not_take_is_kept_the_next_time(
    aurora: WorkspaceRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CO-10: a database that is away loses no number, and counts none twice."""
    usage.count(aurora.id, "write", "order-taker", now=timezone.now())

    def refuse(*_: Any) -> None:
        raise OperationalError

    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", refuse)
        assert usage.keep_counted() == 1
    usage.count(aurora.id, "write", "order-taker", now=timezone.now())
    assert sum(kept(aurora).values()) == 2


def test_old_hours_are_forgotten(aurora: WorkspaceRef) -> None:
    """CO-10: numbers live 92 days; then the hourly task removes them."""
    now = timezone.now()
    for days in (93, 91):
        usage.count(aurora.id, "write", "order-taker", now=now - timedelta(days=days), amount=days)
    assert kept(aurora)
    forget_usage()
    with access.bound(aurora.id):
        assert list(UsageHour.objects.values_list("count", flat=True)) == [91]


@given(
    st.sampled_from(sorted(rules.SPANS)),
    st.integers(946_684_800, 2_840_140_800).map(partial(datetime.fromtimestamp, tz=UTC)),
    st.sampled_from(ZONES),
)
def test_ranges_have_no_gap_and_end_now(span: str, now: datetime, name: str) -> None:
    """CO-10: whatever the zone, the hours or days of a range follow each other, and the last one is the present."""
    zone = ZoneInfo(name)
    starts = rules.starts(span, now=now, zone=zone)
    assert len(starts) == rules.SPANS[span]
    instants = [start.astimezone(UTC) for start in starts]
    steps = {(after - before) for before, after in pairwise(instants)}
    if rules.is_hourly(span):
        assert steps == {timedelta(hours=1)}
    else:
        assert (
            all(timedelta(hours=22) <= step <= timedelta(hours=26) for step in steps)
            or name == "Pacific/Apia"
        )
        assert {start.time() for start in starts} == {datetime.min.time()}
        assert starts[-1].date() == now.astimezone(zone).date()
    assert instants[-1] <= now


@pytest.fixture
def working(committed: None, _deployment_key: None) -> WorkspaceRef:
    """A workspace that other processes see too."""
    return factories.make_ready_workspace("Working")


def test_a_server_keeps_its_numbers_when_it_stops(working: WorkspaceRef, server: Server) -> None:
    """CO-10: a web process that ends in order has kept all that it counted."""
    agent = OverHttp(server.url, factories.make_key(working))
    for _ in range(3):
        assert agent.write(factories.write()).status == 200
    server.end("writer")
    server.start()
    assert kept(working) == {("write", "order-taker"): 3, ("state", "order-taker"): 3, ("request", "2xx"): 3}


def test_numbers_are_kept_while_a_process_runs(
    working: WorkspaceRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CO-10: a thread of the process keeps them again and again, and nobody has to ask."""
    monkeypatch.setattr(usage, "KEEP_EVERY_SECONDS", 0.02)
    ended = Event()
    keeper = Thread(target=usage._keep_until, args=(ended,))
    keeper.start()
    try:
        for _ in range(2):
            usage.count(working.id, "write", "order-taker", now=timezone.now())
            await_empty()
    finally:
        ended.set()
        keeper.join()
    assert kept(working) == {("write", "order-taker"): 2}


def await_empty() -> None:
    """Wait until nothing is left that was counted and not kept."""
    deadline = time.monotonic() + 20
    while usage._counted and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not usage._counted
