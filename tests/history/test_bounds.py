"""How much a workspace keeps, how long, and what leaves (HI-4, HI-23, PR-20)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from history.errors import HistoryLimitExceeded, HistoryNotFound
from history.models import HistorySweep, Usage
from history.tasks import sweep_all
from tests.agentstate.rows import wrapping_key
from tests.api import Answer
from tests.history.bounds import keep, used
from tests.history.clock import Clocked
from tests.history.talk import PINS, Talk, assistant, turns, user
from workspaces import access
from workspaces.types import WorkspaceRef

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
ASKED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
FOUND = {"role": "tool", "tool_call_id": "c1", "content": "found"}


def test_a_session_ends_when_it_is_idle(clock: Clocked) -> None:
    """HI-4: 24 hours by default; expired is unknown before any sweep, and a new one may begin in its place."""
    clock.append(user())
    clock.wait(hours=23, minutes=59).append(assistant())
    assert len(clock.wait(hours=23, minutes=59).read().items) == 2
    clock.wait(minutes=1)
    calls: list[Callable[[], object]] = [clock.read, clock.window, lambda: clock.begin(create=False)]
    for call in calls:
        with pytest.raises(HistoryNotFound):
            call()
    assert clock.delete() is False
    assert clock.append(user("anew")).count == 1


def test_a_session_ends_when_it_is_old(clock: Clocked, home: WorkspaceRef) -> None:
    """HI-4: `max_age` counts from its beginning, however busy it is."""
    keep(home, idle="24h", max_age="3d")
    for _ in range(3):
        clock.append(user())
        clock.wait(hours=23)
    clock.append(user())
    with pytest.raises(HistoryNotFound):
        clock.wait(hours=3).read()


def test_a_shorter_retention_counts_at_once(clock: Clocked, home: WorkspaceRef) -> None:
    """HI-4, PR-20: of the retention at the last touch and the one now the shorter counts; none revives anything."""
    clock.append(user())
    keep(home, idle="1h")
    clock.wait(hours=2)
    with pytest.raises(HistoryNotFound):
        clock.read()
    keep(home, idle="48h", max_age="30d")
    clock.wait(hours=23)
    with pytest.raises(HistoryNotFound):
        clock.read()


def test_a_full_store_refuses_a_new_session(home: WorkspaceRef, clock: Clocked) -> None:
    """HI-4: naming the bound, what is needed and what is allowed; nothing older is dropped; a deletion makes room."""
    keep(home, max_sessions=2)
    first, second = clock, clock.another()
    for each in (first, second):
        each.append(user())
    third = clock.another()
    calls: list[Callable[[], object]] = [third.begin, lambda: third.append(user())]
    for call in calls:
        with pytest.raises(HistoryLimitExceeded) as refused:
            call()
        assert refused.value.members == {"bound": "max_sessions", "needed": 3, "allowed": 2, "calls": []}
    assert len(first.read().items) == len(second.read().items) == 1
    assert first.delete()
    assert third.append(user()).count == 1
    assert used(home)[0] == 2


def test_expired_sessions_make_room_before_any_sweep(home: WorkspaceRef, clock: Clocked) -> None:
    """HI-4: expired entries are purged at the next access that needs their place."""
    keep(home, max_sessions=1)
    clock.append(user())
    later = clock.another().wait(hours=25)
    assert later.append(user()).count == 1
    assert used(home)[0] == 1


def test_a_store_that_is_full_of_bytes_refuses(home: WorkspaceRef, clock: Clocked) -> None:
    """HI-4: atomically; what is there stays as it was."""
    keep(home, max_store_bytes=2**20)
    clock.append(user("x" * (2**20 - 1000)))
    other = clock.another()
    with pytest.raises(HistoryLimitExceeded) as refused:
        other.append(user("a"), user("y" * 1000))
    assert refused.value.members["bound"] == "max_store_bytes"
    with pytest.raises(HistoryNotFound):
        other.read()
    assert used(home)[0] == 1
    assert other.append(user("a")).count == 1


def test_a_session_holds_8_mib(talk: Talk) -> None:
    """HI-4: the append that would pass them is refused whole, inside a decision and outside of one."""
    talk.append(user("x" * (5 * 2**20)))
    much = user("y" * (4 * 2**20))
    calls: list[Callable[[], Answer]] = [lambda: talk.append(user("a"), much), lambda: talk.decide(much)]
    for call in calls:
        answer = call()
        assert (answer.status, answer.body["bound"]) == (422, "max_retained_bytes")
        assert answer.body["allowed"] == 8 * 2**20 < answer.body["needed"]
    assert talk.call("recover", worker_stopped=True).status == 200
    assert len(talk.messages()) == 1


def test_what_is_kept_is_counted_where_it_changes(home: WorkspaceRef, clock: Clocked) -> None:
    """HI-4: by a trigger, so that no way to change a session passes the count by."""
    clock.append(*turns(2))
    token = clock.begin().reservation
    clock.append(user("staged"), token=token)
    assert used(home)[0] == 1
    clock.recover()
    fork = clock.another()
    clock.fork(fork.place, at=clock.read().items[1].id)
    assert used(home)[0] == 2
    fork.delete()
    assert used(home)[0] == 1
    clock.wait(hours=25).sweep()
    assert used(home) == (0, 0)
    with access.bound(home.id):
        assert 1 <= Usage.objects.count() <= 16


def test_the_sweep_ends_what_has_expired(home: WorkspaceRef, clock: Clocked) -> None:
    """PR-20, PR-15: rows, items and the key go; what is not due stays; a second sweep finds nothing."""
    clock.append(*turns(2))
    key = clock.row().data_key_id
    fresh = clock.another().wait(hours=24)
    fresh.append(user())
    clock.wait(hours=24)
    swept = clock.sweep()
    assert (swept.sessions, swept.items) == (1, 0)
    assert clock.rows() == 2
    assert wrapping_key(home, key) is None
    assert clock.sweep().sessions == 0
    assert len(fresh.read().items) == 1


def test_an_expired_message_takes_its_exchange_along(home: WorkspaceRef, clock: Clocked) -> None:
    """HI-23: never served from its end on, its exchange leaves whole; the sweep then keeps no more than the path."""
    clock.append(*turns(1), user("look"))
    clock.decide(ASKED)
    soon = (clock.now + timedelta(hours=1)).isoformat()
    clock.append(FOUND, kind="observation", expires_at=soon, key="c1")
    clock.decide(assistant("It is there."), user("thanks"), assistant("Welcome."))
    before = clock.served()
    assert FOUND in before
    left = [*turns(1), user("look"), assistant("It is there."), user("thanks"), assistant("Welcome.")]
    clock.wait(hours=1)
    assert clock.served() == left
    assert FOUND not in clock.messages()
    assert clock.sweep().items == 2
    assert clock.served() == left
    assert clock.messages() == left
    assert clock.append(user("more")).count == 7
    assert used(home)[1] == sum(item_bytes(message) for message in [*left, user("more")])
    assert clock.sweep().items == 0


def item_bytes(message: dict[str, Any]) -> int:
    """Count a message as HI-9 does."""
    import json

    return len(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode())


def test_an_expired_leaf_is_passed_through(clock: Clocked) -> None:
    """HI-23: what follows an emptied message still finds what was before it."""
    clock.decide(*turns(1))
    soon = (clock.now + timedelta(hours=1)).isoformat()
    clock.append(user("secret"), expires_at=soon)
    clock.wait(hours=2)
    assert clock.sweep().items == 1
    assert clock.served() == turns(1)
    clock.append(user("go on"))
    assert clock.served() == [*turns(1), user("go on")]


def test_a_summary_has_an_end_of_its_own(home: WorkspaceRef, clock: Clocked) -> None:
    """HI-23: an expired one is not told, and the sweep takes it."""
    clock.decide(*turns(3))
    through = clock.read().items[1].id
    until = (clock.now + timedelta(hours=1)).isoformat()
    summary = {
        "text": "They asked.",
        "covers": 1,
        "digest": "0" * 64,
        "through": through,
        "expires_at": until,
    }
    clock.decide(summary=summary)
    told = clock.read().head.summary
    assert told is not None
    assert told.text == "They asked."
    clock.wait(hours=1)
    assert clock.read().head.summary is None
    assert clock.row().summary is not None
    clock.sweep()
    assert clock.row().summary is None


def test_removed_records_go_with_the_sweep(clock: Clocked) -> None:
    """HI-25: the removal is a record of its own until the sweep takes both."""
    clock.decide(*turns(1))
    clock.append({"checkpoint": 1}, kind="opaque", id="c1")
    clock.append({"checkpoint": 2}, kind="opaque", id="c2")
    clock.append({"removes": ["c1"]}, kind="removal")
    assert clock.row().item_count == 5
    assert clock.sweep().items == 2
    assert [record.id for record in clock.records()] == ["c2"]
    assert clock.row().item_count == 3


def test_the_worker_notes_what_it_removed(home: WorkspaceRef) -> None:
    """PR-20: a run that finds something is kept for 30 days with its numbers; one that finds nothing leaves no line."""
    now = timezone.now()
    clock = Clocked(home, now=now - timedelta(hours=25))
    clock.append(*turns(1))
    other = clock.another().wait(hours=24)
    other.append(user("secret"), expires_at=(now - timedelta(minutes=1)).isoformat())
    with access.bound(home.id):
        HistorySweep.objects.create(began_at=now - timedelta(days=31), ended_at=now - timedelta(days=31))
        for _ in range(2):
            sweep_all()
        run = HistorySweep.objects.get()
    assert run.removed == {"sessions": 1, "items": 1, "tombstones": 0}
    assert (run.backlog, run.damaged) == (0, 0)


def test_damage_stops_no_other(home: WorkspaceRef, clock: Clocked) -> None:
    """PR-20: a session that does not verify is named in the log, looked at no more before its end, and counted."""
    soon = (clock.now + timedelta(hours=1)).isoformat()
    other = clock.another()
    for each in (clock, other):
        each.append(user("secret"), expires_at=soon)
    damaged = clock.row().id
    with access.bound(home.id), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE history_item SET body = decode('00', 'hex') || body WHERE session_id = %s",
            [damaged],
        )
    clock.wait(hours=2)
    swept = clock.sweep()
    assert (swept.items, swept.damaged) == (1, 1)
    assert clock.sweep().damaged == 0


def test_pins_survive(clock: Clocked) -> None:
    """HI-1: what the first decision pinned stands until the session ends."""
    clock.decide(user())
    pins = clock.read().head.pins
    assert pins is not None
    assert {"provider": pins.provider, "model": pins.model} == {
        name: PINS[name] for name in ("provider", "model")
    }
