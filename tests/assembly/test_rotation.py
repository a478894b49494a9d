"""New data keys and hash keys for graphs, while requests go on (PL-12)."""

from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import msgspec
import pytest
from django.core.management import call_command
from django.utils import timezone

from assembly.models import Graph, GraphRecord
from privacy.selectors.hash_keys import names_under_previous
from tests.assembly.artifacts import declare, get, path_of
from tests.assembly.everything import large
from tests.assembly.graphs import Story
from tests.privacy.erasing import ANA, House, make_house
from tests.privacy.test_graph_erasures import records
from workspaces import access
from workspaces.models import Workspace, WrappedKey
from workspaces.services import hash_keys


@pytest.fixture
def house(committed: None, monkeypatch: pytest.MonkeyPatch) -> House:
    monkeypatch.setattr(hash_keys, "REMEMBERED_FOR", timedelta(0))
    monkeypatch.setattr(hash_keys, "KEPT_FOR", timedelta(0))
    return make_house()


def rotate(house: House, level: str = "data") -> str:
    said = StringIO()
    call_command("rotate_keys", level, "--workspace", house.workspace.slug, "--no-wait", stdout=said)
    return said.getvalue()


def keys(house: House) -> set[UUID | None]:
    with access.bound(house.workspace.id):
        return set(Graph.objects.values_list("data_key_id", flat=True))


def named_before(house: House) -> dict[str, int]:
    with access.bound(house.workspace.id):
        return names_under_previous(Workspace.objects.get(id=house.workspace.id).ref)


def test_all_of_a_graph_moves_under_another_key(house: House) -> None:
    """PL-12: records and payloads open as before and are known when they come again; the old keys are gone."""
    story, blobbed = house.story(ANA), Story(house.agent)
    payload_id = declare(blobbed, large("bytes"))
    assert house.agent.put(path_of(payload_id), large("bytes")).status == 200
    before, said = keys(house), records(house, story)
    with access.bound(house.workspace.id):
        bodies = {bytes(body) for body in GraphRecord.objects.values_list("body", flat=True)}

    assert "0 states, 0 sessions and 2 graphs sealed again" in rotate(house)

    after = keys(house)
    assert not before & after
    assert records(house, story) == said
    assert get(house.agent, payload_id).content == large("bytes")
    again = story.stored(*story.whole(ANA))
    assert {item["outcome"] for item in again["records"]} == {"unchanged"}
    with access.bound(house.workspace.id):
        assert not bodies & {bytes(body) for body in GraphRecord.objects.values_list("body", flat=True)}
        assert set(WrappedKey.objects.filter(purpose="data").values_list("id", flat=True)) == after


def test_a_damaged_graph_stops_no_other(house: House) -> None:
    """PL-12: what does not verify stays as it is and is named in the log; the others move."""
    damaged, other = house.story(), house.story()
    with access.bound(house.workspace.id):
        GraphRecord.objects.filter(graph__name=damaged.chat, position=1).update(body=b"x" * 40)
    before = keys(house)
    assert "1 graphs sealed again" in rotate(house)
    assert len(before & keys(house)) == 1
    assert len(records(house, other)) == 8


def test_a_graph_moves_with_its_conversation(house: House) -> None:
    """PL-12: under another hash key a graph is found by its conversation, and its tombstone by its name."""
    story, erased = house.story(), house.story()
    made_at = timezone.now()
    house.forget("conversation", f"company-{erased.chat}")
    house.work()
    assert "another hash key" in rotate(house, "hashes")
    assert named_before(house)["graphs"] == 2
    late: dict[str, Any] = {**erased.conversation(), "recorded_at": made_at.isoformat()}
    refused = erased.send(late)
    assert (refused.status, refused.code) == (410, "subject_erased")
    fresh = Workspace.objects.get(id=house.workspace.id).ref
    house = msgspec.structs.replace(house, workspace=fresh)
    asked = house.forget("conversation", f"company-{story.chat}")
    assert house.work() == [True]
    assert house.status(asked.body["request_id"])["erased"] == {"graph_records": 8, "payloads": 1}
    with access.bound(house.workspace.id):
        newest = Graph.objects.filter(hash_key_id=fresh.hash_key_id)
        assert newest.count() == 1, "Its tombstone is under the key of now."
