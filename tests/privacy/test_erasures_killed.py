"""A worker killed at every point of an erasure: another one ends it, with the same counts and one receipt (PR-13)."""

import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from agentstate.services import erasures as states
from assembly.models import GraphRecord
from assembly.services import erasures as graphs
from history.models import Item
from history.services import erasures as sessions
from privacy.models import ErasureRequest
from privacy.rules.erasures import STEPS
from tests.assembly.graphs import Story
from tests.privacy.erasing import ANA, ANAS_PHONE, House, make_house
from tests.server import database_urls_of_tests
from workspaces import access
from workspaces.models import AuditEntry, ErasedItem, Handle, Profile, WrappedKey

POINTS = [step + when for step in STEPS for when in ("", ".done", ".ended")] + [
    "working_memory.batch",
    "history.batch",
    "graph.batch",
]


@pytest.fixture
def house(committed: None) -> House:
    return make_house()


def killed_at(house: House, request_id: str, point: str) -> int:
    """Run the erasure in a process that dies at the point; give how it ended."""
    environment = {**os.environ, **database_urls_of_tests()}
    arguments = (request_id, str(house.workspace.id), point, str(settings.HOT_STORE_GENERATION))
    worker = [sys.executable, "-m", "tests.privacy.mortal", *arguments]
    return subprocess.run(worker, env=environment, check=False, timeout=60).returncode


@pytest.mark.parametrize("point", POINTS)
def test_killed(house: House, point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """PR-13: each point between two transactions; what the first worker counted is not counted again."""
    many = states.BATCH + 1 if point == "working_memory.batch" else 3
    talks = sessions.BATCH + 1 if point == "history.batch" else 2
    for _ in range(many):
        house.store({"step": "cart"}, subject=ANA)
    for _ in range(talks):
        house.talk("one", "two", subject=ANA)
    conversations = graphs.GRAPHS_AT_ONCE + 1 if point == "graph.batch" else 1
    for _ in range(conversations):
        story = Story(house.agent)
        story.stored(story.conversation(ANA), story.branch())
    asked = house.forget("handle", ANA).body

    assert killed_at(house, asked["request_id"], point) == -signal.SIGKILL
    assert house.work() == [], "The dead worker's claim still stands."
    with access.bound(house.workspace.id):
        ErasureRequest.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    assert house.work() == ([] if point in ("receipt.done", "receipt.ended") else [True])

    status = house.status(asked["request_id"])
    assert status["status"] == "completed"
    assert status["erased"] == {
        "agent_states": many,
        "graph_records": 2 * conversations,
        "handles": 1,
        "messages": 2 * talks,
        "profiles": 1,
        "sessions": talks,
    }
    with access.bound(house.workspace.id):
        assert AuditEntry.objects.filter(act="erasure.complete").count() == 1
        assert not ErasedItem.objects.exists()
        assert not Item.objects.exists()
        assert not GraphRecord.objects.exists()
        assert not Handle.objects.exists()
        assert not Profile.objects.exists()
        assert set(WrappedKey.objects.values_list("purpose", flat=True)) == {"workspace", "hash"}


def test_two_workers(house: House) -> None:
    """PR-13: of two workers one has the request."""
    house.store({"step": "cart"}, subject=ANAS_PHONE)
    asked = house.forget("handle", ANAS_PHONE).body
    with access.bound(house.workspace.id):
        ErasureRequest.objects.update(claimed_until=timezone.now() + timedelta(seconds=30))
    assert house.work() == []
    assert house.status(asked["request_id"])["status"] == "running"
