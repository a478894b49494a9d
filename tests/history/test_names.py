"""Whom and what a session names, the keys that follow, and what comes after an erasure (HI-22, PR-12, PR-15)."""

from datetime import timedelta
from typing import Any

import pytest

from history.documents import retention_of
from history.errors import HistoryMismatch, HistoryNotFound
from history.models import Session
from history.services import lives
from history.services.sessions import noting_absence
from tests import factories
from tests.agentstate.rows import wrapping_key
from tests.history.clock import Clocked
from tests.history.talk import Talk, assistant, items, turns, user
from workspaces import access, documents
from workspaces.encryption import destroy_keys
from workspaces.errors import SubjectErased
from workspaces.models import Handle, Hold, Tombstone
from workspaces.rules import handles
from workspaces.scopes import scope_of
from workspaces.selectors.profiles import handle_hash
from workspaces.services.encryption import destroy_retired_keys
from workspaces.types import WorkspaceRef

MARIA = {"type": "phone_e164", "value": "+55 11 91234-5678"}
MARIA_AGAIN = {"type": "phone_e164", "value": "+5511912345678"}
JOAO = {"type": "phone_e164", "value": "+55 11 98765-4321"}


def erase(clock: Clocked) -> None:
    """Turn the session into what an erasure leaves of it."""
    row = clock.row()
    with access.bound(clock.workspace.id):
        retention = retention_of(documents.live("retention"))
        lives.entomb(clock.workspace, row, retention, at=clock.now, now=clock.now)
        destroy_retired_keys(workspace=clock.workspace)


def test_a_session_is_found_by_whom_it_names(clock: Clocked, home: WorkspaceRef) -> None:
    """HI-22: by the handle in any spelling, and by the same hash as the conversation's states have."""
    clock.append(user(), conversation_id="c-4711", subject=MARIA)
    clock.append(user(), subject=MARIA_AGAIN)
    row = clock.row()
    with access.bound(home.id):
        assert row.handle_id == Handle.objects.get().id
        scope = scope_of(home, kind="conversation", id="c-4711")
        assert Session.objects.get(conversation_hash=scope.hash).id == row.id


@pytest.mark.parametrize("named", [{"subject": JOAO}, {"conversation_id": "c-4712"}])
def test_another_name_is_refused(clock: Clocked, named: dict[str, Any]) -> None:
    """HI-22: another person or conversation than the session's is a mistake, at append and at commit."""
    clock.append(user(), conversation_id="c-4711", subject=MARIA)
    with pytest.raises(HistoryMismatch):
        clock.append(user(), **named)
    token = clock.begin().reservation
    with pytest.raises(HistoryMismatch):
        clock.commit(token, **named)
    assert clock.commit(token, assistant(), conversation_id="c-4711", subject=MARIA_AGAIN).count == 2


def test_the_key_hangs_on_the_person(clock: Clocked, home: WorkspaceRef) -> None:
    """PR-15: wrapped by the handle's key where it names one, else by the workspace's."""
    clock.append(user(), subject=MARIA)
    other = clock.another()
    other.append(user())
    assert wrapping_key(home, clock.row().data_key_id) == clock.row().handle_id
    assert wrapping_key(home, other.row().data_key_id) == home.key_id


def test_a_person_who_is_named_later_holds_what_was_there(clock: Clocked, home: WorkspaceRef) -> None:
    """HI-22, PR-15: all of it is sealed again under a key that hangs on theirs; the old one is destroyed."""
    clock.append(*turns(2), key="k1")
    clock.decide(
        summary={"text": "They asked.", "covers": 1, "digest": "0" * 64, "through": clock.read().items[1].id}
    )
    before, old = clock.read(), clock.row().data_key_id
    clock.decide(user("It is Maria."), subject=MARIA)
    row = clock.row()
    assert wrapping_key(home, old) is None
    assert wrapping_key(home, row.data_key_id) == row.handle_id is not None
    after = clock.read()
    assert after.items[:4] == before.items
    assert after.head.summary == before.head.summary
    assert clock.append(*turns(2), key="k1").stored == 0
    assert clock.served() == [*turns(2), user("It is Maria.")]


def test_without_its_keys_a_session_is_unknown(clock: Clocked, home: WorkspaceRef) -> None:
    """PR-15, PR-11: a handle's key that is gone takes the session's messages with it."""
    clock.append(user(), subject=MARIA)
    destroy_keys(home, clock.row().handle_id)
    for call in (clock.read, clock.window, clock.begin):
        with pytest.raises(HistoryNotFound):
            call()


def test_an_erasure_voids_a_reservation(talk: Talk, home: WorkspaceRef) -> None:
    """HI-5: later calls with its token answer 410, also after the session began anew; reads answer 404."""
    clock = Clocked(home, id=talk.session["session_id"])
    talk.append(user("before"))
    token = talk.token()
    erase(clock)
    staged: dict[str, Any] = {"items": items(user("late"))}
    whats: list[tuple[str, dict[str, Any]]] = [("append", staged), ("commit", staged), ("abort", {})]
    for what, more in whats:
        answer = talk.call(what, reservation=token, **more)
        assert (answer.status, answer.code) == (410, "subject_erased")
    assert talk.call("read").status == talk.window().status == talk.begin(create=False).status == 404
    assert talk.decide(user("after")).status == 200
    assert talk.call("commit", reservation=token).status == 410
    assert talk.messages() == [user("after")]


def test_late_items_do_not_come_back(clock: Clocked) -> None:
    """PR-12: what was recorded before the session was erased is refused, what was recorded after it is kept."""
    clock.append(user("before"))
    made_before = clock.now.isoformat()
    erase(clock.wait(minutes=5))
    clock.wait(minutes=5)
    with pytest.raises(SubjectErased):
        clock.append(user("before"), recorded_at=made_before)
    clock.append(user("after"), recorded_at=(clock.now - timedelta(minutes=1)).isoformat())
    with pytest.raises(SubjectErased):
        clock.append(user("before"), recorded_at=made_before)
    assert clock.messages() == [user("after")]


@pytest.mark.parametrize("kind", ["handle", "scope"])
def test_late_items_about_whom_was_erased(clock: Clocked, home: WorkspaceRef, kind: str) -> None:
    """PR-12, HI-22: a new session that names an erased person or conversation takes nothing from before."""

    with access.bound(home.id):
        person = handle_hash(home, handles.canonical(MARIA["type"], MARIA["value"], ""))
        place = scope_of(home, kind="conversation", id="c-4711").hash
        Tombstone.objects.create(
            kind=kind,
            hash=person if kind == "handle" else place,
            hash_key_id=home.hash_key_id,
            erased_at=clock.now,
            due_at=clock.now + timedelta(days=400),
        )
    named: dict[str, Any] = {"subject": MARIA, "conversation_id": "c-4711"}
    early = (clock.now - timedelta(seconds=1)).isoformat()
    with pytest.raises(SubjectErased):
        clock.append(user(), recorded_at=early, **named)
    with pytest.raises(HistoryNotFound):
        clock.read()
    assert clock.another().append(user(), recorded_at=early).count == 1
    clock.append(user(), recorded_at=clock.now.isoformat(), **named)
    with pytest.raises(SubjectErased):
        clock.append(user(), recorded_at=early)


def test_an_erased_session_begins_anew_with_what_is_surely_new(clock: Clocked, home: WorkspaceRef) -> None:
    """PR-12: an append that does not say when it was made waits until its source knows, or 24 hours have passed."""
    clock.append(user("before"))
    erase(clock)
    with pytest.raises(SubjectErased):
        clock.append(user("when?"))
    with access.bound(home.id), pytest.raises(HistoryNotFound), noting_absence(clock.place, now=clock.now):
        clock.read()
    assert clock.append(user("new")).count == 1
    other = clock.another()
    other.append(user("before"))
    erase(other)
    assert other.wait(hours=24).append(user("a day later")).count == 1


def test_begin_tells_that_nothing_is_there(clock: Clocked) -> None:
    """PR-12: its answer shows an empty session, so what is added under it is new."""
    clock.append(user("before"))
    erase(clock)
    begun = clock.begin()
    assert begun.head.count == 0
    clock.commit(begun.reservation, user("new"))
    assert clock.messages() == [user("new")]


def test_a_hold_keeps_what_ends(clock: Clocked, home: WorkspaceRef) -> None:
    """PR-16: under a hold on the conversation nothing of an ended session is served, and all of it stays."""
    expiring, deleted = clock, clock.another()
    for each in (expiring, deleted):
        each.append(*turns(1), conversation_id="c-4711")
    with access.bound(home.id):
        scope = scope_of(home, kind="conversation", id="c-4711")
        Hold.objects.create(
            scope_kind="conversation",
            scope_hash=scope.hash,
            reason="For a test",
            placed_at=clock.now,
            ends_at=clock.now + timedelta(days=9),
        )
    assert deleted.delete()
    clock.wait(hours=25).sweep()
    for each in (expiring, deleted):
        with pytest.raises(HistoryNotFound):
            each.read()
    assert clock.rows() == 6
    assert (expiring.row().life, deleted.row().life) == ("expired", "deleted")
    assert deleted.wait(hours=25).append(user("anew")).count == 1
    clock.wait(hours=2).sweep()
    assert clock.rows() == 8
    clock.wait(days=10).sweep()
    assert clock.rows() == 0


def test_tombstones_go_with_the_oldest_backup(clock: Clocked) -> None:
    """PR-12: after 400 days the sweep takes what is left of an erased session."""
    clock.append(user())
    erase(clock)
    assert clock.wait(days=399).sweep().tombstones == 0
    assert clock.wait(days=1).sweep().tombstones == 1
    assert clock.rows() == 0


def test_a_workspace_has_a_key_of_its_own(home: WorkspaceRef, boreal: WorkspaceRef) -> None:
    """HI-2, PL-1: the same source name and ids in another workspace are another session."""
    factories.switch(boreal, "history", on=True)
    ours, theirs = Clocked(home, id="same"), Clocked(boreal, id="same")
    ours.append(user("ours"))
    theirs.append(user("theirs"))
    assert ours.messages() == [user("ours")]
    assert ours.place.identity_hash != theirs.place.identity_hash
