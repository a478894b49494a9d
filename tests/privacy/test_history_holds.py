"""Legal holds on history: what they keep, what waits for them, and what becomes of it when they end (PR-16)."""

import json
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.utils import timezone

from history.models import Item, KeptItem, Session
from history.tasks import sweep_all
from privacy import tasks
from privacy.selectors.holds import kept_count
from tests import factories
from tests.api import InProcess
from tests.factories import scope
from tests.history.talk import Talk, items, user
from tests.privacy.erasing import ANA, BRUNO, House, make_house
from tests.privacy.test_holds import lift, officer, place
from workspaces import access
from workspaces.models import HeldKey, Hold, WrappedKey
from workspaces.services.encryption import destroy_retired_keys
from workspaces.types import WorkspaceRef


@pytest.fixture
def house(committed: None) -> House:
    return make_house()


@pytest.fixture
def bound(house: House) -> Iterator[WorkspaceRef]:
    with access.bound(house.workspace.id):
        yield house.workspace


@pytest.fixture
def privacy(house: House) -> InProcess:
    return officer(house.workspace)


def held(hold: UUID, folder: Path) -> list[Any]:
    """List what the messages say that a hold keeps, as its export has them."""
    file = folder / "hold.jsonl"
    file.unlink(missing_ok=True)
    call_command("export_hold", str(hold), str(file), stdout=StringIO())
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [
        line["message"].get("content", line["message"].get("text")) for line in lines if "message" in line
    ]


def expire(**named: Any) -> None:
    """Let the time of sessions be over, and sweep."""
    past = timezone.now() - timedelta(seconds=1)
    Session.objects.filter(**named).update(due_at=past)
    sweep_all()


def settle(house: House) -> None:
    """Do what beat does when a hold has ended."""
    tasks.settle_holds()
    destroy_retired_keys(workspace=house.workspace)


@pytest.mark.parametrize("target", ["profile", "conversation"])
@pytest.mark.parametrize("how", ["deleted", "expired"])
def test_a_session_that_ends_is_kept(
    house: House, bound: WorkspaceRef, privacy: InProcess, tmp_path: Path, target: str, how: str
) -> None:
    """PR-16, PR-20: deleted or expired under a hold it is served to nobody and kept until the hold has ended."""
    where = scope()
    talk = house.talk("one", "two", subject=ANA, conversation_id=where["id"])
    other = house.talk("of Bruno", subject=BRUNO)
    value = house.profile_of(ANA) if target == "profile" else where["id"]
    hold = place(privacy, target, value)
    if how == "deleted":
        assert talk.call("delete").status == other.call("delete").status == 200
    else:
        expire()
    destroy_retired_keys(workspace=bound)
    assert talk.call("read").status == 404
    assert held(hold, tmp_path) == ["one", "two"]
    assert kept_count(Hold.objects.get(id=hold), up_to=100) == 2
    assert Item.objects.count() == 2, "Of another person nothing is kept."

    lift(privacy, hold)
    settle(house)
    assert (Session.objects.count(), Item.objects.count(), KeptItem.objects.count()) == (0, 0, 0)
    assert not WrappedKey.objects.filter(purpose="data").exists()
    assert Hold.objects.get(id=hold).settled_at is not None


def test_what_names_nobody_is_kept_with_their_conversation(
    house: House, bound: WorkspaceRef, privacy: InProcess, tmp_path: Path
) -> None:
    """PR-16, PR-10: a hold on a person keeps what an erasure of them would take, whichever app names them."""
    by_state, by_session, apart = scope(), scope(), scope()
    house.store({"step": "cart"}, place=by_state, subject=ANA)
    nobodys = house.talk("by state", conversation_id=by_state["id"])
    house.talk("of Ana", conversation_id=by_session["id"], subject=ANA)
    house.store({"step": "cart"}, place=by_session)
    elsewhere = house.talk("elsewhere", conversation_id=apart["id"])
    hold = place(privacy, "profile", house.profile_of(ANA))

    for talk in (nobodys, elsewhere):
        assert talk.call("delete").status == 200
    house.agent.post("/v1/agent-state/delete", {"scope": by_session, "agent": "order-taker"})
    destroy_retired_keys(workspace=bound)

    assert sorted(held(hold, tmp_path)) == ["by state", "of Ana"]
    file = (tmp_path / "hold.jsonl").read_text()
    assert sum("order-taker" in line for line in file.splitlines()) == 2
    lift(privacy, hold)
    settle(house)
    assert not KeptItem.objects.exists()
    assert not HeldKey.objects.exists()


def test_what_a_session_loses_is_kept(
    house: House, bound: WorkspaceRef, privacy: InProcess, tmp_path: Path
) -> None:
    """PR-16: a decision that is given up, a summary that another follows, a message that a sweep empties."""
    talk = house.talk("one", subject=ANA)
    first = talk.call("read").body["items"][0]["id"]
    summary = {"covers": 1, "digest": "d", "through": first}
    for text in ("first summary", "second summary"):
        assert talk.call("commit", reservation=talk.token(), summary={"text": text, **summary}).status == 200
        if text.startswith("first"):
            hold = place(privacy, "profile", house.profile_of(ANA))
    token = talk.token()
    assert talk.call("append", reservation=token, items=items(user("given up"))).status == 200
    assert talk.call("abort", reservation=token).status == 200
    assert "given up" not in json.dumps(talk.call("read").body)
    Item.objects.filter(position=1).update(is_swept=True)

    assert held(hold, tmp_path)[:3] == ["first summary", "given up", "one"]
    lift(privacy, hold)
    settle(house)
    assert not KeptItem.objects.exists()


def test_a_message_that_expires_is_kept(
    house: House, bound: WorkspaceRef, privacy: InProcess, tmp_path: Path
) -> None:
    """PR-16, HI-23: a message whose own time is over stays under a hold, is not served, and goes after it."""
    talk = house.talk("one", subject=ANA)
    soon = (timezone.now() + timedelta(hours=1)).isoformat()
    assert talk.call("append", items=items(user("short-lived"), expires_at=soon)).status == 200
    hold = place(privacy, "profile", house.profile_of(ANA))
    past = timezone.now() - timedelta(seconds=1)
    Item.objects.filter(expires_at__isnull=False).update(expires_at=past)
    sweep_all()
    assert talk.messages() == [user("one")]
    assert held(hold, tmp_path) == ["one", "short-lived"]
    lift(privacy, hold)
    settle(house)
    sweep_all()
    assert held(hold, tmp_path) == ["one"]


def test_an_erasure_waits(house: House, bound: WorkspaceRef, privacy: InProcess) -> None:
    """PR-16: an approved erasure waits for the hold, reads go on, and it runs when the hold is settled."""
    where = scope()
    talk = house.talk("one", subject=ANA, conversation_id=where["id"])
    gone = house.talk("two", subject=ANA)
    hold = place(privacy, "profile", house.profile_of(ANA))
    assert gone.call("delete").status == 200
    waiting = [house.forget("conversation", where["id"]), house.forget("handle", ANA)]
    assert house.work() == [False, False]
    assert [house.status(asked.body["request_id"])["blocked_by"] for asked in waiting] == ["hold", "hold"]
    assert talk.messages() == [user("one")]

    lift(privacy, hold)
    settle(house)
    assert house.work() == [True, True]
    assert talk.call("read").status == 404
    counts = [house.status(asked.body["request_id"])["erased"] for asked in waiting]
    assert counts == [{"messages": 1, "sessions": 1}, {"handles": 1, "profiles": 1}]


def test_an_erasure_of_a_conversation_waits_for_its_person(
    house: House, bound: WorkspaceRef, privacy: InProcess
) -> None:
    """PR-16: a hold on whom a session of the conversation names keeps the whole conversation."""
    where = scope()
    talk = house.talk("one", subject=ANA, conversation_id=where["id"])
    place(privacy, "profile", house.profile_of(ANA))
    house.forget("conversation", where["id"])
    assert house.work() == [False]
    assert talk.messages() == [user("one")]


def test_no_hold_on_what_is_being_erased(house: House, bound: WorkspaceRef, privacy: InProcess) -> None:
    """PR-16: once the erasure of a conversation's history has begun a hold on it is refused."""
    where = scope()
    house.talk("one", conversation_id=where["id"])
    house.forget("conversation", where["id"])
    ends_at = (timezone.now() + timedelta(days=1)).isoformat()
    wish = {"target": "conversation", "conversation_id": where["id"], "reason": "Case", "ends_at": ends_at}
    assert privacy.post("/v1/legal-holds", wish).code == "not_possible_now"


def test_two_holds(house: House, bound: WorkspaceRef, privacy: InProcess, tmp_path: Path) -> None:
    """PR-16: what two holds keep goes with the later one."""
    where = scope()
    talk = house.talk("one", subject=ANA, conversation_id=where["id"])
    first = place(privacy, "profile", house.profile_of(ANA))
    second = place(privacy, "conversation", where["id"])
    assert talk.call("delete").status == 200
    lift(privacy, first)
    settle(house)
    assert held(second, tmp_path) == ["one"]
    lift(privacy, second)
    settle(house)
    assert not Session.objects.exists()


def test_a_shorter_retention_ends_no_held_session(
    house: House, bound: WorkspaceRef, privacy: InProcess, tmp_path: Path
) -> None:
    """PR-16, PR-20: a retention that is published while a hold stands ends what is served, and keeps what is held."""
    talk, other = house.talk("one", subject=ANA), house.talk("two", subject=BRUNO)
    hold = place(privacy, "profile", house.profile_of(ANA))
    past = timezone.now() - timedelta(hours=2)
    Session.objects.update(touched_at=past)
    shorten(house, idle="1h")
    assert [each.call("read").status for each in (talk, other)] == [404, 404]
    sweep_all()
    assert held(hold, tmp_path) == ["one"]
    assert Session.objects.count() == 1


def shorten(house: House, **history: Any) -> None:
    """Publish a retention with other bounds of history."""
    from workspaces import documents

    body = documents.live("retention")["retention"].body
    factories.publish(house.workspace, "retention", {**body, "history": {**body["history"], **history}})


def test_a_session_begins_anew_beside_a_held_one(
    house: House, bound: WorkspaceRef, privacy: InProcess, tmp_path: Path
) -> None:
    """PR-16: the same session may begin again; the hold keeps both lives."""
    talk = house.talk("one", subject=ANA, session="s-1")
    hold = place(privacy, "profile", house.profile_of(ANA))
    assert talk.call("delete").status == 200
    again: Talk = house.talk("two", subject=ANA, session="s-1")
    assert again.messages() == [user("two")]
    assert sorted(held(hold, tmp_path)) == ["one", "two"]
