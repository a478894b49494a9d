"""A write is decided by documents that hold until its commit, however long it waited for its lock."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction

from agentstate import access as doors
from tests import factories
from tests.agentstate.threads import apart
from tests.api import Answer, InProcess
from tests.factories import order_type, scope, write
from workspaces import access
from workspaces.scopes import scope_of
from workspaces.types import WorkspaceRef

PHONE = "+55 11 91234-5678"


@pytest.fixture
def ready(committed: None) -> WorkspaceRef:
    """A workspace whose rows other connections see."""
    return factories.make_ready_workspace()


@contextmanager
def waiting_write(workspace: WorkspaceRef, body: dict[str, Any]) -> Iterator[Future[Answer]]:
    """Begin a write that has to wait for the lock of its state until the block ends."""
    agent, place = InProcess(factories.make_key(workspace)), scope()
    with ThreadPoolExecutor(1) as pool, access.bound(workspace.id), transaction.atomic():
        doors.lock_state(doors.place_of(workspace, scope_of(workspace, **place), "order-taker"))
        running = pool.submit(apart, lambda: agent.write(write(body, scope=place)))
        wait_for_waiters(1)
        yield running


def wait_for_waiters(count: int) -> None:
    """Wait until this many other connections of this database wait for a lock."""
    waiting = """
        SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
        WHERE NOT granted AND datname = current_database()
    """
    found, deadline = 0, time.monotonic() + 60
    while found < count:
        assert time.monotonic() < deadline
        with connection.cursor() as cursor:
            cursor.execute(waiting)
            found = cursor.fetchone()[0]


def in_background(act: Any, *arguments: Any, **members: Any) -> tuple[ThreadPoolExecutor, Future[Any]]:
    """Begin an act on a connection of its own."""
    pool = ThreadPoolExecutor(1)
    return pool, pool.submit(apart, lambda: act(*arguments, **members))


def test_a_publication_waits_for_the_writes_under_way(ready: WorkspaceRef) -> None:
    """PR-3, PR-5: a write that began before a publication is stored before it; the next one goes by the new version."""
    changed = order_type(fields={**order_type()["fields"], "remark": {"type": "string", "pii": "phone"}})
    with waiting_write(ready, {"remark": PHONE}) as running:
        pool, published = in_background(factories.publish_types, ready, changed)
        wait_for_waiters(2)
        assert not published.done()
    assert running.result().body["stored"] is True
    published.result()
    pool.shutdown()
    agent, place = InProcess(factories.make_key(ready)), scope()
    agent.write(write({"remark": PHONE}, scope=place))
    assert agent.read(place).body["body"] == {"remark": "***78"}


def test_a_field_that_is_being_written_counts_as_held(ready: WorkspaceRef) -> None:
    """PR-3: a publication that removes a field sees the write of it that was under way, and is refused without drop."""
    fields = {name: form for name, form in order_type()["fields"].items() if name != "remark"}
    with waiting_write(ready, {"remark": "kept"}) as running:
        pool, published = in_background(factories.publish_types, ready, order_type(fields=fields))
        wait_for_waiters(2)
    assert running.result().body["stored"] is True
    with pytest.raises(Exception, match="invalid_document"):
        published.result()
    pool.shutdown()


def test_a_write_that_waited_meets_the_switch(ready: WorkspaceRef) -> None:
    """PR-4: turning the feature off waits for the writes under way, and every write after it is refused."""
    agent, place = InProcess(factories.make_key(ready)), scope()
    with waiting_write(ready, {"qty": 1}) as first:
        pool, switched = in_background(factories.switch, ready, "agent_state", on=False)
        wait_for_waiters(2)
        second_pool, second = in_background(agent.write, write({"qty": 2}, scope=place))
        wait_for_waiters(3)
    assert first.result().body["stored"] is True
    switched.result()
    assert second.result().code == "feature_off"
    pool.shutdown()
    second_pool.shutdown()
