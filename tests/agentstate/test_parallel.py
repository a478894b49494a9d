"""Writers that really run at once, on the real database (WM-7 to WM-9, WM-15, PL-6)."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from agentstate.errors import AgentStateConflict
from agentstate.types import StoredState
from tests import factories
from tests.agentstate.clock import Clocked
from tests.agentstate.rows import row_count, row_of
from tests.agentstate.threads import in_parallel
from tests.api import OverHttp
from tests.factories import scope, write
from workspaces import access
from workspaces.models import Handle, Profile, WrappedKey

FIELDS = [f"field_{number}" for number in range(8)]
TYPE: dict[str, Any] = {
    "type": "parts",
    "version": "1",
    "ownership": "agent",
    "fields": {name: {"type": "integer"} for name in FIELDS},
    "agent_state": {"cap_bytes": 4096},
}
VISITOR = {"type": "anon_id", "value": "visitor"}

Written = tuple[int, str, int]


@pytest.fixture
def clock(committed: None) -> Clocked:
    """Writers in a new workspace, whose writes are committed."""
    return Clocked(factories.make_ready_workspace("Paralelo", TYPE))


def merges(store: Callable[[dict[str, Any]], int], place: dict[str, str], values: range) -> list[Written]:
    """Write each value into its field, the next field each time; give the version of each."""
    written = []
    for value in values:
        field = FIELDS[value % len(FIELDS)]
        written.append((store(write({field: value}, scope=place)), field, value))
    return written


def require_every_write(written: list[Written], body: dict[str, int], version: int) -> None:
    """Require versions without a gap, and in each field the value of its last write."""
    assert sorted(number for number, _, _ in written) == list(range(1, len(written) + 1))
    assert version == len(written)
    assert body == {field: value for _, field, value in sorted(written)}


def test_fifty_writers_of_one_state(clock: Clocked) -> None:
    """WM-8, WM-9: 2,000 merges on 8 fields by 50 threads: none is lost, and the versions are 1 to 2,000.

    PF-5: each waits for its turn, about fifty writes, and nobody for many times that.
    """
    place = scope()
    passed: list[int] = []

    def store(body: dict[str, Any]) -> int:
        done_before = len(passed)
        answer = clock.write(body)
        passed.append(answer.version - done_before)
        return answer.version

    jobs = [partial(merges, store, place, range(number, 2000, 50)) for number in range(50)]
    written = [each for results in in_parallel(jobs) for each in results]
    read = clock.read(place)
    assert len(written) == 2000
    require_every_write(written, read.body, read.version)
    assert max(passed) < 10 * 50


def test_writers_over_http(over_http: Callable[..., OverHttp]) -> None:
    """WM-8, WM-9: the same through the server's two processes, while one write names the customer."""
    workspace, place = factories.make_ready_workspace("Paralelo", TYPE), scope()
    clients = [over_http(workspace, name=f"writer {number}") for number in range(12)]

    def store(client: OverHttp, body: dict[str, Any]) -> int:
        named = {"subject": VISITOR} if 100 in body["body"].values() else {}
        version: int = client.write({**body, **named}).body["version"]
        return version

    jobs = [
        partial(merges, partial(store, client), place, range(number, 240, 12))
        for number, client in enumerate(clients)
    ]
    written = [each for results in in_parallel(jobs) for each in results]
    read = clients[0].read(place).body
    require_every_write(written, read["body"], read["version"])
    assert row_of(workspace, place).handle_id is not None
    for client in clients:
        client.http.close()


@pytest.mark.parametrize("subject", [None, VISITOR])
def test_first_writes(clock: Clocked, subject: dict[str, str] | None) -> None:
    """WM-8, WM-9, PL-6: of a state that is not there yet: one row, one life, one person, every field."""
    for _ in range(5):
        place = scope()
        jobs = [
            partial(clock.write, write({field: 1}, scope=place, **({"subject": subject} if subject else {})))
            for field in FIELDS
        ]
        answers = in_parallel(jobs)
        assert sorted(answer.version for answer in answers) == list(range(1, 9))
        assert len({answer.epoch for answer in answers}) == 1
        assert clock.read(place).body == dict.fromkeys(FIELDS, 1)
    assert row_count(clock.workspace) == 5
    with access.bound(clock.workspace.id):
        assert (Profile.objects.count(), Handle.objects.count()) == ((1, 1) if subject else (0, 0))
        assert WrappedKey.objects.filter(purpose="data").count() == 5


def test_one_winner_of_each_version(clock: Clocked) -> None:
    """WM-7: eight writers race by cas at the same version, from 0 on: exactly one is stored, seven are told."""
    place = scope()
    for version in range(12):
        outcomes = in_parallel(
            [
                partial(
                    outcome,
                    clock,
                    write({"field_0": number}, scope=place, mode="cas", if_version=version),
                )
                for number in range(8)
            ]
        )
        stored = [number for number, answer in enumerate(outcomes) if answer is not None]
        assert len(stored) == 1
        assert clock.read(place).body == {"field_0": stored[0]}
        assert clock.read(place).version == version + 1


def test_retries_after_conflicts(clock: Clocked) -> None:
    """WM-7: a counter that eight writers raise by reading and cas ends at the number of raises: none was lost."""
    place = scope()
    in_parallel([partial(raise_counter, clock, place, times=6)] * 8)
    read = clock.read(place)
    assert (read.body, read.version) == ({"field_0": 48}, 48)


def test_one_write_sent_twice_at_once(clock: Clocked) -> None:
    """WM-15: requests with one Idempotency-Key that overtake each other are one write."""
    for number in range(5):
        body = write({"field_0": number}, scope=scope(), mode="cas")
        answers = in_parallel([partial(clock.write, body, idempotency_key="k-1")] * 6)
        assert {answer.version for answer in answers} == {1}
        assert len({answer.epoch for answer in answers}) == 1
        assert clock.read(body["scope"]).version == 1


def test_removals_between_writes(clock: Clocked) -> None:
    """WM-9, WM-16b: no version is given twice, in however many lives, and each epoch is one unbroken run."""
    place = scope()
    clock.write(write({"field_0": 0}, scope=place))
    writers = [
        partial(many, clock.write, [write({field: n}, scope=place) for n in range(15)]) for field in FIELDS
    ]
    removers = [partial(many, clock.delete, [place] * 10)] * 2
    results = in_parallel([*writers, *removers])
    stored: list[StoredState] = sorted(
        (answer for answers in results[:8] for answer in answers), key=lambda answer: answer.version
    )
    assert [answer.version for answer in stored] == list(range(2, 122))
    epochs = [answer.epoch for answer in stored]
    changes = sum(before != after for before, after in pairwise(epochs))
    assert changes == len(set(epochs)) - 1
    assert 1 <= sum(deletion.deleted for answers in results[8:] for deletion in answers) <= 20


def test_a_sweep_between_writes(clock: Clocked) -> None:
    """WM-21, WM-9: sweeps that find every state due all the time take nothing that a write has put there."""
    factories.publish_types(clock.workspace, TYPE | {"version": "2", "retention": {"field_0": "1h"}})
    later = Clocked(clock.workspace, now=clock.now + timedelta(hours=1), name="sweep")
    places = [scope() for _ in range(4)]
    writers = [
        partial(many, clock.write, [write({"field_0": n, "field_1": n}, scope=place) for n in range(20)])
        for place in places
    ]
    *results, swept = in_parallel([*writers, lambda: sum(later.sweep().fields for _ in range(30))])
    for place, answers in zip(places, results, strict=True):
        assert [answer.version for answer in answers] == list(range(1, 21))
        assert later.read(place).body == {"field_1": 19}
    assert swept >= 1


def outcome(clock: Clocked, body: dict[str, Any]) -> StoredState | None:
    """Write; give None for a conflict."""
    try:
        return clock.write(body)
    except AgentStateConflict:
        return None


def raise_counter(clock: Clocked, place: dict[str, str], *, times: int) -> None:
    """Raise the counter of a state some times, reading again after each conflict."""
    while times:
        read = clock.read(place)
        body = {"field_0": read.body.get("field_0", 0) + 1}
        times -= outcome(clock, write(body, scope=place, mode="cas", if_version=read.version)) is not None


def many(call: Callable[[Any], Any], arguments: list[Any]) -> list[Any]:
    return [call(argument) for argument in arguments]
