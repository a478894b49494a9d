"""New data keys for sessions, while requests go on (PL-12)."""

from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.utils import timezone

from history import encryption
from history.models import Item, Session
from history.services import rotation
from tests.history.talk import Talk, assistant, user
from tests.privacy.erasing import ANA, House, make_house
from workspaces import access
from workspaces.models import WrappedKey


@pytest.fixture
def house(committed: None) -> House:
    return make_house()


def rotate(house: House) -> str:
    said = StringIO()
    call_command("rotate_keys", "data", "--workspace", house.workspace.slug, "--no-wait", stdout=said)
    return said.getvalue()


def keys(house: House) -> set[UUID | None]:
    with access.bound(house.workspace.id):
        return set(Session.objects.values_list("data_key_id", flat=True))


def test_all_of_a_session_moves_under_another_key(house: House) -> None:
    """PL-12: messages, ids, dedupe keys and the summary open as before; the old keys are gone, no time changes."""
    talk = house.talk("one", subject=ANA)
    talk.call("append", items=[{"message": user("two"), "key": "k", "id": "i"}])
    token = talk.token()
    summary = {"text": "shorter", "covers": 1, "digest": "d", "through": "i"}
    assert talk.call("commit", reservation=token, summary=summary).status == 200
    house.talk("three")
    before, read = keys(house), talk.call("read").body
    with access.bound(house.workspace.id):
        bodies = {bytes(body) for body in Item.objects.values_list("body", flat=True)}

    assert "0 states, 2 sessions and 0 graphs sealed again" in rotate(house)

    after = keys(house)
    assert not before & after
    assert talk.call("read").body == read
    assert read["head"]["summary"]["text"] == "shorter"
    assert talk.call("append", items=[{"message": user("two"), "key": "k", "id": "i"}]).body["stored"] == 0
    assert talk.append(assistant()).status == 200
    with access.bound(house.workspace.id):
        assert not bodies & {bytes(body) for body in Item.objects.values_list("body", flat=True)}
        assert set(WrappedKey.objects.filter(purpose="data").values_list("id", flat=True)) == after


def test_a_running_decision_is_left_alone(house: House) -> None:
    """PL-12, HI-5: a session on which a decision runs waits for a later run, and the decision goes on."""
    talk = house.talk("one")
    token = talk.token()
    before = keys(house)
    assert "0 sessions and 0 graphs sealed again, 1 were busy: run this again" in rotate(house)
    assert keys(house) == before
    assert talk.call("commit", reservation=token).status == 200
    assert "1 sessions and 0 graphs sealed again" in rotate(house)
    assert not keys(house) & before


def test_young_keys_and_batches(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """PL-12: keys that are young enough stay, and each batch says where the next begins."""
    monkeypatch.setattr(rotation, "BATCH", 2)
    talks = [house.talk(f"{number}") for number in range(5)]
    now, after, done = timezone.now(), None, list[int]()
    with access.bound(house.workspace.id):
        young = rotation.reseal_batch(workspace=house.workspace, before=now - timedelta(hours=1), now=now)
        assert (young.sessions, young.last is None) == (0, False)
        while True:
            batch = rotation.reseal_batch(workspace=house.workspace, before=now, now=now, after=after)
            done, after = [*done, batch.sessions], batch.last
            if after is None:
                break
    assert done == [2, 2, 1, 0]
    assert [talk.messages() for talk in talks] == [[user(f"{number}")] for number in range(5)]


def test_a_damaged_session_stops_no_other(house: House) -> None:
    """PL-12: what does not verify stays as it is and is named in the log; the others move."""
    house.talk("one")
    other = Talk(house.agent)
    assert other.append(user("two")).status == 200
    with access.bound(house.workspace.id):
        damaged = Item.objects.order_by("recorded_at")[0]
        Item.objects.filter(id=damaged.id).update(body=b"x" * 40)
        key = Session.objects.get(id=damaged.session_id).data_key_id
    assert "1 sessions and 0 graphs sealed again" in rotate(house)
    with access.bound(house.workspace.id):
        assert Session.objects.get(id=damaged.session_id).data_key_id == key
    assert other.messages() == [user("two")]


@pytest.mark.parametrize("read", ["read", "window"])
def test_a_reader_meets_no_old_key(house: House, monkeypatch: pytest.MonkeyPatch, read: str) -> None:
    """PL-12: a reader who opened the key just before all was sealed under another one reads what is there now."""
    talk = house.talk("one", subject=ANA)
    before = talk.window().body if read == "window" else talk.call("read").body
    opened: list[Any] = []
    open_key = encryption.session_key

    def open_then_rotate(*arguments: Any) -> Any:
        key = open_key(*arguments)
        if not opened:
            opened.append(key)
            rotate(house)
        return key

    monkeypatch.setattr(encryption, "session_key", open_then_rotate)
    answer = talk.window() if read == "window" else talk.call(read)
    assert (answer.status, answer.body) == (200, before)
    assert len(opened) == 1
