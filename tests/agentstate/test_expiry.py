"""How long working memory is kept, and what the sweep takes away (WM-21, WM-3, PR-3, PR-20)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from agentstate import tasks
from agentstate.models import State
from agentstate.services import sweep
from agentstate.services.sweep import Swept
from tests import factories
from tests.agentstate.clock import Clocked
from tests.agentstate.rows import row_count, row_of, stored_body, wrapping_key
from tests.agentstate.threads import apart, in_parallel
from tests.api import InProcess
from tests.factories import LATELY, order_type, scope, write
from workspaces import access, encryption
from workspaces.types import WorkspaceRef

PHONE = "+5511912345678"


@pytest.fixture
def clock(aurora: WorkspaceRef) -> Clocked:
    """An agent and the sweep of Aurora, at noon."""
    return Clocked(aurora)


def publish(workspace: WorkspaceRef, *, drop: tuple[str, ...] = (), **changes: Any) -> None:
    """Publish a next version of ORDER_TYPE."""
    factories.publish_types(workspace, order_type(version="2", **changes), drop=drop)


def without(*names: str) -> dict[str, Any]:
    """Give the fields of ORDER_TYPE without some."""
    return {name: form for name, form in factories.ORDER_TYPE["fields"].items() if name not in names}


class TestState:
    """A whole state."""

    def test_ends_after_its_last_write(self, clock: Clocked) -> None:
        """WM-21: every stored write starts the time anew; a read, a sweep and a refusal do not."""
        place = scope()
        clock.write(write({"qty": 1}, scope=place))
        clock.wait(days=20).write(write({"step": "cart"}, scope=place))
        clock.wait(days=20).read(place)
        clock.sweep()
        assert not clock.write(write({"nowhere": 1}, scope=place)).stored
        assert clock.wait(days=10, seconds=-1).read(place).version == 2
        assert clock.wait(seconds=1).read(place).version == 0

    @pytest.mark.parametrize(("declared", "days"), [({}, 30), ({"state": "1d"}, 1), ({"state": "180d"}, 180)])
    def test_ends_as_declared(self, aurora: WorkspaceRef, clock: Clocked, declared: Any, days: int) -> None:
        """WM-21, WM-3: after `retention.state`, 30 days unless said."""
        publish(aurora, retention=declared)
        place = scope()
        clock.write(write(scope=place))
        assert clock.read(place).valid_until == LATELY + timedelta(days=days)
        assert clock.wait(days=days, seconds=-1).read(place).version == 1
        assert clock.wait(seconds=1).read(place).version == 0

    def test_shortened_by_another_version(self, aurora: WorkspaceRef, clock: Clocked) -> None:
        """WM-3: of the time at the write and the one now the shorter counts, at once and before any sweep."""
        place = scope()
        clock.write(write({"qty": 1}, scope=place))
        publish(aurora, retention={"state": "2d"})
        clock.wait(days=2, seconds=-1)
        assert clock.read(place).valid_until == LATELY + timedelta(days=2)
        assert clock.read(place).version == 1
        clock.wait(seconds=1)
        assert clock.read(place).version == 0
        assert clock.sweep().states == 1

    def test_lengthened_by_another_version(self, aurora: WorkspaceRef, clock: Clocked) -> None:
        """WM-3: a longer time holds from the next write on."""
        place = scope()
        clock.write(write({"qty": 1}, scope=place))
        publish(aurora, retention={"state": "60d"})
        assert clock.read(place).valid_until == LATELY + timedelta(days=30)
        clock.write(write({"qty": 2}, scope=place))
        assert clock.read(place).valid_until == LATELY + timedelta(days=60)

    def test_swept(self, aurora: WorkspaceRef, clock: Clocked) -> None:
        """WM-21, PR-12: what is left is a tombstone with the last version and no content, its key destroyed."""
        place = scope()
        for number in range(3):
            clock.write(write({"qty": number}, scope=place, subject={"type": "anon_id", "value": "visitor"}))
        key = row_of(aurora, place).data_key_id
        assert clock.wait(days=30, seconds=-1).sweep() == Swept()
        assert clock.wait(seconds=1).sweep() == Swept(looked_at=1, states=1)
        tombstone = row_of(aurora, place)
        assert (tombstone.life, tombstone.version, tombstone.body) == (State.Life.EXPIRED, 3, None)
        assert (tombstone.held, tombstone.handle_id, tombstone.data_key_id) == ({}, None, None)
        assert wrapping_key(aurora, key) is None
        assert clock.sweep() == Swept()


class TestField:
    """A field that is kept less long than its state."""

    def test_ends_at_its_moment(self, clock: Clocked) -> None:
        """WM-21: 24 hours after it was named it is not served, and the rest is, at the same version."""
        place = scope()
        clock.write(write({"phone": PHONE, "qty": 1}, scope=place))
        assert clock.wait(hours=24, seconds=-1).read(place).body == {"phone": "***78", "qty": 1}
        read = clock.wait(seconds=1).read(place)
        assert (read.body, read.version, read.expires) == ({"qty": 1}, 1, {})

    def test_only_naming_it_starts_it_anew(self, clock: Clocked) -> None:
        """WM-21: a merge of other fields leaves its time, one that names it renews it, by the same value too."""
        place = scope()
        clock.write(write({"phone": PHONE}, scope=place))
        clock.wait(hours=20).write(write({"qty": 1}, scope=place))
        assert clock.read(place).expires == {"phone": LATELY + timedelta(hours=24)}
        clock.write(write({"phone": "***78"}, scope=place))
        assert clock.wait(hours=24, seconds=-1).read(place).body == {"phone": "***78", "qty": 1}
        assert clock.wait(seconds=1).read(place).body == {"qty": 1}

    def test_a_cas_names_every_field(self, clock: Clocked) -> None:
        """WM-21: its body is the whole state."""
        place = scope()
        clock.write(write({"phone": PHONE, "qty": 1}, scope=place))
        clock.wait(hours=20)
        clock.write(write({"phone": "***78", "qty": 2}, scope=place, mode="cas", if_version=1))
        assert clock.wait(hours=20).read(place).body == {"phone": "***78", "qty": 2}
        assert clock.read(place).expires == {"phone": LATELY + timedelta(hours=44)}

    def test_leaves_at_the_next_write(self, aurora: WorkspaceRef, clock: Clocked) -> None:
        """WM-21: it is out of what is stored, whatever the write names, and counts for no cap."""
        place = scope()
        publish(aurora, retention={"remark": "1h"})
        clock.write(write({"remark": "x " * 1900, "qty": 1}, scope=place))
        large = write({"anything": "y " * 1900}, scope=place)
        assert clock.write(large).reason == "over_cap"
        clock.wait(hours=1)
        assert clock.write(large).version == 2
        assert stored_body(aurora, place).keys() == {"anything", "qty"}
        assert row_of(aurora, place).held.keys() == {"anything", "qty"}

    def test_swept_at_the_same_version(self, aurora: WorkspaceRef, clock: Clocked) -> None:
        """WM-21, WM-9: out of what is stored, with nothing else changed but the size."""
        place = scope()
        first = write({"phone": PHONE, "qty": 1}, scope=place)
        answer = clock.write(first, idempotency_key="k-1")
        before = row_of(aurora, place)
        clock.wait(hours=24)
        assert clock.sweep() == Swept(looked_at=1, fields=1)
        after = row_of(aurora, place)
        assert stored_body(aurora, place) == {"qty": 1}
        assert after.held.keys() == {"qty"}
        assert (after.version, after.epoch, after.updated_at) == (1, before.epoch, before.updated_at)
        assert after.body_bytes == len('{"qty":1}') < before.body_bytes
        assert clock.read(place).body == {"qty": 1}
        assert clock.write(first, idempotency_key="k-1") == answer
        assert clock.write(write({"qty": 2}, scope=place, mode="cas", if_version=1)).version == 2
        assert clock.sweep() == Swept()

    def test_each_in_its_turn(self, aurora: WorkspaceRef, clock: Clocked) -> None:
        """WM-21, PR-20: the row is due again for the next field, and at last for the state."""
        publish(aurora, retention={"state": "3d", "phone": "24h", "remark": "48h"})
        place = scope()
        clock.write(write({"phone": PHONE, "remark": "r", "qty": 1}, scope=place))
        left = []
        for _ in range(2):
            assert clock.wait(days=1).sweep() == Swept(looked_at=1, fields=1)
            left.append(stored_body(aurora, place).keys())
        assert left == [{"remark", "qty"}, {"qty"}]
        assert clock.wait(days=1).sweep() == Swept(looked_at=1, states=1)

    @pytest.mark.parametrize(
        ("at_write", "now", "hours"),
        [("24h", "12h", 12), ("24h", "48h", 24), ("24h", None, 24), (None, "12h", 12)],
    )
    def test_changed_by_another_version(
        self, aurora: WorkspaceRef, clock: Clocked, at_write: str | None, now: str | None, hours: int
    ) -> None:
        """WM-3: of a field's time too the shorter counts: at its write, or now, without waiting for a sweep."""
        publish(aurora, retention={"phone": at_write} if at_write else {})
        place = scope()
        clock.write(write({"phone": PHONE}, scope=place))
        publish(aurora, retention={"phone": now} if now else {})
        assert clock.read(place).expires == {"phone": LATELY + timedelta(hours=hours)}
        assert clock.wait(hours=hours, seconds=-1).read(place).body
        assert clock.wait(seconds=1).read(place).body == {}
        assert clock.sweep().fields == 1

    def test_never_outlives_its_state(self, aurora: WorkspaceRef, clock: Clocked) -> None:
        """WM-17, WM-21: when the state's time was shortened below the field's, the field ends with it."""
        place = scope()
        publish(aurora, retention={"state": "10d", "phone": "9d"})
        clock.write(write({"phone": PHONE}, scope=place))
        publish(aurora, retention={"state": "2d"})
        read = clock.read(place)
        assert read.expires == {"phone": read.valid_until} == {"phone": LATELY + timedelta(days=2)}


TWO_OTHERS: list[dict[str, Any]] = [
    {"type": name, "version": "1", "ownership": "agent", "fields": {}, "agents": [f"agent-{name}"]}
    for name in ("a", "b")
]


class TestDropped:
    """A field or a type that a published version took away."""

    def test_field(self, aurora: WorkspaceRef, clock: Clocked) -> None:
        """WM-3, PR-3: not served from publication on; the sweep removes it at the same version."""
        place, other = scope(), scope()
        clock.write(write({"remark": "old", "qty": 1}, scope=place))
        clock.write(write({"qty": 1}, scope=other))
        publish(aurora, fields=without("remark"), drop=("order.remark",))
        read = clock.read(place)
        assert (read.body, read.version) == ({"qty": 1}, 1)
        assert stored_body(aurora, place) == {"remark": "old", "qty": 1}
        assert clock.sweep() == Swept(looked_at=2, fields=1)
        assert stored_body(aurora, place) == {"qty": 1}
        assert clock.read(place) == read
        assert clock.sweep() == Swept()

    def test_field_that_comes_back(self, aurora: WorkspaceRef, clock: Clocked) -> None:
        """PR-3: dropped is gone: declared again, before or after the sweep, what was held does not come back."""
        swept, unswept = scope(), scope()
        clock.write(write({"remark": "old", "qty": 1}, scope=swept))
        publish(aurora, fields=without("remark"), drop=("order.remark",))
        clock.sweep()
        clock.write(write({"qty": 1}, scope=unswept))
        publish(aurora)
        clock.write(write({"remark": "old"}, scope=unswept))
        publish(aurora, fields=without("remark"), drop=("order.remark",))
        publish(aurora)
        assert [clock.read(place).body for place in (swept, unswept)] == [{"qty": 1}, {"qty": 1}]
        assert clock.write(write({"qty": 2}, scope=unswept)).stored
        assert clock.read(unswept).body == {"qty": 2}
        clock.sweep()
        assert [stored_body(aurora, place) for place in (swept, unswept)] == [{"qty": 1}, {"qty": 2}]

    def test_field_written_again_after_the_drop(self, aurora: WorkspaceRef, clock: Clocked) -> None:
        """PR-3: a drop takes what was held before it, and nothing that is written later."""
        place = scope()
        clock.write(write({"remark": "old", "qty": 1}, scope=place))
        publish(aurora, fields=without("remark"), drop=("order.remark",))
        publish(aurora)
        clock.write(write({"remark": "new"}, scope=place))
        clock.sweep()
        assert clock.read(place).body == {"qty": 1, "remark": "new"}

    def test_field_of_a_tombstone(self, clock: Clocked, aurora: WorkspaceRef) -> None:
        """PR-12, PR-20: a tombstone holds no field: it is looked at once and stays."""
        place = scope()
        clock.write(write({"remark": "old"}, scope=place))
        clock.delete(place)
        publish(aurora, fields=without("remark"))
        assert [clock.sweep().looked_at for _ in range(2)] == [1, 0]
        assert clock.write(write({"qty": 1}, scope=place)).version == 2

    def test_type(self, aurora: WorkspaceRef, clock: Clocked) -> None:
        """PR-3: a type that is removed with its fields dropped leaves empty states, and they stay empty."""
        place = scope()
        clock.write(write({"phone": PHONE, "qty": 1}, scope=place))
        factories.publish_types(aurora, *TWO_OTHERS, drop=["order.phone", "order.qty"])
        assert (clock.read(place).body, clock.read(place).version) == ({}, 1)
        assert clock.sweep() == Swept(looked_at=1, fields=2)
        assert stored_body(aurora, place) == {}
        factories.publish_types(aurora, *TWO_OTHERS, factories.ORDER_TYPE)
        assert (clock.read(place).body, clock.read(place).version) == ({}, 1)

    def test_agent_without_a_type(self, aurora: WorkspaceRef, clock: Clocked) -> None:
        """WM-2, WM-21: states of an agent that only lost its type are not served, wait, and end by their time."""
        place = scope()
        clock.write(write({"phone": PHONE, "qty": 1}, scope=place))
        nobodys = factories.order_type(agents=["somebody-else"])
        factories.publish_types(aurora, nobodys, *TWO_OTHERS)
        assert (clock.read(place).body, clock.read(place).version) == ({}, 1)
        assert clock.sweep() == Swept(looked_at=1)
        assert stored_body(aurora, place).keys() == {"phone", "qty"}
        assert clock.wait(hours=24).sweep() == Swept(looked_at=1, fields=1)
        assert stored_body(aurora, place).keys() == {"qty"}
        factories.publish_types(aurora, factories.ORDER_TYPE)
        assert clock.read(place).body == {"qty": 1}
        clock.wait(days=29)
        assert clock.read(place).version == 0
        assert clock.sweep() == Swept(looked_at=1, states=1)


class TestSweep:
    """The sweep as a worker runs it."""

    def test_of_a_state_whose_key_is_gone(self, aurora: WorkspaceRef, clock: Clocked) -> None:
        """PR-15, PR-20: nothing can be taken out of it any more, so that it becomes its tombstone."""
        place = scope()
        clock.write(write({"phone": PHONE, "qty": 1}, scope=place))
        encryption.destroy_keys(aurora, row_of(aurora, place).data_key_id)
        assert clock.wait(hours=24).sweep() == Swept(looked_at=1, states=1)
        assert row_of(aurora, place).body is None

    def test_of_a_damaged_row(self, aurora: WorkspaceRef, clock: Clocked) -> None:
        """PR-20, PL-12: a row that does not verify stops no other one, and is looked at again an hour later."""
        damaged, whole = scope(), scope()
        for place in (damaged, whole):
            clock.write(write({"phone": PHONE, "qty": 1}, scope=place))
        row = row_of(aurora, damaged)
        with access.bound(aurora.id):
            State.objects.filter(id=row.id).update(body=bytes(row.body or b"")[:-1] + b"x")
        clock.wait(hours=24)
        assert clock.sweep() == Swept(looked_at=2, fields=1, damaged=1)
        assert stored_body(aurora, whole).keys() == {"qty"}
        assert clock.sweep() == Swept()
        assert clock.wait(hours=1).sweep() == Swept(looked_at=1, damaged=1)

    def test_goes_in_batches(self, clock: Clocked, monkeypatch: pytest.MonkeyPatch) -> None:
        """PR-20: never more rows than a batch in one transaction, until none is left."""
        monkeypatch.setattr(sweep, "BATCH", 3)
        for _ in range(7):
            clock.write(write())
        clock.wait(days=30)
        assert [clock.sweep().states for _ in range(4)] == [3, 3, 1, 0]

    def test_every_workspace(
        self, aurora: WorkspaceRef, boreal: WorkspaceRef, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """PR-20, PL-1: the periodic task sweeps each workspace to its end, and what is not due stays."""
        monkeypatch.setattr(sweep, "BATCH", 2)
        old = timezone.now() - timedelta(days=31)
        for workspace in (aurora, boreal):
            for moment in (old, old, old, timezone.now()):
                Clocked(workspace, now=moment, name=str(moment)).write(write())
        tasks.sweep_all()
        for workspace in (aurora, boreal):
            with access.bound(workspace.id):
                lives = sorted(State.objects.values_list("life", flat=True))
            assert lives == ["expired", "expired", "expired", "live"]

    def test_touches_no_other_workspace(self, clock: Clocked, boreal: WorkspaceRef) -> None:
        """PL-1: what it finds due is the bound workspace's."""
        other = Clocked(boreal)
        for one in (clock, other):
            one.write(write())
        assert clock.wait(days=30).sweep().states == 1
        assert other.wait(days=30).sweep().states == 1

    def test_passes_over_what_is_locked(self, committed: None) -> None:
        """PR-20: a row that a writer or another worker holds is skipped without waiting, and swept the next time."""
        clock, places = Clocked(factories.make_ready_workspace()), [scope(), scope()]
        for place in places:
            clock.write(write(scope=place))
        clock.wait(days=30)
        with ThreadPoolExecutor(1) as elsewhere, transaction.atomic():
            with access.bound(clock.workspace.id):
                held = State.objects.select_for_update().get(id=row_of(clock.workspace, places[0]).id)
            assert elsewhere.submit(apart, clock.sweep).result(timeout=20).states == 1
            assert held.life == State.Life.LIVE
        assert clock.sweep() == Swept(looked_at=1, states=1)

    def test_two_workers_at_once(self, committed: None, monkeypatch: pytest.MonkeyPatch) -> None:
        """PR-20: together they remove each state once and wait for nobody; no version moves."""
        monkeypatch.setattr(sweep, "BATCH", 5)
        clock, places = Clocked(factories.make_ready_workspace()), [scope() for _ in range(40)]
        for place in places:
            clock.write(write(scope=place))
        clock.wait(days=30)
        removed = in_parallel([lambda: sum(batch.states for batch in iter(clock.sweep, Swept()))] * 2)
        assert sum(removed) == 40
        rows = [row_of(clock.workspace, place) for place in places]
        assert {(row.life, row.version) for row in rows} == {("expired", 1)}

    def test_leaves_a_new_life_alone(self, clock: Clocked) -> None:
        """WM-21, WM-9: a state written again while it was due is not the sweep's any more."""
        place = scope()
        clock.write(write({"qty": 1}, scope=place))
        clock.wait(days=30).write(write({"qty": 2}, scope=place))
        assert clock.sweep() == Swept()
        assert clock.read(place).body == {"qty": 2}
        assert row_count(clock.workspace) == 1


def test_expired_is_not_served_over_the_api(aurora: WorkspaceRef, agent: InProcess) -> None:
    """WM-21: by the server's own clock, without a sweep: neither the field nor the state."""
    place, ended = scope(), scope()
    Clocked(aurora, now=timezone.now() - timedelta(days=2)).write(
        write({"phone": PHONE, "qty": 1}, scope=place)
    )
    Clocked(aurora, now=timezone.now() - timedelta(days=30)).write(write({"qty": 1}, scope=ended))
    read = agent.read(place).body
    assert (read["body"], read["version"], read["expires"]) == ({"qty": 1}, 1, {})
    assert agent.read(ended).body["version"] == 0
    assert agent.write(write({"qty": 2}, scope=ended)).body["version"] == 2
