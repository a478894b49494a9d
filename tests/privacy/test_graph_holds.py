"""Legal holds on the runtime graph: it stays as it stands, and what waits goes on when they end (PR-16)."""

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

from assembly import tasks as graph_tasks
from assembly.models import Graph, GraphRecord
from privacy import tasks
from tests.api import InProcess
from tests.assembly.graphs import Story
from tests.factories import scope
from tests.privacy.erasing import ANA, BRUNO, House, make_house
from tests.privacy.test_graph_erasures import assembled, records, together
from tests.privacy.test_holds import lift, officer, place
from workspaces import access
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


def held(hold: UUID, folder: Path) -> set[str]:
    """Name what of graphs a hold is on, as its export has it."""
    file = folder / "hold.jsonl"
    file.unlink(missing_ok=True)
    call_command("export_hold", str(hold), str(file), stdout=StringIO())
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return {line["id"] for line in lines if line.get("record") == "graph_record"}


def expire() -> None:
    """Let the time of everything be over, and sweep."""
    past = timezone.now() - timedelta(seconds=1)
    GraphRecord.objects.filter(expires_at__isnull=False).update(expires_at=past)
    Graph.objects.update(due_at=past)
    graph_tasks.sweep_all()


@pytest.mark.parametrize("target", ["profile", "conversation"])
def test_a_held_graph_is_not_swept(
    house: House, bound: WorkspaceRef, privacy: InProcess, tmp_path: Path, target: str
) -> None:
    """PR-16, PR-20: under a hold nothing of a graph goes, not even a trace; without one, and after it, it does."""
    story, other = house.story(ANA), house.story(BRUNO)
    past = timezone.now() - timedelta(seconds=1)
    traced = assembled(house, story, "memory", trace=[{"id": "x"}], trace_expires_at=past, expires_at=past)
    value = house.profile_of(ANA) if target == "profile" else f"company-{story.chat}"
    hold = place(privacy, target, value)
    expire()
    assert list(Graph.objects.values_list("name", flat=True)) == [story.chat], other.chat
    assert len(held(hold, tmp_path)) == 8
    assert Graph.objects.get().id is not None
    assert traced in set(graph_assemblies())

    lift(privacy, hold)
    tasks.settle_holds()
    graph_tasks.sweep_all()
    assert not Graph.objects.exists()


def graph_assemblies() -> Any:
    from assembly.models import ContextAssembly

    return ContextAssembly.objects.filter(trace__isnull=False).values_list("id", flat=True)


def test_a_graph_that_names_nobody_is_held_with_its_conversation(
    house: House, bound: WorkspaceRef, privacy: InProcess, tmp_path: Path
) -> None:
    """PR-16, PR-10: a hold on a person keeps what an erasure of them would take, whichever app names them."""
    where = scope()
    house.store({"step": "cart"}, place=where, subject=ANA)
    nobodys, apart = Story(house.agent), Story(house.agent)
    nobodys.stored(nobodys.conversation(conversation=where["id"]))
    apart.stored(apart.conversation())
    talk = house.talk("of nobody", conversation_id=f"company-{(story := house.story(ANA)).chat}")
    hold = place(privacy, "profile", house.profile_of(ANA))
    expire()
    kept = set(Graph.objects.values_list("name", flat=True))
    assert kept == {nobodys.chat, story.chat}
    assert nobodys.chat in held(hold, tmp_path)
    assert talk.call("delete").status == 200
    assert "of nobody" in (tmp_path / "hold.jsonl").read_text() or held(hold, tmp_path)


@pytest.mark.parametrize("whose", [ANA, BRUNO])
def test_an_erasure_waits(house: House, bound: WorkspaceRef, privacy: InProcess, whose: Any) -> None:
    """PR-16: a hold on anybody whom a graph names keeps an erasure from taking anything of it, until it ends."""
    story = together(house)
    before = records(house, story)
    hold = place(privacy, "profile", house.profile_of(whose))
    asked = house.forget("handle", ANA)
    assert house.work() == [False]
    assert house.status(asked.body["request_id"])["blocked_by"] == "hold"
    assert records(house, story) == before
    lift(privacy, hold)
    tasks.settle_holds()
    assert house.work() == [True]
    assert story.id("memory-ana") not in records(house, story)


def test_no_hold_on_what_is_being_erased(house: House, bound: WorkspaceRef, privacy: InProcess) -> None:
    """PR-16: once the erasure of a graph has begun, a hold on it is refused."""
    story = house.story()
    house.forget("conversation", f"company-{story.chat}")
    ends_at = (timezone.now() + timedelta(days=1)).isoformat()
    wish = {"target": "conversation", "conversation_id": f"company-{story.chat}", "reason": "Case"}
    assert privacy.post("/v1/legal-holds", {**wish, "ends_at": ends_at}).code == "not_possible_now"
