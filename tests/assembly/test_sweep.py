"""What has expired leaves the runtime graph, in its order, and what something needs stays (CA-12, CA-21, PR-20)."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from django.utils import timezone

from assembly import encryption, tasks
from assembly.models import ContextAssembly, Graph, GraphPerson, GraphRecord, GraphSweep, Link, Payload
from assembly.selectors.sweeps import backlog
from tests import factories
from tests.api import InProcess
from tests.assembly.graphs import PHONE, Story
from tests.privacy.erasing import House
from tests.privacy.test_graph_erasures import assembled
from workspaces import access, documents
from workspaces.models import RetiredKey, WrappedKey
from workspaces.types import WorkspaceRef

PAST = timedelta(seconds=1)


@pytest.fixture
def bound(home: WorkspaceRef) -> Iterator[WorkspaceRef]:
    with access.bound(home.id):
        yield home


@pytest.fixture
def house(bound: WorkspaceRef, api: InProcess) -> House:
    return House(bound, api, api)


def left(story: Story) -> set[str]:
    """Name the records that are left of a conversation, by the ids without the conversation's own."""
    rows = GraphRecord.objects.filter(graph__name=story.chat, erasure_id=None)
    return {name.removesuffix(f".{story.chat}") for name in rows.values_list("name", flat=True)}


def expire(story: Story, *names: str) -> None:
    """Let the time of records be over, of all that have one where none is named."""
    rows = GraphRecord.objects.filter(graph__name=story.chat, expires_at__isnull=False)
    chosen = rows.filter(name__in=map(story.id, names)) if names else rows
    chosen.update(expires_at=timezone.now() - PAST)


def swept() -> dict[str, int]:
    """Sweep; give what the run removed, without what it did not."""
    before = set(GraphSweep.objects.values_list("id", flat=True))
    tasks.sweep_all()
    runs = GraphSweep.objects.exclude(id__in=before)
    return {kind: count for run in runs for kind, count in run.removed.items() if count}


def test_traces_go_first(house: House, story: Story) -> None:
    """CA-21: a trace goes at its own end, its assembly later, and the records that it tells of after that."""
    story.stored(*story.whole())
    now = timezone.now()
    shown = assembled(house, story, "memory", trace=[{"id": "x"}], trace_expires_at=now - PAST)
    assert swept() == {"traces": 1}
    assert ContextAssembly.objects.get(id=shown).trace is None
    assert swept() == {}
    ContextAssembly.objects.update(expires_at=now - PAST)
    assert swept() == {"assemblies": 1}
    assert left(story) == {story.chat, "main", "planner", "hello", "run", "call", "artifact", "memory"}


def test_an_artifact_goes_after_the_memory_of_it(story: Story, bound: WorkspaceRef) -> None:
    """CA-21: what a memory that is kept is derived from stays past its end; with the memory it goes."""
    story.stored(*story.whole())
    expire(story, "artifact")
    assert swept() == {}
    expire(story, "memory")
    assert swept() == {"graph_records": 2, "payloads": 1}
    assert left(story) == {story.chat, "main", "planner", "hello", "run", "call"}
    assert (Link.objects.count(), Payload.objects.count()) == (0, 0)


def test_what_another_memory_builds_on_stays(story: Story, bound: WorkspaceRef) -> None:
    """CA-21: a memory without which the words of another say nothing stays as long as that."""
    story.stored(*story.whole(), story.memory("newer", depends_on=[story.id("memory")]))
    expire(story, "memory")
    assert swept() == {}
    expire(story)
    assert swept() == {"graph_records": 3, "payloads": 1}


@pytest.mark.parametrize("status", ["failed", "pending", "deferred"])
def test_what_is_unresolved_is_never_swept(story: Story, bound: WorkspaceRef, status: str) -> None:
    """CA-12: neither an unresolved artifact nor its graph goes, however old; a resolution lets both go."""
    error: dict[str, Any] = {"error": {"code": "timeout", "retryable": True}} if status == "failed" else {}
    story.stored(*story.opening(), story.call(), story.artifact(status=status, **error))
    expire(story)
    Graph.objects.update(due_at=timezone.now() - PAST)
    assert swept() == {}
    Graph.objects.update(due_at=timezone.now() + timedelta(days=1))
    story.stored(story.event("resolution", "given-up", call=story.id("call"), outcome="abandoned"))
    expire(story)
    assert swept() == {"graph_records": 1}
    Graph.objects.update(due_at=timezone.now() - PAST)
    assert swept()["graphs"] == 1


def test_a_call_that_nothing_answered_keeps_its_graph(story: Story, bound: WorkspaceRef) -> None:
    """CA-12: a call without an artifact is unresolved; one with a result is not."""
    story.stored(*story.opening(), story.call())
    Graph.objects.update(due_at=timezone.now() - PAST)
    assert swept() == {}
    story.stored(story.artifact())
    Graph.objects.update(due_at=timezone.now() - PAST)
    assert swept() == {"graphs": 1, "graph_records": 7, "payloads": 1}


def test_what_a_resume_waits_for_stays(story: Story, bound: WorkspaceRef) -> None:
    """CA-21, CA-12: what a checkpoint names stays until its run has finished."""
    story.stored(*story.whole())
    waits = {"waits_for": [story.id("call")], "memories": [story.id("memory")]}
    checkpoint = {
        **story.event("checkpoint", "saved", **waits),
        "run": story.id("run"),
        "branch": story.id("main"),
    }
    story.stored(checkpoint)
    expire(story)
    assert swept() == {}
    story.stored(story.finished())
    assert swept() == {"graph_records": 2, "payloads": 1}


@pytest.mark.parametrize("files", [[], [{"id": "f-1", "name": "plan.pdf"}]])
def test_what_a_file_came_from_stays(story: Story, bound: WorkspaceRef, files: list[Any]) -> None:
    """CA-21: the artifacts and memories of a run that refers to files stay as long as the reference."""
    story.stored(*story.whole(), story.finished(files=files))
    expire(story)
    assert swept() == ({} if files else {"graph_records": 2, "payloads": 1})


@pytest.mark.parametrize("context", ["policy", "conversational"])
def test_a_class_that_is_never_pruned_stays(story: Story, bound: WorkspaceRef, context: str) -> None:
    """CA-8b: a record of a class that no retention prunes ends with its graph."""
    story.stored(*story.opening(), story.call(), story.artifact(context=context))
    expire(story)
    assert swept() == {}
    Graph.objects.update(due_at=timezone.now() - PAST)
    assert swept() == {"graphs": 1, "graph_records": 7, "payloads": 1}


def test_a_graph_that_is_over_goes_with_its_key(house: House, story: Story) -> None:
    """PR-20, PR-15: an idle graph goes whole: its rows, whom it names, and the key; the same may begin again."""
    story.stored(*story.whole(PHONE))
    assembled(house, story, "memory")
    Graph.objects.update(due_at=timezone.now() - PAST)
    assert swept() == {"assemblies": 1, "graph_records": 8, "graphs": 1, "payloads": 1}
    for model in (Graph, GraphPerson, GraphRecord, Link, Payload, ContextAssembly):
        assert not model.objects.exists()
    keys = WrappedKey.objects.filter(purpose="data").values_list("id", flat=True)
    assert set(keys) == set(RetiredKey.objects.values_list("key_id", flat=True)), "They go with the commit."
    story.stored(*story.whole(PHONE))
    assert len(left(story)) == 8


def test_a_shorter_retention_holds_for_what_is_stored(house: House, story: Story) -> None:
    """CA-21: a retention that is published ends what is stored sooner, never later, and in its class alone."""
    story.stored(*story.whole())
    body = documents.live("retention")["retention"].body
    longer = {**body["memories"], "session": "180d"}
    before = ends()
    factories.publish(house.workspace, "retention", {**body, "memories": longer})
    assert swept() == {}
    assert ends() == before
    shorter = {**body, "memories": {**body["memories"], "session": "1h"}}
    factories.publish(house.workspace, "retention", shorter)
    assert swept() == {"graph_records": 1}
    assert ends().keys() == {"tool_artifact"}
    assert ends()["tool_artifact"] == before["tool_artifact"]


def ends() -> dict[str, Any]:
    rows = GraphRecord.objects.filter(expires_at__isnull=False)
    return dict(rows.values_list("kind", "expires_at"))


def test_a_damaged_graph_stops_no_other(api: InProcess, bound: WorkspaceRef) -> None:
    """PR-20: what does not verify is counted, named in the log and not looked at again before its graph ends."""
    stories = [Story(api), Story(api)]
    for story in stories:
        story.stored(*story.whole())
        expire(story)
    damaged = GraphRecord.objects.filter(graph__name=stories[0].chat, kind="tool_memory")
    damaged.update(body=b"x" * 40)
    assert swept() == {"graph_records": 2, "payloads": 1}
    assert GraphSweep.objects.get().damaged == 1
    assert len(left(stories[0])) == 8
    assert swept() == {}


def test_the_backlog_counts_what_is_due(story: Story, bound: WorkspaceRef) -> None:
    """PR-20: what is due now is counted, and nothing when the sweep has been there."""
    from assembly.documents import bounds_of

    story.stored(*story.whole())
    expire(story, "memory")
    bounds = bounds_of(documents.live("retention"))
    assert backlog(bounds, now=timezone.now()) == 1
    tasks.sweep_all()
    assert backlog(bounds, now=timezone.now()) == 0


def test_old_runs_are_forgotten(bound: WorkspaceRef) -> None:
    """PR-20: a run is told of for 30 days."""
    old = timezone.now() - timedelta(days=31)
    GraphSweep.objects.create(began_at=old, ended_at=old)
    tasks.sweep_all()
    assert not GraphSweep.objects.exists()


def test_what_is_kept_opens_after_a_sweep(story: Story, bound: WorkspaceRef) -> None:
    """CA-21: what stays says the same as before."""
    story.stored(*story.whole(), story.call("other"), story.artifact("other-artifact", "other"))
    expire(story, "memory", "artifact")
    swept()
    graph = Graph.objects.get(name=story.chat)
    key = encryption.graph_key(bound, graph)
    row = GraphRecord.objects.get(name=story.id("other-artifact"))
    said = msgspec.json.decode(encryption.open_record(bound, row, key).record)
    assert said["call"] == story.id("other")
