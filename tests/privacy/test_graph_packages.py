"""What a subject package and the export of a workspace hold of the runtime graph (PR-18, PL-5b, CA-21)."""

import base64
import json
import os
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from assembly.models import Graph, GraphRecord
from tests.assembly.artifacts import declare, path_of
from tests.assembly.graphs import EVENTS, Story
from tests.factories import scope
from tests.privacy.erasing import ANA, BRUNO, House, make_house
from tests.privacy.packages import Package, package
from tests.privacy.test_graph_erasures import together
from workspaces import access


@pytest.fixture
def house(committed: None) -> House:
    return make_house()


def names(found: Package, story: Story) -> list[str]:
    """Name the records of a conversation that a package holds, by the ids without the conversation's own."""
    lines = [line for line in found.lines("graph.jsonl") if line["record"] == "graph_record"]
    return [line["id"].removesuffix(f".{story.chat}") for line in lines if line["id"].endswith(story.chat)]


def test_a_line_for_each_graph_record_and_payload(house: House) -> None:
    """PR-18: the conversations that name the person, each record as it was sent, its payload after it; no others."""
    other, story = house.story(BRUNO), house.story(ANA)
    found = package(house.workspace, ANA)
    graph, *lines = found.lines("graph.jsonl")
    assert (graph["record"], graph["conversation"], graph["is_whole"]) == ("graph", story.chat, True)
    sent = story.whole(ANA)
    assert names(found, story) == [record["id"].removesuffix(f".{story.chat}") for record in sent]
    assert names(found, other) == []
    message = next(line for line in lines if line.get("type") == "message" and line["record"] != "payload")
    assert message["content"]["parts"] == [{"text": "What is on tomorrow?"}]
    assert (message["is_readable"], message["source"]) == (True, "chat backend")
    (payload,) = [line for line in lines if line["record"] == "payload"]
    assert (payload["id"], payload["role"], payload["is_last"]) == (story.id("artifact"), "result", True)
    assert json.loads(payload["text"]) == EVENTS
    assert found.manifest["counts"]["graph.jsonl"] == 10
    assert found.manifest["graph"]["sources"] == ["chat backend"]
    assert "Runs of agents (10)" in found.page
    assert "Two events tomorrow." in found.page


@pytest.mark.parametrize("content", [os.urandom(20), os.urandom(300_000)], ids=["small", "blob"])
def test_bytes_of_any_kind_are_all_there(house: House, content: bytes) -> None:
    """PR-18, CA-4: what is no text stands in base64, a large payload in parts whose bytes are the payload."""
    story = Story(house.agent)
    payload_id = declare(story, content)
    with access.bound(house.workspace.id):
        assert Graph.objects.update(conversation_hash=None) == 1
    story.stored(story.participant("ana", subject=ANA))
    assert house.agent.put(path_of(payload_id), content, **{"Content-Type": "x/y"}).status == 200
    parts = [
        line for line in package(house.workspace, ANA).lines("graph.jsonl") if line["record"] == "payload"
    ]
    assert b"".join(base64.b64decode(part["base64"]) for part in parts) == content
    assert [part["part"] for part in parts] == list(range(len(parts)))
    assert [part["is_last"] for part in parts] == [False] * (len(parts) - 1) + [True]
    assert len(parts) == (1 if len(content) < 1000 else 5)


def test_of_a_conversation_of_several_their_own(house: House) -> None:
    """PR-18: of a graph that names others, too, the records of the person's own participants, and no other handle."""
    story = together(house)
    found = package(house.workspace, ANA)
    assert names(found, story)[0] == story.chat
    assert set(names(found, story)) - {story.chat} == {
        *("ana", "run-ana", "said-ana", "call-ana", "artifact-ana", "memory-ana")
    }
    graph, talk = found.lines("graph.jsonl")[:2]
    assert not graph["is_whole"]
    assert [handle["value"] for handle in talk["content"]["subject"]] == [ANA["value"]]
    assert BRUNO["value"].encode() not in found.files["graph.jsonl"]


def test_a_conversation_that_names_them_alone(house: House) -> None:
    """PR-18: a graph that names nobody is found by its conversation, where that names the person and nobody else."""
    alone, shared = scope(), scope()
    house.store({"step": "cart"}, place=alone, subject=ANA)
    house.store({"step": "cart"}, place=shared, subject=ANA)
    house.talk(conversation_id=shared["id"], subject=BRUNO)
    mine, others = Story(house.agent), Story(house.agent)
    mine.stored(mine.conversation(conversation=alone["id"]))
    others.stored(others.conversation(conversation=shared["id"]))
    graphs = [
        line for line in package(house.workspace, ANA).lines("graph.jsonl") if line["record"] == "graph"
    ]
    assert [line["conversation"] for line in graphs] == [mine.chat]


def test_what_has_expired_is_absent(house: House) -> None:
    """PR-18, CA-21: neither a graph nor a record whose time is over."""
    story, over = house.story(ANA), house.story(ANA)
    past = timezone.now() - timedelta(seconds=1)
    with access.bound(house.workspace.id):
        Graph.objects.filter(name=over.chat).update(due_at=past)
        GraphRecord.objects.filter(kind="tool_artifact").update(expires_at=past)
    found = package(house.workspace, ANA)
    assert names(found, story) == [story.chat, "main", "planner", "hello", "run", "call", "memory"]
    assert names(found, over) == []


def test_a_damaged_record_keeps_nobody_from_the_rest(house: House) -> None:
    """PR-18: what does not verify is named as such, and the rest is there."""
    story = house.story(ANA)
    with access.bound(house.workspace.id):
        GraphRecord.objects.filter(kind="message").update(body=b"x" * 40)
    found = package(house.workspace, ANA)
    lines = [line for line in found.lines("graph.jsonl") if line["record"] == "graph_record"]
    assert [line["id"] for line in lines if not line["is_readable"]] == [story.id("hello")]
    assert len(lines) == 8
    assert "cannot be read" in found.page


def test_a_workspace_is_exported_with_its_graphs(house: House, tmp_path: Path) -> None:
    """PL-5b: every live graph with its records and payloads, and whom it names by ids."""
    stories = [house.story(ANA), house.story()]
    call_command("export_workspace", house.workspace.slug, str(tmp_path / "out"), stdout=StringIO())
    lines = [json.loads(line) for line in (tmp_path / "out" / "graph.jsonl").read_text().splitlines()]
    graphs: dict[str, Any] = {line["conversation"]: line for line in lines if line["record"] == "graph"}
    assert graphs.keys() == {story.chat for story in stories}
    named, other = (graphs[story.chat]["people"] for story in stories)
    assert [person["profile_id"] for person in named] == [str(house.profile_of(ANA))]
    assert (other, len(lines)) == ([], 2 * 10)
