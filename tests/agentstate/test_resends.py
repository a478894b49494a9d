"""Writes that are sent again are answered again and not written again (WM-15)."""

from collections.abc import Callable
from typing import Any

import pytest

from agentstate.errors import AgentStateConflict
from agentstate.types import StoredState
from tests import factories
from tests.agentstate.clock import Clocked
from tests.agentstate.rows import row_of
from tests.api import InProcess
from tests.factories import scope, write
from workspaces.errors import Conflict
from workspaces.types import WorkspaceRef

PHONE = {"type": "phone_e164", "value": "+55 11 91234-5678"}


@pytest.fixture
def clock(aurora: WorkspaceRef) -> Clocked:
    """An agent whose key says nothing of resends."""
    return Clocked(aurora)


@pytest.fixture
def resending(aurora: WorkspaceRef) -> Clocked:
    """An agent whose key was made with `resend: true`."""
    return Clocked(aurora, resend=True)


def cas(body: dict[str, Any], **members: Any) -> dict[str, Any]:
    return write(body, mode="cas", **members)


class TestByKey:
    """With an Idempotency-Key."""

    @pytest.mark.parametrize("mode", ["cas", "merge_by_key"])
    def test_answers_as_the_first_time(self, aurora: WorkspaceRef, clock: Clocked, mode: str) -> None:
        """WM-15: the same answer, masked counts and epoch included, at any later time, and nothing is written."""
        body = write({"qty": 1, "phone": "+5511912345678"}, scope=scope(), mode=mode)
        first = clock.write(body, idempotency_key="k-1")
        row = bytes(row_of(aurora, body["scope"]).body or b"")
        assert clock.wait(days=7).write(body, idempotency_key="k-1") == first
        assert first == StoredState(stored=True, version=1, masked={"phone": 1}, epoch=first.epoch)
        assert bytes(row_of(aurora, body["scope"]).body or b"") == row
        assert clock.write(write({"qty": 1}, scope=body["scope"]), idempotency_key="k-2").version == 2

    def test_without_a_key_it_is_a_new_write(self, clock: Clocked) -> None:
        """WM-15: a merge goes again, a cas meets its own first one."""
        place = scope()
        assert clock.write(write({"qty": 1}, scope=place)).version == 1
        assert clock.write(write({"qty": 1}, scope=place)).version == 2
        with pytest.raises(AgentStateConflict):
            clock.write(cas({"qty": 1}, scope=place))

    def test_after_other_writes(self, clock: Clocked) -> None:
        """WM-15: a retry never conflicts with itself and never puts an old value back."""
        place = scope()
        body = cas({"qty": 1}, scope=place)
        first = clock.write(body, idempotency_key="k-1")
        clock.write(write({"qty": 2}, scope=place))
        clock.write(write({"qty": 3}, scope=place), idempotency_key="k-2")
        assert clock.write(body, idempotency_key="k-1") == first
        assert clock.read(place).body == {"qty": 3}
        assert clock.read(place).version == 3

    def test_with_another_body(self, clock: Clocked) -> None:
        """WM-15: 409, also when only a space differs; with a key of its own the body is stored."""
        place = scope()
        clock.write(write({"qty": 1}, scope=place), idempotency_key="k-1")
        for other in (write({"qty": 2}, scope=place), write({"qty": 1}, scope=place, if_version=1)):
            with pytest.raises(Conflict):
                clock.write(other, idempotency_key="k-1")
        assert clock.read(place).body == {"qty": 1}
        assert clock.write(write({"qty": 2}, scope=place), idempotency_key="k-2").version == 2

    def test_of_another_state(self, clock: Clocked) -> None:
        """WM-15: keys are remembered per state, so the same one may serve each scope and agent."""
        place = scope()
        for body in (write(scope=place), write(scope=scope()), write(scope=place, agent="upsell")):
            assert clock.write(body, idempotency_key="k-1").version == 1

    def test_of_another_source(self, aurora: WorkspaceRef, clock: Clocked) -> None:
        """WM-15, PL-10: a key belongs to the source; another key of the same source is the same sender."""
        place = scope()
        body = write({"qty": 1}, scope=place)
        first = clock.write(body, idempotency_key="k-1")
        assert clock.write(body, idempotency_key="k-1", by=clock.key(name="rotated")) == first
        assert clock.write(body, idempotency_key="k-1", by=clock.key(source="back office")).version == 2

    def test_only_what_was_stored_is_remembered(self, aurora: WorkspaceRef, clock: Clocked) -> None:
        """WM-15: a refused write may be mended under the same key."""
        place = scope()
        for body in ({"nowhere": 1}, {"remark": "x" * 5000}):
            assert not clock.write(write(body, scope=place), idempotency_key="k-1").stored
        with pytest.raises(AgentStateConflict):
            clock.write(write({"qty": 1}, scope=place, if_version=7), idempotency_key="k-1")
        assert clock.write(write({"qty": 1}, scope=place), idempotency_key="k-1").stored

    def test_the_last_32_are_remembered(self, clock: Clocked) -> None:
        """WM-15: exactly 32; a write without a key takes no place among them."""
        place = scope()
        bodies = [write({"qty": number}, scope=place) for number in range(33)]
        for number in range(32):
            clock.write(bodies[number], idempotency_key=f"k-{number}")
            clock.write(write({"step": "cart"}, scope=place))
        assert clock.write(bodies[0], idempotency_key="k-0").version == 1
        assert clock.write(bodies[32], idempotency_key="k-32").version == 65
        assert clock.write(bodies[1], idempotency_key="k-1").version == 3
        assert clock.write(bodies[0], idempotency_key="k-0").version == 66

    def test_writes_without_a_key_take_no_place(self, resending: Clocked) -> None:
        """WM-15: nor does a write that is recognized by its value, of which only the last can be."""
        place = scope()
        bodies = [write({"qty": number}, scope=place) for number in range(32)]
        for number in range(32):
            resending.write(bodies[number], idempotency_key=f"k-{number}")
        for version in (32, 33):
            resending.write(cas({"qty": version}, scope=place, if_version=version))
        assert resending.write(bodies[0], idempotency_key="k-0").version == 1
        assert resending.write(cas({"qty": 33}, scope=place, if_version=33)).version == 34
        assert resending.read(place).version == 34

    def test_after_a_removal(self, clock: Clocked) -> None:
        """WM-15, WM-16b: it answers as the first time, and the state stays removed."""
        place = scope()
        body = write({"qty": 1}, scope=place)
        first = clock.write(body, idempotency_key="k-1")
        clock.delete(place)
        assert clock.write(body, idempotency_key="k-1") == first
        assert clock.read(place).version == 0
        assert clock.write(body, idempotency_key="k-2").version == 2
        assert clock.write(body, idempotency_key="k-1") == first

    @pytest.mark.parametrize("is_swept", [False, True])
    def test_after_its_end(self, clock: Clocked, *, is_swept: bool) -> None:
        """WM-15, WM-21: an expired state does not come back by a write that is sent again."""
        body = write({"qty": 1}, scope=scope())
        first = clock.write(body, idempotency_key="k-1")
        clock.wait(days=31)
        if is_swept:
            clock.sweep()
        assert clock.write(body, idempotency_key="k-1") == first
        assert clock.read(body["scope"]).version == 0

    def test_after_the_subject_was_named(self, clock: Clocked) -> None:
        """WM-15, WM-6: the state's new data key makes no resend a new write."""
        place = scope()
        body = cas({"qty": 1}, scope=place)
        first = clock.write(body, idempotency_key="k-1")
        named = write({"qty": 2}, scope=place, subject=PHONE)
        second = clock.write(named, idempotency_key="k-2")
        assert clock.write(body, idempotency_key="k-1") == first
        assert clock.write(named, idempotency_key="k-2") == second
        with pytest.raises(Conflict):
            clock.write(write({"qty": 3}, scope=place), idempotency_key="k-2")
        assert clock.read(place).body == {"qty": 2}

    def test_comes_before_what_the_state_says_now(self, aurora: WorkspaceRef, clock: Clocked) -> None:
        """WM-13, WM-15: the type may have changed since; the write that was stored stays answered."""
        body = write({"qty": 1}, scope=scope())
        first = clock.write(body, idempotency_key="k-1")
        narrow = {"scopes": ["task"], "cap_bytes": 1}
        factories.publish_types(aurora, factories.order_type(version="2", agent_state=narrow))
        assert clock.write(body, idempotency_key="k-1") == first

    def test_over_the_api(self, agent: InProcess) -> None:
        """WM-15: by the header; a body of the same meaning in other bytes is another body."""
        body = write({"qty": 1})
        headers = {"Idempotency-Key": "k 1 ~" + "x" * 251}
        first = agent.write(body, **headers)
        assert (first.status, first.body["version"]) == (200, 1)
        assert agent.write(body, **headers).body == first.body
        other = agent.write(dict(reversed(body.items())), **headers)
        assert (other.status, other.code) == (409, "conflict")
        assert agent.read(body["scope"]).body["version"] == 1

    def test_nothing_of_the_write_is_kept(self, aurora: WorkspaceRef, clock: Clocked) -> None:
        """WM-15: what is remembered holds neither the key nor the body."""
        body = write({"remark": "marker-in-the-body"}, scope=scope())
        clock.write(body, idempotency_key="marker-of-the-key")
        remembered = bytes(row_of(aurora, body["scope"]).recent_writes)
        assert remembered
        assert b"marker" not in remembered


class TestByValue:
    """Without one, for a key made with `resend: true`."""

    def test_is_off_unless_the_key_says_so(self, clock: Clocked) -> None:
        """WM-15: two workers that share a key and race with equal bodies must not both win."""
        body = cas({"qty": 1}, scope=scope())
        clock.write(body)
        with pytest.raises(AgentStateConflict):
            clock.write(body)

    @pytest.mark.parametrize("if_version", [None, 0, 1])
    def test_answers_as_the_first_time(self, resending: Clocked, if_version: int | None) -> None:
        """WM-15: same key, same body, same if_version as the last stored write, within 30 s: stored, at its version."""
        place = scope()
        if if_version:
            resending.write(write({"qty": 0}, scope=place))
        body = cas({"qty": 1, "phone": "+5511912345678"}, scope=place, if_version=if_version)
        first = resending.write(body)
        assert first.stored
        assert resending.wait(seconds=30).write(body) == first
        assert resending.read(place).version == first.version

    def test_later_than_thirty_seconds(self, resending: Clocked) -> None:
        """WM-15: after that it is a conflict like any other."""
        body = cas({"qty": 1}, scope=scope())
        resending.write(body)
        resending.wait(seconds=30.001)
        with pytest.raises(AgentStateConflict):
            resending.write(body)

    def test_by_another_key(self, resending: Clocked) -> None:
        """WM-15: the same source's other key is another writer, also one with `resend`."""
        body = cas({"qty": 1}, scope=scope())
        resending.write(body)
        for other in (resending.key(resend=True, name="other"), resending.key()):
            with pytest.raises(AgentStateConflict):
                resending.write(body, by=other)
        assert resending.write(body).stored

    @pytest.mark.parametrize(
        "change", [{"body": {"qty": 2}}, {"if_version": 1}, {"if_version": None}, {"subject": PHONE}]
    )
    def test_with_another_body(self, resending: Clocked, change: dict[str, Any]) -> None:
        """WM-15: another value, another if_version and another word of the body make another write."""
        body = cas({"qty": 1}, scope=scope(), if_version=0)
        resending.write(body)
        if change == {"if_version": 1}:
            assert resending.write({**body, **change}).version == 2
        else:
            with pytest.raises(AgentStateConflict):
                resending.write({**body, **change})

    def test_after_another_write(self, resending: Clocked) -> None:
        """WM-15: only the last stored write is recognized, whoever wrote in between and in whatever way."""
        others: tuple[Callable[[dict[str, str]], Any], ...] = (
            lambda place: resending.write(write({"step": "done"}, scope=place)),
            lambda place: resending.write(write({"step": "done"}, scope=place), by=resending.key()),
            lambda place: resending.write(cas({"qty": 9}, scope=place, if_version=1), idempotency_key="k-1"),
        )
        for write_between in others:
            body = cas({"qty": 1}, scope=scope())
            resending.write(body)
            write_between(body["scope"])
            with pytest.raises(AgentStateConflict):
                resending.write(body)

    def test_of_a_merge(self, resending: Clocked) -> None:
        """WM-15: only a cas is recognized by its value; a merge is written again."""
        body = write({"qty": 1}, scope=scope(), if_version=0)
        resending.write(body)
        with pytest.raises(AgentStateConflict):
            resending.write(body)
        assert resending.write(write({"qty": 1}, scope=body["scope"])).version == 2

    def test_of_the_next_life(self, resending: Clocked) -> None:
        """WM-15, WM-9: after a removal the same cas is a new state, not the old answer."""
        body = cas({"qty": 1}, scope=scope())
        first = resending.write(body)
        resending.delete(body["scope"])
        second = resending.write(body)
        assert (second.version, second.epoch == first.epoch) == (2, False)

    def test_over_the_api(self, aurora: WorkspaceRef) -> None:
        """WM-15: what a published client does when the answer was lost."""
        body = cas({"qty": 1}, scope=scope())
        plain = InProcess(factories.make_key(aurora))
        assert [plain.write(body).status for _ in range(2)] == [200, 412]
        patient = InProcess(factories.make_key(aurora, resend=True, name="patient"))
        body = cas({"qty": 1}, scope=scope())
        first, second = (patient.write(body) for _ in range(2))
        assert (first.status, second.status) == (200, 200)
        assert second.body == first.body
