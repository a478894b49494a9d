"""Whom a graph names, the keys that follow, and what comes after an erasure (CA-1, PR-10, PR-12, PR-15)."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from assembly import access as graphs
from assembly import encryption
from assembly.models import Graph, GraphPerson
from assembly.services.keys import reseal
from tests.agentstate.rows import wrapping_key
from tests.api import InProcess
from tests.assembly.graphs import BEGAN, PHONE, Story, at
from tests.assembly.rows import graph_of, opened, results_of, rows_of
from workspaces import access
from workspaces.models import Handle, Profile, Tombstone
from workspaces.rules import handles
from workspaces.scopes import scope_of
from workspaces.selectors.profiles import handle_hash
from workspaces.types import WorkspaceRef

PHONE_AGAIN = {"type": "phone_e164", "value": "+5511912345678"}
JOAO = {"type": "phone_e164", "value": "+55 11 98765-4321"}


def people_of(workspace: WorkspaceRef, story: Story) -> list[str]:
    """Give as what a graph names people: the short names of participants, blank for a subject."""
    with access.bound(workspace.id):
        found = GraphPerson.objects.filter(graph__name=story.chat).values_list("participant", flat=True)
        return sorted(name.partition(".")[0] for name in found)


def entomb(workspace: WorkspaceRef, kind: str, name: bytes, *, erased_at: datetime) -> None:
    """Leave of a handle or a scope what an erasure leaves: that it was erased, and when."""
    key = workspace.hash_key_id
    with access.bound(workspace.id):
        Tombstone.objects.create(kind=kind, hash=name, hash_key_id=key, erased_at=erased_at, due_at=erased_at)


class TestKeys:
    def test_one_person_holds_the_key(self, home: WorkspaceRef, story: Story) -> None:
        """PR-15, CA-1: it hangs on the one handle that is named, in whatever spelling and as whatever."""
        story.stored(*story.whole(PHONE), story.participant("maria", kind="person", subject=PHONE_AGAIN))
        graph = graph_of(home, story)
        assert wrapping_key(home, graph.data_key_id) == graph.handle_id
        assert people_of(home, story) == ["", "maria"]
        with access.bound(home.id):
            assert Handle.objects.get().id == graph.handle_id
            scope = scope_of(home, kind="conversation", id=f"company-{story.chat}")
            assert bytes(graph.conversation_hash or b"") == scope.hash

    @pytest.mark.parametrize("subject", [[], [PHONE, JOAO]])
    def test_nobody_or_several_leave_it_to_the_workspace(
        self, home: WorkspaceRef, story: Story, subject: list[Any]
    ) -> None:
        """PR-15: the data key hangs on the workspace's."""
        story.stored(*story.whole(*subject))
        assert wrapping_key(home, graph_of(home, story).data_key_id) == home.key_id

    @pytest.mark.parametrize("subject", [[], [PHONE]])
    def test_a_person_who_comes_later_moves_the_key(
        self, home: WorkspaceRef, story: Story, subject: list[Any]
    ) -> None:
        """PR-10, PR-15: all of it is sealed again, says the same, and is known when it is sent again."""
        story.stored(*story.whole(*subject))
        before, old = rows_of(home, story), graph_of(home, story)
        said = {name: opened(home, row) for name, row in before.items()}
        results = results_of(home, story)
        story.stored(story.participant("joao", kind="person", subject=JOAO))
        graph = graph_of(home, story)
        assert wrapping_key(home, old.data_key_id) is None
        assert wrapping_key(home, graph.data_key_id) == (home.key_id if subject else graph.handle_id)
        after = rows_of(home, story)
        assert {name: opened(home, after[name]) for name in said} == said
        assert results_of(home, story) == results
        assert all(bytes(after[name].body) != bytes(before[name].body) for name in said)
        again = story.stored(*story.whole(*subject))
        assert {item["outcome"] for item in again["records"]} == {"unchanged"}

    def test_sealing_again_goes_through_all_batches(
        self, home: WorkspaceRef, story: Story, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """PL-12: however many records there are, and whatever the size of a batch."""
        monkeypatch.setattr("assembly.services.keys.BATCH", 3)
        story.stored(*story.whole())
        said = {name: opened(home, row) for name, row in rows_of(home, story).items()}
        with access.bound(home.id):
            graph = Graph.objects.select_for_update().get(name=story.chat)
            reseal(home, graph, encryption.graph_key(home, graph), now=graph.touched_at)
            graph.save()
        assert {name: opened(home, row) for name, row in rows_of(home, story).items()} == said

    def test_a_refused_batch_names_nobody(self, home: WorkspaceRef, story: Story) -> None:
        """CA-3: all or nothing, people and graph included."""
        refused = story.send(*story.opening(PHONE), story.artifact())
        assert refused.code == "unknown_reference"
        with access.bound(home.id):
            counts = [model.objects.count() for model in (Graph, GraphPerson, Handle, Profile)]
        assert counts == [0, 0, 0, 0]


class TestErased:
    """What was made before an erasure and comes after it brings nothing back (PR-12)."""

    ERASED = BEGAN + timedelta(minutes=10)

    def test_a_person(self, api: InProcess, home: WorkspaceRef) -> None:
        """PR-12: named by the conversation or by a participant, of a new graph or one that is there."""
        with access.bound(home.id):
            maria = handle_hash(home, handles.canonical("phone_e164", "+5511912345678"))
        story = Story(api)
        story.stored(*story.opening())
        entomb(home, "handle", maria, erased_at=self.ERASED)
        other = Story(api)
        assert other.send(*other.opening(PHONE)).code == "subject_erased"
        named = story.participant("maria", subject=PHONE)
        answer = story.send(named)
        assert (answer.status, answer.code) == (410, "subject_erased")
        assert people_of(home, story) == []
        story.stored({**named, "recorded_at": at(10)})
        assert story.send(story.message("late")).code == "subject_erased"
        assert story.send(story.message("new", recorded_at=at(11))).status == 200

    def test_a_conversation(self, home: WorkspaceRef, story: Story) -> None:
        """PR-12: by the company's own id of it."""
        with access.bound(home.id):
            scope = scope_of(home, kind="conversation", id=f"company-{story.chat}")
        entomb(home, "scope", scope.hash, erased_at=self.ERASED)
        assert story.send(*story.opening()).code == "subject_erased"
        fresh = [{**record, "recorded_at": at(10)} for record in story.opening()]
        story.stored(*fresh)

    def test_a_graph(self, home: WorkspaceRef, story: Story) -> None:
        """PR-11, PR-12: its names are free at once; late records are refused with or without the conversation."""
        story.stored(*story.whole(PHONE))
        with access.bound(home.id):
            graph = Graph.objects.get(name=story.chat)
            erasure = uuid4()
            graphs.records_of(graph).update(erasure_id=erasure)
            Graph.objects.filter(id=graph.id).update(erasure_id=erasure, ended_at=self.ERASED)
        assert story.send(story.message("late")).code == "subject_erased"
        assert story.send(*story.whole(PHONE)).code == "subject_erased"
        assert story.send(story.message("new", recorded_at=at(11))).code == "unknown_reference"
        fresh = [{**record, "recorded_at": at(10)} for record in story.opening(PHONE)]
        assert story.stored(*fresh)["positions"] == {story.chat: 5}

    def test_what_is_there_stays_known(self, home: WorkspaceRef, story: Story) -> None:
        """CA-3, PR-12: what came before an erasure that left it is the same record when it is sent again."""
        story.stored(*story.opening())
        with access.bound(home.id):
            scope = scope_of(home, kind="conversation", id=f"company-{story.chat}")
        entomb(home, "scope", scope.hash, erased_at=self.ERASED)
        again = story.stored(*story.opening())
        assert {item["outcome"] for item in again["records"]} == {"unchanged"}
