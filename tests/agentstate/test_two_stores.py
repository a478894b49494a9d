"""Working memory between the two stores: what a request asks of them, and each step that can fail (WM-18 to WM-20)."""

from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, transaction
from django.utils import timezone
from pytest_django import Settings

from agentstate import access as doors
from agentstate import hotstates
from agentstate.access import place_of
from agentstate.services import states
from tests import factories
from tests.agentstate.clock import Clocked
from tests.agentstate.round_trips import round_trips
from tests.agentstate.rows import row_count, row_of
from tests.agentstate.threads import apart
from tests.api import Answer, InProcess
from tests.factories import order_type, scope, write
from tests.hotstore.store import flush, pass_deadline, raw, writers
from tests.parallel import at_once
from workspaces import access, coherence, encryption, hotstore
from workspaces.hotstore import HotStoreDown, Name
from workspaces.models import Handle, WrappedKey
from workspaces.postgresql import calls
from workspaces.scopes import scope_of
from workspaces.types import WorkspaceRef

SUBJECT = {"type": "phone_e164", "value": "+55 11 91234-5678"}


@pytest.fixture
def ready(committed: None) -> WorkspaceRef:
    """A workspace whose rows are committed."""
    return factories.make_ready_workspace("Duas")


@pytest.fixture
def client(ready: WorkspaceRef) -> InProcess:
    """An agent's code in it."""
    return InProcess(factories.make_key(ready))


def name_of(workspace: WorkspaceRef, place: dict[str, str]) -> Name:
    """Name a state in the hot store."""
    return place_of(workspace, scope_of(workspace, **place), "order-taker").name


def asked(deed: Callable[[], Any]) -> tuple[int, int]:
    """Count the round trips of a deed to the content and to the keys."""
    with ExitStack() as stack:
        content, keys = (stack.enter_context(round_trips(alias)) for alias in ("default", "keys"))
        deed()
    return len(content), len(keys)


def away(*_: Any, **__: Any) -> None:
    raise HotStoreDown


def crash(*_: Any, **__: Any) -> None:
    raise SystemExit


def version_of(client: InProcess, place: dict[str, str]) -> int:
    answer = client.read(place)
    assert answer.status == 200, answer
    found: int = answer.body["version"]
    return found


PLACES: list[tuple[str, dict[str, Any]]] = [
    ("a conversation", {}),
    ("a conversation that names a person", {"subject": SUBJECT}),
    ("a person", {"scope": {"kind": "subject", "id": "phone_e164:+5511912345678"}}),
]


def test_the_measure_counts(ready: WorkspaceRef, client: InProcess) -> None:
    """WM-19: a cold read asks the content once for the row; the trace sees it."""
    place = scope()
    client.write(write(scope=place))
    client.read(place)
    flush(name_of(ready, place))
    assert asked(lambda: client.read(place)) == (1, 0)


@pytest.mark.parametrize(("what", "members"), PLACES, ids=[row[0] for row in PLACES])
def test_a_warm_read_asks_no_database(
    ready: WorkspaceRef, client: InProcess, what: str, members: dict[str, Any]
) -> None:
    """WM-19: key, feature, documents, state and wrapped keys come from the hot store; no statement is sent."""
    place = members.get("scope") or scope()
    assert client.write(write({"qty": 1}, **{"scope": place, **members})).body["stored"] is True
    client.read(place)
    for _ in range(3):
        assert asked(lambda: client.read(place)) == (0, 0)


def test_a_warm_read_of_nothing_asks_no_database(client: InProcess) -> None:
    """WM-19: that a state was never written is known warm as well."""
    place = scope()
    client.read(place)
    assert asked(lambda: client.read(place)) == (0, 0)


def test_a_state_is_warm_after_its_write(client: InProcess) -> None:
    """WM-20: a write publishes, so that the next reader finds it; only the keys are looked up once."""
    place = scope()
    client.write(write(scope=place))
    client.write(write(scope=place))
    assert asked(lambda: client.read(place))[0] == 0


@pytest.mark.parametrize("mode", ["merge_by_key", "cas"])
@pytest.mark.parametrize(("what", "members"), PLACES, ids=[row[0] for row in PLACES])
def test_a_warm_write_takes_one_round_trip(
    client: InProcess, what: str, members: dict[str, Any], mode: str
) -> None:
    """WM-20, PL-1: binding, locks, checks and the row go in one; at most two to the content, none to the keys."""
    place = members.get("scope") or scope()
    base = {"scope": place, "mode": mode, **members}
    for number in range(7):
        asked(lambda number=number: client.write(write({"qty": number}, **base, if_version=number)))  # type: ignore[misc]
    counts = asked(lambda: client.write(write({"qty": 7}, **base, if_version=7)))
    assert version_of(client, place) == 8
    assert counts[0] <= 2
    assert counts[1] == 0


def test_a_first_write_makes_its_key_too(client: InProcess) -> None:
    """PR-15: a new state has a key of its own: one round trip more, to the keys."""
    for _ in range(6):
        client.write(write())
    content, keys = asked(lambda: client.write(write()))
    assert content <= 2
    assert 1 <= keys <= 2


@pytest.mark.parametrize("is_new", [True, False])
def test_without_a_marker_nothing_is_stored(
    ready: WorkspaceRef, client: InProcess, monkeypatch: pytest.MonkeyPatch, *, is_new: bool
) -> None:
    """WM-20: a write that cannot mark answers 503 `hot_store_unavailable`, and may be sent again."""
    place = scope()
    if not is_new:
        client.write(write({"qty": 1}, scope=place))
    with monkeypatch.context() as patch:
        patch.setattr(hotstore, "mark", away)
        answer = client.write(write({"qty": 2}, scope=place))
    assert (answer.status, answer.code) == (503, "hot_store_unavailable")
    assert int(answer.headers["retry-after"]) > 0
    assert version_of(client, place) == (0 if is_new else 1)
    assert row_count(ready) == (0 if is_new else 1)


def test_a_deployment_may_do_without(
    client: InProcess, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    """WM-20: with HOT_STORE_REQUIRED=false writes go on while the hot store is away."""
    settings.HOT_STORE_REQUIRED = False
    place = scope()
    with monkeypatch.context() as patch:
        for step in ("mark", "look", "publish", "token", "lift"):
            patch.setattr(hotstore, step, away)
        assert client.write(write({"qty": 1}, scope=place)).body["stored"] is True
        assert client.write(write({"qty": 2}, scope=place)).body["version"] == 2
        assert version_of(client, place) == 2


def unpublished(
    client: InProcess, monkeypatch: pytest.MonkeyPatch, place: dict[str, str], **headers: str
) -> Answer:
    """Write so that the commit holds and the publication fails."""
    with monkeypatch.context() as patch:
        patch.setattr(hotstore, "publish", away)
        return client.write(write({"qty": 5}, scope=place), **headers)


@pytest.mark.parametrize("is_new", [True, False])
def test_a_commit_that_was_not_published_is_not_known(
    ready: WorkspaceRef, client: InProcess, monkeypatch: pytest.MonkeyPatch, *, is_new: bool
) -> None:
    """WM-20, WM-18: 503 `outcome_unknown`; the marker stays, so that readers are answered by the database."""
    place = scope()
    if not is_new:
        client.write(write({"qty": 1}, scope=place))
        client.read(place)
    answer = unpublished(client, monkeypatch, place)
    assert (answer.status, answer.code) == (503, "outcome_unknown")
    assert len(writers(name_of(ready, place))) == 1
    for _ in range(2):
        assert client.read(place).body["body"] == {"qty": 5}


@pytest.mark.parametrize("is_new", [True, False])
def test_sending_again_answers_as_stored_and_publishes(
    ready: WorkspaceRef, client: InProcess, monkeypatch: pytest.MonkeyPatch, *, is_new: bool
) -> None:
    """WM-15, WM-20: the same Idempotency-Key gives the answer of the write that was stored, and stores nothing."""
    place, headers = scope(), {"Idempotency-Key": "once"}
    if not is_new:
        client.write(write({"qty": 1}, scope=place))
    unpublished(client, monkeypatch, place, **headers)
    answer = client.write(write({"qty": 5}, scope=place), **headers)
    assert (answer.status, answer.body["stored"], answer.body["version"]) == (200, True, 1 if is_new else 2)
    pass_deadline(name_of(ready, place))
    assert version_of(client, place) == answer.body["version"]
    assert writers(name_of(ready, place)) == {}
    client.read(place)
    assert asked(lambda: client.read(place)) == (0, 0)


def test_a_conflict_publishes(ready: WorkspaceRef, client: InProcess) -> None:
    """WM-20: a 412 publishes the stored version before it answers, so that reading again is warm and newer."""
    place = scope()
    client.write(write({"qty": 1}, scope=place))
    client.write(write({"qty": 2}, scope=place))
    flush(name_of(ready, place))
    assert client.write(write({"qty": 3}, scope=place, mode="cas", if_version=1)).status == 412
    assert raw().exists(name_of(ready, place).entry) == 1
    assert writers(name_of(ready, place)) == {}
    assert version_of(client, place) == 2


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("undeclared", {"body": {"unknown": 1}}),
    ("wrong value", {"body": {"qty": "many"}}),
    ("over the cap", {"body": {"remark": "x" * 5_000}}),
    ("another version", {"mode": "cas", "if_version": 9}),
]


@pytest.mark.parametrize(("why", "members"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_refusal_leaves_no_marker(
    ready: WorkspaceRef, client: InProcess, why: str, members: dict[str, Any]
) -> None:
    """WM-20, WM-19: a write that stored nothing keeps no reader from the hot store."""
    place = scope()
    client.write(write({"qty": 1}, scope=place))
    client.read(place)
    client.write(write(**{"body": {"qty": 1}, **members}, scope=place))
    assert writers(name_of(ready, place)) == {}
    assert asked(lambda: client.read(place)) == (0, 0)
    assert version_of(client, place) == 1


def test_a_writer_that_died_is_repaired_after_its_deadline(
    ready: WorkspaceRef, client: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WM-20: before the deadline a reader answers from the database and leaves the marker; after it, it repairs."""
    place = scope()
    client.write(write({"qty": 1}, scope=place))
    client.read(place)
    with monkeypatch.context() as patch:
        patch.setattr(hotstates.Turn, "finish", crash)
        with pytest.raises(SystemExit):
            client.write(write({"qty": 2}, scope=place))
    name = name_of(ready, place)
    for _ in range(2):
        assert version_of(client, place) == 2
        assert len(writers(name)) == 1
    pass_deadline(name)
    assert version_of(client, place) == 2
    assert writers(name) == {}
    assert asked(lambda: client.read(place)) == (0, 0)
    assert version_of(client, place) == 2


def test_nobody_repairs_while_the_lock_is_held(
    ready: WorkspaceRef, client: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WM-20, WM-19: a writer that hangs with the lock keeps its marker past the deadline, and no reader waits."""
    place = scope()
    client.write(write({"qty": 1}, scope=place))
    name = name_of(ready, place)
    hotstore.mark(name)
    pass_deadline(name)
    with access.bound(ready.id), transaction.atomic():
        coherence.lock(name)
        assert at_once(1, lambda _: version_of(client, place)) == [1]
        assert len(writers(name)) == 1
    assert version_of(client, place) == 1
    assert writers(name) == {}


@pytest.mark.parametrize("is_alone", [True, False])
def test_a_writer_past_its_deadline_does_not_commit(
    ready: WorkspaceRef, client: InProcess, monkeypatch: pytest.MonkeyPatch, *, is_alone: bool
) -> None:
    """WM-20: who comes to the database after the time in which its marker holds stores nothing, on either way."""
    place = scope()
    client.write(write({"qty": 1}, scope=place))
    client.read(place)
    began = hotstates.Turn.__init__

    def begin_late(turn: Any, *arguments: Any) -> None:
        began(turn, *arguments)
        turn.commit_until = timezone.now() - timedelta(seconds=1)

    with monkeypatch.context() as patch:
        patch.setattr(hotstates.Turn, "__init__", begin_late)
        if not is_alone:
            hotstore.mark(name_of(ready, place))
        answer = client.write(write({"qty": 2}, scope=place))
    assert (answer.status, answer.code) == (503, "unavailable")
    assert version_of(client, place) == 1
    assert row_of(ready, place).version == 1


def test_a_publication_between_look_and_commit_counts(
    ready: WorkspaceRef, client: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PR-3, PR-5: documents that were published after a request saw them decide: the database says so."""
    place, store = scope(), states._store_at_once
    client.write(write({"remark": "a"}, scope=place))
    fields = {**order_type()["fields"], "remark": {"type": "string", "pii": "phone"}}

    def publish_first(*arguments: Any, **members: Any) -> Any:
        at_once(1, lambda _: factories.publish_types(ready, order_type(fields=fields)))
        return store(*arguments, **members)

    with monkeypatch.context() as patch:
        patch.setattr(states, "_store_at_once", publish_first)
        assert client.write(write({"remark": "+55 11 91234-5678"}, scope=place)).body["stored"] is True
    assert client.read(place).body["body"] == {"remark": "***78"}


def test_a_switch_between_look_and_commit_counts(
    ready: WorkspaceRef, client: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PR-4: a write that was let in before the feature was switched off is refused at the database."""
    store = states._store_at_once

    def switch_first(*arguments: Any, **members: Any) -> Any:
        at_once(1, lambda _: factories.switch(ready, "agent_state", on=False))
        return store(*arguments, **members)

    with monkeypatch.context() as patch:
        patch.setattr(states, "_store_at_once", switch_first)
        assert client.write(write()).code == "feature_off"
    assert row_count(ready) == 0


def test_another_write_between_look_and_commit_counts(
    ready: WorkspaceRef, client: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WM-8: a merge made from an entry that is out of date is made again from what is stored."""
    place, store = scope(), states._store_at_once
    client.write(write({"qty": 1}, scope=place))
    other = InProcess(factories.make_key(ready))

    def write_first(*arguments: Any, **members: Any) -> Any:
        monkeypatch.setattr(states, "_store_at_once", store)
        at_once(1, lambda _: other.write(write({"remark": "theirs"}, scope=place)))
        return store(*arguments, **members)

    monkeypatch.setattr(states, "_store_at_once", write_first)
    assert client.write(write({"qty": 2}, scope=place)).body["version"] == 3
    assert client.read(place).body["body"] == {"qty": 2, "remark": "theirs"}
    assert writers(name_of(ready, place)) == {}


def test_an_old_entry_misleads_no_writer(ready: WorkspaceRef, client: InProcess) -> None:
    """WM-8, WM-20: a writer that is shown an entry of before the last change stores over what is stored."""
    place = scope()
    name = name_of(ready, place)
    client.write(write({"qty": 1}, scope=place))
    old = raw().get(name.entry)
    client.write(write({"remark": "new"}, scope=place))
    raw().set(name.entry, old)
    assert client.write(write({"qty": 2}, scope=place)).body["version"] == 3
    assert client.read(place).body["body"] == {"qty": 2, "remark": "new"}


def test_a_deletion_drops_the_entry(ready: WorkspaceRef, client: InProcess) -> None:
    """WM-16b, WM-18: a deleted state reads as never written at once, by everybody."""
    place = scope()
    client.write(write(scope=place))
    client.read(place)
    assert client.post("/v1/agent-state/delete", {"scope": place, "agent": "order-taker"}).status == 200
    assert raw().exists(name_of(ready, place).entry, name_of(ready, place).marker) == 0
    assert version_of(client, place) == 0


def test_the_sweep_drops_the_entry(ready: WorkspaceRef) -> None:
    """WM-21, WM-20: what the sweep takes out of the row is not in the hot store any more."""
    clock, place = Clocked(ready), scope()
    clock.write(write({"phone": "+55 11 91234-5678", "qty": 1}, scope=place))
    clock.read(place)
    name = name_of(ready, place)
    before = raw().get(name.entry)
    assert clock.wait(hours=25).sweep().fields == 1
    assert raw().exists(name.entry, name.marker) == 0
    assert clock.read(place).body == {"qty": 1}
    assert raw().get(name.entry) != before
    assert clock.wait(days=40).sweep().states == 1
    assert raw().exists(name.entry, name.marker) == 0
    assert clock.read(place).version == 0


def test_a_warm_entry_serves_no_expired_field(ready: WorkspaceRef) -> None:
    """WM-21: an expired field, and an expired state, are not served although the entry still holds them."""
    clock, place = Clocked(ready), scope()
    clock.write(write({"phone": "+55 11 91234-5678", "qty": 1}, scope=place))
    assert clock.read(place).body.keys() == {"phone", "qty"}
    clock.wait(hours=25)
    assert clock.read(place).body == {"qty": 1}
    clock.wait(days=30)
    assert (clock.read(place).version, clock.read(place).body) == (0, {})
    assert raw().exists(name_of(ready, place).entry) == 1


@pytest.mark.parametrize("which", ["handle", "data"])
def test_a_destroyed_key_makes_a_warm_state_unreadable(
    ready: WorkspaceRef, client: InProcess, which: str
) -> None:
    """PR-15, WM-18: once a key is destroyed its content is gone, also where the state is warm with all its keys."""
    place = scope()
    client.write(write({"qty": 1}, scope=place, subject=SUBJECT))
    client.read(place)
    assert asked(lambda: client.read(place)) == (0, 0)
    row = row_of(ready, place)
    key_id = row.data_key_id if which == "data" else row.handle_id
    assert key_id is not None
    assert row.handle_id is not None
    with access.bound(ready.id):
        assert WrappedKey.objects.filter(id=key_id).exists()
        assert Handle.objects.filter(id=row.handle_id).exists()
        encryption.destroy_keys(ready, key_id)
    assert client.read(place).body["body"] == {}
    assert version_of(client, place) == 0


def test_a_crash_while_a_key_is_destroyed_brings_nothing_back(
    ready: WorkspaceRef, client: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PR-15, WM-20: who destroys a key and dies before its entry went has destroyed it, before and after a repair."""
    place = scope()
    client.write(write({"qty": 1}, scope=place))
    client.read(place)
    key_id = row_of(ready, place).data_key_id
    assert key_id is not None
    with monkeypatch.context() as patch:
        patch.setattr(hotstore, "drop", crash)
        with pytest.raises(SystemExit):
            encryption.destroy_keys(ready, key_id)
    assert client.read(place).body["body"] == {}
    pass_deadline(hotstore.name_of("w", key_id.bytes))
    for _ in range(3):
        assert client.read(place).body["body"] == {}


def test_a_statement_whose_end_nobody_knows(
    ready: WorkspaceRef, client: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WM-20, WM-16: a connection lost at the commit is `outcome_unknown`, and the marker stays."""
    place, store = scope(), doors.store_row
    client.write(write({"qty": 1}, scope=place))

    def lose_the_answer(*arguments: Any, **members: Any) -> Any:
        store(*arguments, **members)
        raise OperationalError

    with monkeypatch.context() as patch:
        patch.setattr(doors, "store_row", lose_the_answer)
        answer = client.write(write({"qty": 2}, scope=place), **{"Idempotency-Key": "once"})
    assert (answer.status, answer.code) == (503, "outcome_unknown")
    assert len(writers(name_of(ready, place))) == 1
    assert version_of(client, place) == 2
    again = client.write(write({"qty": 2}, scope=place), **{"Idempotency-Key": "once"})
    assert (again.body["stored"], again.body["version"]) == (True, 2)


@pytest.mark.parametrize("is_warm", [True, False])
def test_a_database_that_is_not_reached_leaves_no_marker(
    ready: WorkspaceRef, client: InProcess, monkeypatch: pytest.MonkeyPatch, *, is_warm: bool
) -> None:
    """WM-19, WM-20: nothing was sent, so nothing was stored, and readers of the state go on."""
    place = scope()
    client.write(write({"qty": 1}, scope=place))
    client.read(place)
    name = name_of(ready, place)
    if not is_warm:
        flush(name)

    def unreachable() -> None:
        raise calls.NotSent

    with monkeypatch.context() as patch:
        patch.setattr(calls, "_ready", unreachable)
        answer = client.write(write({"qty": 2}, scope=place))
        assert (answer.status, answer.code) == (503, "unavailable")
        assert writers(name) == {}
        assert client.read(place).status == (200 if is_warm else 503)
    assert client.read(place).body["body"] == {"qty": 1}


def test_other_connections_see_what_was_acknowledged(ready: WorkspaceRef, client: InProcess) -> None:
    """WM-18: after each acknowledgement every reader, on whichever connection, gives that version or a newer one."""
    place = scope()
    for number in range(1, 20):
        assert client.write(write({"qty": number}, scope=place)).body["version"] == number
        if number % 4 == 0:
            flush(name_of(ready, place))
        assert min(at_once(3, lambda _: apart(lambda: version_of(client, place)))) >= number
