"""Erasing conversation history: what goes, from when, what stays, and what comes too late (PR-10 to PR-12, HI-22)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from history.encryption import session_key
from history.models import Item, Session
from tests.factories import scope
from tests.history.talk import Talk, items, user
from tests.privacy.erasing import ANA, ANAS_PHONE, BRUNO, House, make_house
from tests.privacy.packages import build, link
from workspaces import access
from workspaces.errors import KeyDestroyed
from workspaces.models import ErasedItem, RetiredKey, WrappedKey


@pytest.fixture
def house(committed: None) -> House:
    return make_house()


def gone(talk: Talk) -> bool:
    """Tell whether a session reads as one that never was."""
    answers = [talk.call("read"), talk.window(), talk.begin(create=False), talk.append(user(), create=False)]
    return {(answer.status, answer.code) for answer in answers} == {(404, "decision_history_not_found")}


def erased(house: House, asked: Any) -> Any:
    """Do the work of a request; give its counts."""
    house.work()
    return house.status(asked.body["request_id"])["erased"]


@pytest.mark.parametrize("target", ["profile", "handle", "conversation"])
def test_reads_end_with_the_approval(house: House, target: str) -> None:
    """PR-11, HI-22: by either name a session reads as never there before any work is done, and after it."""
    place = scope()
    talk = house.talk("one", "two", subject=ANA, conversation_id=place["id"])
    other = house.talk("three", subject=BRUNO, conversation_id=scope()["id"])
    value: Any = {"profile": str(house.profile_of(ANA)), "handle": ANA, "conversation": place["id"]}[target]

    with access.bound(house.workspace.id):
        row = Session.objects.get(handle__profile_id=house.profile_of(ANA))
        assert session_key(house.workspace, row)

    asked = house.forget(target, value)
    assert asked.status == 202
    assert gone(talk)
    with access.bound(house.workspace.id), pytest.raises(KeyDestroyed):
        session_key(house.workspace, row)
    counts = erased(house, asked)

    people = {} if target == "conversation" else {"handles": 1, "profiles": 1}
    assert counts == {"messages": 2, "sessions": 1, **people}
    assert gone(talk)
    assert other.messages() == [user("three")]
    with access.bound(house.workspace.id):
        tombstone = Session.objects.get(life="erased")
        assert (tombstone.item_count, tombstone.stored_bytes, tombstone.data_key_id) == (0, 0, None)
        assert (tombstone.handle_id, tombstone.conversation_hash, tombstone.worker) == (None, None, "")
        assert not RetiredKey.objects.exists()
        assert not ErasedItem.objects.exists()
        assert WrappedKey.objects.filter(purpose="data").count() == 1


@pytest.mark.parametrize("has_ended", [False, True])
def test_a_running_decision_ends(house: House, *, has_ended: bool) -> None:
    """HI-5, PR-11: the token of an erased session is void: 410 for each route that takes it."""
    talk = house.talk(subject=ANA)
    token = talk.token(worker="chat-7")
    house.forget("handle", ANA)
    if has_ended:
        assert house.work() == [True]
    for answer in (
        talk.call("append", reservation=token, items=items(user())),
        talk.call("commit", reservation=token, items=items(user())),
        talk.call("abort", reservation=token),
    ):
        assert (answer.status, answer.code) == (410, "subject_erased")


def test_a_conversation_of_one_person_goes_whole(house: House) -> None:
    """PR-10: who is named is asked of states and sessions together, and what names nobody goes with the only one."""
    by_state, by_session, shared, apart = (scope() for _ in range(4))
    house.store({"step": "cart"}, place=by_state, subject=ANA)
    nobodys = house.talk(conversation_id=by_state["id"])
    house.store({"step": "cart"}, place=by_session)
    theirs = house.talk(conversation_id=by_session["id"], subject=ANA)
    house.store({"step": "cart"}, place=shared, subject=ANA)
    kept = house.talk("stays", conversation_id=shared["id"])
    brunos = house.talk("brunos", conversation_id=shared["id"], subject=BRUNO)
    elsewhere = house.talk("elsewhere", conversation_id=apart["id"])

    asked = house.forget("handle", ANA)
    assert gone(nobodys)
    assert gone(theirs)
    assert house.agent.read(by_session).body["version"] == 0
    counts = erased(house, asked)

    assert counts == {"agent_states": 3, "handles": 1, "messages": 2, "profiles": 1, "sessions": 2}
    assert kept.messages() == [user("stays")]
    assert brunos.messages() == [user("brunos")]
    assert elsewhere.messages() == [user("elsewhere")]


def test_a_session_of_another_keeps_what_names_nobody(house: House) -> None:
    """PR-10: a state that names nobody stays where a session in its conversation names somebody else."""
    place = scope()
    house.store({"step": "cart"}, place=place)
    house.talk(conversation_id=place["id"], subject=ANA)
    house.talk(conversation_id=place["id"], subject=BRUNO)
    asked = house.forget("handle", ANA)
    assert erased(house, asked) == {"handles": 1, "messages": 1, "profiles": 1, "sessions": 1}
    assert house.agent.read(place).body["version"] == 1


def test_a_conversation_is_erased_whole(house: House) -> None:
    """PR-10: all that names it goes, whomever that names; the people and their other sessions stay."""
    place = scope()
    house.store({"step": "cart"}, place=place, subject=ANA)
    talks = [house.talk(conversation_id=place["id"], subject=who) for who in (ANA, BRUNO)]
    other = house.talk("other", subject=ANA)
    asked = house.forget("conversation", place["id"])
    assert all(map(gone, talks))
    assert erased(house, asked) == {"agent_states": 1, "messages": 2, "sessions": 2}
    assert other.messages() == [user("other")]
    assert house.profile_of(BRUNO)


@pytest.mark.parametrize("kind", ["task", "object"])
def test_a_task_or_object_of_the_same_id_is_another(house: House, kind: str) -> None:
    """PR-10: a session names conversations alone: an erasure of a task or object touches none."""
    named = "store:br:1"
    talk = house.talk("stays", conversation_id=named)
    house.store({"step": "cart"}, place=scope(named, kind))
    asked = house.forget(kind, named)
    assert erased(house, asked) == {"agent_states": 1}
    assert talk.messages() == [user("stays")]


def test_one_handle_of_two(house: House) -> None:
    """PR-10: a handle takes the sessions that name it, and not those that name the person's other one."""
    by_mail, by_phone = house.talk(subject=ANA), house.talk("by phone", subject=ANAS_PHONE)
    house.office.post("/v1/profiles/link", {"first": {"handle": ANA}, "second": {"handle": ANAS_PHONE}})
    asked = house.forget("handle", ANA)
    assert erased(house, asked) == {"handles": 1, "messages": 1, "sessions": 1}
    assert gone(by_mail)
    assert by_phone.messages() == [user("by phone")]


def test_packages_of_whom_a_conversation_names_end(house: House) -> None:
    """PR-11: a package of whom a session of an erased conversation names opens nothing from the approval on."""
    place = scope()
    house.talk(conversation_id=place["id"], subject=ANA)
    run = build(house.workspace, ANA)
    assert link(house.workspace, run)
    house.forget("conversation", place["id"])
    assert not link(house.workspace, run)


@pytest.mark.parametrize("is_over", [False, True])
@pytest.mark.parametrize("again", ["same session", "same person", "same conversation"])
def test_what_was_recorded_before_comes_too_late(house: House, again: str, *, is_over: bool) -> None:
    """PR-12: what was recorded before the approval is refused from then on; what came later is taken."""
    place = scope()
    talk = house.talk(subject=ANA, conversation_id=place["id"])
    before = timezone.now()
    target, value = ("conversation", place["id"]) if again == "same conversation" else ("handle", ANA)
    house.forget(target, value)
    if is_over:
        assert house.work() == [True]
    late, named = Talk(house.agent), dict[str, Any](subject=ANA)
    if again == "same session":
        late, named = Talk(house.agent, **talk.session), {}
    if again == "same conversation":
        named = {"conversation_id": place["id"]}

    def append(at: datetime) -> Any:
        recorded = items(user(), recorded_at=at.astimezone(UTC).isoformat())
        return late.call("append", items=recorded, create=True, **named)

    refused = append(before)
    assert (refused.status, refused.code) == (410, "subject_erased")
    with access.bound(house.workspace.id):
        assert Item.objects.count() == (0 if is_over else 1)
    assert append(timezone.now()).status == 200


@pytest.mark.parametrize("is_over", [False, True])
def test_what_does_not_say_when_it_was_made(house: House, *, is_over: bool) -> None:
    """PR-12: it is refused until its source was told that the session is not there, from the approval on."""
    talk = house.talk(subject=ANA)
    house.forget("handle", ANA)
    if is_over:
        assert house.work() == [True]
    refused = talk.append(user("late?"))
    assert (refused.status, refused.code) == (410, "subject_erased")
    assert talk.call("read").status == 404
    assert talk.append(user("new")).status == 200
    house.work()
    assert talk.messages() == [user("new")]


def test_an_erased_session_begins_anew(house: House) -> None:
    """PR-12: once its source was told that it is not there, the same session begins again, and is erased again."""
    talk = house.talk("before", subject=ANA, session="s-1")
    first = house.forget("handle", ANA)
    assert erased(house, first)["sessions"] == 1
    assert gone(talk)
    again = house.talk("after", subject=ANA, session="s-1")
    assert again.messages() == [user("after")]
    second = house.forget("handle", ANA)
    assert erased(house, second) == {"handles": 1, "messages": 1, "profiles": 1, "sessions": 1}
    with access.bound(house.workspace.id):
        assert Session.objects.filter(life="erased").count() == 2


def test_the_dry_run_counts_them(house: House) -> None:
    """PR-9: before it is approved a request says how many sessions and messages it would remove."""
    from privacy.selectors.erasures import dry_run, planned
    from privacy.types import Target

    now = timezone.now() + timedelta(seconds=1)
    house.talk("one", "two", subject=ANA)
    with access.bound(house.workspace.id):
        target = Target(kind="profile", profile_id=house.profile_of(ANA))
        counted = dry_run(planned(house.workspace, target), now=now)
    assert (counted.states, counted.sessions, counted.messages, counted.handles) == (0, 1, 2, 1)
    assert counted.bytes > 0
    assert counted.earliest is not None
