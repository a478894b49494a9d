"""The SDK's client of working memory against the real server (SD-1, SD-2, SD-11)."""

import pytest

from lastro import Handle, Lastro
from lastro.errors import (
    FeatureOff,
    InvalidRequest,
    NotAllowed,
    StateConflict,
    SubjectMismatch,
    Unauthenticated,
)
from lastro.states.types import Body
from tests import factories
from tests.sdk.conftest import Connect
from workspaces.types import WorkspaceRef


def test_the_main_job(connect: Connect) -> None:
    """SD-1, SD-2: read, merge, replace, remove fields, and the whole."""
    state = connect().conversation("c-1", subject="phone_e164:+55 11 91234-5678").state
    assert (state.get().body, state.get().version, state.get().epoch) == ({}, 0, "none")
    first = state.put({"step": "cart", "cart": ["tea"]})
    assert (first.stored, first.version, first.pending, first.reason) == (True, 1, False, None)
    assert state.put({"step": "delivery", "qty": 2}).version == 2
    read = state.get()
    assert (read.body, read.version) == ({"step": "delivery", "cart": ["tea"], "qty": 2}, 2)
    assert read.updated_at is not None
    assert read.valid_until is not None
    assert (read.degraded, read.pending, read.epoch) == (False, 0, first.epoch)
    assert state.delete("cart", "qty").version == 3
    assert state.get().body == {"step": "delivery"}
    assert state.put({"step": "done"}, mode="cas", if_version=3).version == 4
    assert state.clear().deleted
    assert (state.get().body, state.get().version) == ({}, 0)
    assert not state.clear().deleted


def test_every_scope(connect: Connect) -> None:
    """SD-1, WM-4, WM-5: four kinds of scope; a person is one state in any spelling of the handle."""
    client = connect()
    scopes = [client.conversation("x"), client.task("x"), client.object("order:shop:x:1")]
    for number, scope in enumerate([*scopes, client.subject(Handle("phone_e164", " +55 11 91234-5678 "))]):
        assert scope.state.put({"qty": number}).version == 1
    assert [scope.state.get().body["qty"] for scope in scopes] == [0, 1, 2]
    assert client.subject("phone_e164:+5511912345678").state.get().body == {"qty": 3}


def test_answers_that_are_no_errors(connect: Connect) -> None:
    """SD-2, WM-7, WM-10, WM-12: a conflict, an undeclared field and a state over its cap are answers."""
    state = connect().conversation("c-2").state
    state.put({"step": "cart"})
    again = state.put({"step": "done"}, mode="cas")
    assert (again.stored, again.reason) == (False, "conflict")
    assert state.put({"qty": 1}, if_version=7).reason == "conflict"
    assert state.put({"wish": "x"}).reason == "not_declared_field"
    assert state.put({"remark": "x" * 5_000}).reason == "over_cap"
    assert state.get().body == {"step": "cart"}
    with pytest.raises(StateConflict) as caught:
        state.clear(if_version=9)
    assert (caught.value.code, caught.value.status) == ("agent_state_conflict", 412)


def test_update(connect: Connect) -> None:
    """SD-2: what another client wrote between reading and writing is read again; tries are bounded."""
    mine, other = (connect().conversation("c-3").state for _ in range(2))
    mine.put({"qty": 1})
    seen: list[int] = []

    def add(body: Body) -> Body:
        seen.append(body["qty"])
        if len(seen) == 1:
            other.put({"qty": 10})
        return {**body, "qty": body["qty"] + 1}

    assert mine.update(add).version == 3
    assert (seen, other.get().body) == ([1, 10], {"qty": 11})

    def meet(body: Body) -> Body:
        other.put({"qty": body["qty"] + 100})
        return body

    with pytest.raises(StateConflict):
        mine.update(meet, tries=2)


def test_masking(connect: Connect) -> None:
    """SD-3, WM-14: what was masked shows at the next read, and counts at the write."""
    state = connect().conversation("c-4").state
    written = state.put({"phone": "+55 11 91234-5678"})
    assert sum(written.masked.values()) == 1
    assert "91234" not in str(state.get().body)


def test_refusals_are_raised(connect: Connect, shop: WorkspaceRef) -> None:
    """SD-7, SD-11: authorization and form are errors with the server's code and request id, for reads too."""
    off = factories.make_ready_workspace("Boreal")
    factories.switch(off, "agent_state", on=False)
    cases: list[tuple[Lastro, type[Exception], str]] = [
        (connect(key="lst_nobody"), Unauthenticated, "unauthenticated"),
        (connect(key=factories.make_key(shop, "admin")), NotAllowed, "scope_missing"),
        (connect(key=factories.make_key(shop, agents=["other"])), NotAllowed, "agent_not_allowed"),
        (connect(key=factories.make_key(off)), FeatureOff, "feature_off"),
    ]
    for client, kind, code in cases:
        state = client.conversation("c-5").state
        for call in (state.get, lambda state=state: state.put({"qty": 1}), state.clear):
            with pytest.raises(kind) as caught:
                call()
            assert getattr(caught.value, "code", "") == code
            assert getattr(caught.value, "request_id", "")
            assert client.flush(0)


def test_a_wrong_value_and_another_person(connect: Connect) -> None:
    """SD-11, WM-6, WM-11: the members that the server points at stand beside the error, not in its text."""
    client = connect()
    state = client.conversation("c-6", subject="email:ana@example.com").state
    with pytest.raises(InvalidRequest) as caught:
        state.put({"qty": "canary-many"})
    assert (caught.value.code, caught.value.pointers) == ("invalid_field_value", ("/body/qty",))
    state.put({"qty": 1})
    with pytest.raises(SubjectMismatch):
        client.conversation("c-6", subject="email:bruno@example.com").state.put({"qty": 2})
