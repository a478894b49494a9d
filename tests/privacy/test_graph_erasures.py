"""Erasing the runtime graph: what goes, from when, what stays, and what comes too late (PR-10 to PR-12, CA-21)."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from django.utils import timezone

from assembly import encryption
from assembly.models import ContextAssembly, Graph, GraphPerson, GraphRecord, Link, Payload, PolicyDecision
from assembly.selectors.records import record_of
from lastro.assembly.records import Conversation, Record
from tests.assembly.graphs import Story
from tests.factories import scope
from tests.history.talk import user
from tests.privacy.erasing import ANA, ANAS_PHONE, BRUNO, House, make_house
from tests.privacy.packages import build, link
from workspaces import access
from workspaces.errors import KeyDestroyed
from workspaces.models import ErasedItem, RetiredKey, WrappedKey

PARTS = {"graph_records": 8, "payloads": 1}
PERSON = {"handles": 1, "profiles": 1}


@pytest.fixture
def house(committed: None) -> House:
    return make_house()


def graph_of(house: House, story: Story) -> Graph:
    with access.bound(house.workspace.id):
        return Graph.objects.select_related("handle").get(name=story.chat)


def records(house: House, story: Story) -> dict[str, Record]:
    """Open what is served of a conversation, by the ids without the conversation's own."""
    with access.bound(house.workspace.id):
        graph = Graph.objects.select_related("handle").get(name=story.chat)
        key = encryption.graph_key(house.workspace, graph)
        rows = GraphRecord.objects.filter(graph=graph, erasure_id=None)
        opened = [record_of(encryption.open_record(house.workspace, row, key)) for row in rows]
        return {record.id.removesuffix(f".{story.chat}"): record for record in opened}


def assembled(house: House, story: Story, *shown: str, participant: str = "planner", **more: Any) -> UUID:
    """Keep the record of an assembly that showed some records."""
    now = timezone.now()
    with access.bound(house.workspace.id):
        graph = Graph.objects.get(name=story.chat)
        kept: dict[str, Any] = {
            "graph": graph,
            "source_id": GraphRecord.objects.filter(graph=graph)[0].source_id,
            "policy": "default",
            "policy_version": 1,
            "assembler": "1",
            "position": graph.position,
            "as_of": now,
            "branch": story.id("main"),
            "participant": story.id(participant),
            "kind": "chat",
            "route": "openai",
            "request": {"conversation": story.chat},
            "selected": [["tool_memory", story.id(name), "memory"] for name in shown],
            "digest": "ab" * 32,
            "created_at": now,
            "expires_at": now + timedelta(days=30),
        }
        row = ContextAssembly.objects.create(**{**kept, **more})
        PolicyDecision.objects.create(
            assembly=row, rule="lowered", policy="default", version=1, outcome="included"
        )
        return row.id


def is_served(house: House, assembly_id: UUID) -> bool:
    from assembly.access import assemblies

    with access.bound(house.workspace.id):
        return assemblies().filter(id=assembly_id).exists()


def erased(house: House, asked: Any) -> Any:
    """Do the work of a request; give its counts."""
    assert asked.status == 202, asked.body
    assert house.work() == [True]
    return house.status(asked.body["request_id"])["erased"]


def together(house: House, **conversation: Any) -> Story:
    """Record a conversation of Ana and Bruno, each with a participant, a run and what derives from it."""
    story = Story(house.agent)
    story.stored(story.conversation(ANA, BRUNO, **conversation), story.branch())
    for who, handle in (("ana", ANA), ("bruno", BRUNO)):
        own = {"participant": story.id(who), "run": story.id(f"run-{who}")}
        story.stored(
            story.participant(who, subject=handle),
            story.run(f"run-{who}", participant=story.id(who)),
            story.message(f"said-{who}", f"I am {who}", participant=story.id(who)),
            story.call(f"call-{who}", **own),
            story.artifact(f"artifact-{who}", f"call-{who}", **own),
            story.memory(f"memory-{who}", f"artifact-{who}", **own),
        )
    return story


@pytest.mark.parametrize("target", ["profile", "handle", "conversation"])
def test_reads_end_with_the_approval(house: House, target: str) -> None:
    """PR-11, CA-21: from the approval on nothing of a graph is served; after the work no row and no key is left."""
    story, other = house.story(ANA), house.story(BRUNO)
    shown, apart = assembled(house, story, "memory"), assembled(house, other, "memory")
    value: Any = {
        "profile": str(house.profile_of(ANA)),
        "handle": ANA,
        "conversation": f"company-{story.chat}",
    }[target]
    graph = graph_of(house, story)

    asked = house.forget(target, value)
    assert not is_served(house, shown)
    assert is_served(house, apart)
    late = story.send(story.message("late", recorded_at=timezone.now().isoformat()))
    assert (late.status, late.code) == (422, "unknown_reference")
    with access.bound(house.workspace.id), pytest.raises(KeyDestroyed):
        encryption.graph_key(house.workspace, graph)
    counts = erased(house, asked)

    people = {} if target == "conversation" else PERSON
    assert counts == {"assemblies": 1, **PARTS, **people}
    assert len(records(house, other)) == 8
    with access.bound(house.workspace.id):
        tombstone = Graph.objects.get(life="erased")
        assert (tombstone.name, tombstone.data_key_id, tombstone.conversation_hash) == ("", None, None)
        for model in (GraphRecord, Link, Payload, GraphPerson, ContextAssembly):
            assert not model.objects.filter(graph_id=graph.id).exists()
        assert PolicyDecision.objects.count() == 1
        assert not RetiredKey.objects.exists()
        assert not ErasedItem.objects.exists()
        assert WrappedKey.objects.filter(purpose="data").count() == 1


def test_of_a_graph_of_several_their_own_goes(house: House) -> None:
    """PR-10, PR-15: their records and what derives from them; the rest stays, under a new key, without their name."""
    story = together(house)
    story.stored(
        story.message("answer", "To Ana", participant=story.id("bruno"), answers=story.id("said-ana")),
        story.memory("both", "artifact-ana", "artifact-bruno", run=None, participant=story.id("bruno")),
        story.message("anchored", "Later", participant=story.id("bruno"), message=story.id("said-ana")),
        story.event("promotion", "shown", record_type="tool_memory", record=story.id("memory-ana")),
    )
    before, old = records(house, story), graph_of(house, story)
    theirs = [assembled(house, story, "memory-ana"), assembled(house, story, participant="ana")]
    traced = assembled(house, story, "memory-bruno", trace=[{"id": story.id("both"), "outcome": "omitted"}])
    apart = assembled(house, story, "memory-bruno", participant="bruno")

    asked = house.forget("handle", ANA)
    assert [is_served(house, one) for one in (*theirs, traced, apart)] == [False, False, False, True]
    gone = {"ana", "run-ana", "said-ana", "call-ana", "artifact-ana", "memory-ana", "answer", "both", "shown"}
    assert records(house, story).keys() == before.keys() - gone
    counts = erased(house, asked)

    assert counts == {"assemblies": 3, "graph_records": 9, "payloads": 1, **PERSON}
    after, graph = records(house, story), graph_of(house, story)
    talk = after.pop(story.chat)
    assert isinstance(talk, Conversation)
    assert [handle.value for handle in talk.subject] == [BRUNO["value"]]
    assert after == {name: before[name] for name in before.keys() - gone - {story.chat}}
    assert graph.data_key_id != old.data_key_id
    assert graph.handle is not None
    assert str(graph.handle.profile_id) == str(house.profile_of(BRUNO))
    assert is_served(house, apart)
    with access.bound(house.workspace.id):
        assert set(GraphPerson.objects.values_list("participant", flat=True)) == {"", story.id("bruno")}
        assert old.data_key_id not in set(WrappedKey.objects.values_list("id", flat=True))
        assert not GraphRecord.objects.filter(erasure_id__isnull=False).exists()
    again = story.send(story.message("more", participant=story.id("bruno")))
    assert again.status == 200, again.body


@pytest.mark.parametrize("by", ["state", "session"])
def test_another_app_may_know_of_others(house: House, by: str) -> None:
    """PR-10: a graph that names the person alone stays where a state or a session of the conversation names another."""
    place = scope()
    if by == "state":
        house.store({"step": "cart"}, place=place, subject=BRUNO)
    else:
        house.talk("of Bruno", conversation_id=place["id"], subject=BRUNO)
    story = Story(house.agent)
    opening = [story.conversation(ANA, conversation=place["id"]), story.branch()]
    story.stored(*opening, story.participant("ana", subject=ANA), story.participant("planner"))
    story.stored(story.message("theirs", participant=story.id("ana")), story.message("hello"))
    assert graph_of(house, story).handle is not None

    asked = house.forget("handle", ANA)
    assert records(house, story).keys() == {story.chat, "main", "planner", "hello"}
    assert erased(house, asked) == {"graph_records": 2, **PERSON}
    left = records(house, story)
    talk = left[story.chat]
    assert isinstance(talk, Conversation)
    assert not talk.subject
    assert graph_of(house, story).handle is None
    assert left.keys() == {story.chat, "main", "planner", "hello"}


def test_a_graph_that_names_nobody_goes_with_their_conversation(house: House) -> None:
    """PR-10: who is named is asked of states, sessions and graphs together."""
    place, shared = scope(), scope()
    house.store({"step": "cart"}, place=place, subject=ANA)
    nobodys, kept = Story(house.agent), Story(house.agent)
    nobodys.stored(nobodys.conversation(conversation=place["id"]), nobodys.branch())
    house.talk("of Ana", conversation_id=shared["id"], subject=ANA)
    house.talk("of nobody", conversation_id=shared["id"])
    kept.stored(kept.conversation(BRUNO, conversation=shared["id"]), kept.branch())
    asked = house.forget("handle", ANA)
    counts = erased(house, asked)
    assert counts == {"agent_states": 1, "graph_records": 2, "messages": 1, "sessions": 1, **PERSON}
    assert records(house, kept).keys() == {kept.chat, "main"}


def test_a_graph_of_another_keeps_what_names_nobody(house: House) -> None:
    """PR-10: a session that names nobody stays where the graph of its conversation names somebody else."""
    place = scope()
    talk = house.talk("of nobody", conversation_id=place["id"])
    house.store({"step": "cart"}, place=place, subject=ANA)
    story = Story(house.agent)
    story.stored(story.conversation(BRUNO, conversation=place["id"]))
    assert erased(house, house.forget("handle", ANA)) == {"agent_states": 1, **PERSON}
    assert talk.messages() == [user("of nobody")]


def test_one_handle_of_two(house: House) -> None:
    """PR-10: in a graph that names both handles of a person the erased one's participant goes, the other's stays."""
    story = Story(house.agent)
    story.stored(story.conversation(ANA, ANAS_PHONE), story.branch())
    story.stored(story.participant("mail", subject=ANA), story.participant("phone", subject=ANAS_PHONE))
    house.office.post("/v1/profiles/link", {"first": {"handle": ANA}, "second": {"handle": ANAS_PHONE}})
    assert erased(house, house.forget("handle", ANA)) == {"graph_records": 1, "handles": 1}
    left = records(house, story)
    assert left.keys() == {story.chat, "main", "phone"}
    assert ANA["value"] not in msgspec.json.encode(left[story.chat]).decode()


def test_a_task_of_the_same_id_is_another(house: House) -> None:
    """PR-10: a graph is of a conversation: an erasure of a task of that id touches none."""
    story = house.story(ANA)
    house.store({"step": "cart"}, place=scope(f"company-{story.chat}", "task"))
    assert erased(house, house.forget("task", f"company-{story.chat}")) == {"agent_states": 1}
    assert len(records(house, story)) == 8


def test_packages_of_whom_it_names_end(house: House) -> None:
    """PR-11: a package of whom a touched graph names opens nothing from the approval on, theirs who stays, too."""
    together(house)
    run = build(house.workspace, BRUNO)
    assert link(house.workspace, run)
    house.forget("handle", ANA)
    assert not link(house.workspace, run)


@pytest.mark.parametrize("is_over", [False, True])
@pytest.mark.parametrize("again", ["same graph", "same person", "same conversation"])
def test_what_was_recorded_before_comes_too_late(house: House, again: str, *, is_over: bool) -> None:
    """PR-12: what was recorded before the approval is refused from then on; what came later is taken, by any name."""
    story, before = house.story(ANA), timezone.now()
    target, value = ("conversation", f"company-{story.chat}") if "conv" in again else ("handle", ANA)
    house.forget(target, value)
    if is_over:
        assert house.work() == [True]
    late = Story(house.agent, story.chat if again == "same graph" else "")
    named = {"conversation": f"company-{story.chat}"} if "conv" in again else {}

    def send(moment: datetime) -> Any:
        at = moment.astimezone(UTC).isoformat()
        subject = [ANA] if again == "same person" else []
        whole = [late.conversation(*subject, **named), late.branch(), late.participant()]
        return late.send(*({**record, "recorded_at": at} for record in whole))

    refused = send(before)
    assert (refused.status, refused.code) == (410, "subject_erased")
    taken = send(timezone.now())
    assert taken.status == 200, taken.body
    house.work()
    assert records(house, late).keys() == {late.chat, "main", "planner"}


def test_the_dry_run_counts_them(house: House) -> None:
    """PR-9: before it is approved a request says of how many graphs it takes something, and what they hold."""
    from privacy.selectors.erasures import dry_run, planned
    from privacy.types import Target

    house.story(ANA)
    with access.bound(house.workspace.id):
        target = Target(kind="profile", profile_id=house.profile_of(ANA))
        counted = dry_run(planned(house.workspace, target), now=timezone.now())
    assert (counted.graphs, counted.records, counted.sessions) == (1, 8, 0)
    assert counted.bytes > 0
    assert counted.earliest is not None
