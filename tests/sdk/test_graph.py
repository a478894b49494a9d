"""The SDK's graph and contexts against the real server (SD-10): recording, outages, contexts, refusals."""

from typing import Any

import pytest

from lastro import Lastro, tool
from lastro.assembly.records import Reference, ToolArtifact
from lastro.errors import FeatureOff, LastroError, NotAllowed, RecordTaken, ReferenceUnknown
from tests import factories
from tests.sdk.conftest import Connect, Line
from workspaces.types import WorkspaceRef


@pytest.fixture
def key(shop: WorkspaceRef) -> str:
    """A key with which an agent records, and asks for contexts."""
    factories.switch(shop, "context", on=True)
    return factories.make_key(shop, "context")


@tool(version="2", privacy="public")
def free_rooms(day: str) -> dict[str, Any]:
    """Give an object that an extractor knows."""
    return {"id": "r-12", "status": "free", "day": day}


def test_a_turn(connect: Connect, key: str) -> None:
    """SD-10, CA-3, CA-16, CA-17, CA-19: recorded, selected, rendered and explained by the server."""
    client = connect(key=key)
    talk = client.graph.conversation("c-1", subject="email:ana@example.com")
    asked = talk.person("ana").says("A room for Friday?")
    with talk.model("concierge").run(route="openai", model="m", answers=asked) as run:
        run.call(free_rooms, {"day": "Friday"}, id="call_1", in_round=1)
        context = run.context(render="openai.chat", budget_tokens=5_000, trace=True)
        calls = [call["id"] for one in context.messages for call in one.get("tool_calls", ())]
        assert calls == ["call_1"]
        run.says("Room 12 is free.")
    record = client.context.assembly(context.assembly_id)
    assert (record.digest, record.naive.tokens > 0) == (context.digest, True)
    why = client.context.why(context.assembly_id, Reference("tool_artifact", "call_1.result"))
    assert (why.outcome, why.is_reproduced, why.gone) == ("included", True, 0)
    assert (client.graph.waiting, client.graph.refused) == (0, ())


def test_recorded_again_from_another_process(connect: Connect, key: str) -> None:
    """SD-10, CA-3: what is named is there once; a record sent again is unchanged; another one under its id is not."""
    one, other = connect(key=key), connect(key=key)
    for client in (one, other):
        said = client.graph.conversation("c-2").person("ana").says("Hello.")
    assert other.flush(10)
    assert other.graph.refused == ()
    assert [stored.outcome for stored in other.graph.record(said).stored] == ["unchanged"]
    with pytest.raises(RecordTaken) as caught:
        other.graph.conversation("c-2").person("bo").says("Bye.", id=said.id)
    assert caught.value.request_id
    with pytest.raises(ReferenceUnknown) as unknown:
        other.graph.conversation("c-2").record(
            ToolArtifact, call="none", tool="t", status="pending", participant="c-2.ana"
        )
    assert "/records/0/call" in unknown.value.pointers


def test_through_an_outage(connect: Connect, key: str, line: Line) -> None:
    """SD-7, SD-10: cut off, and then with its answers lost, a turn goes on; afterwards the graph has it once."""
    client = connect(line.url, key=key)
    talk = client.graph.conversation("c-3")
    ana = talk.person("ana")
    ana.says("One.")
    line.cut.touch()
    ana.says("Two.")
    line.mend()
    assert client.flush(20)
    line.deaf.touch()
    ana.says("Three.")
    line.mend()
    assert client.flush(20)
    context = talk.model("lead").context(route="openai", render="openai.chat")
    assert [message["content"] for message in context.messages] == ["One.", "Two.", "Three."]
    assert client.graph.refused == ()


def test_refusals_are_raised(connect: Connect, shop: WorkspaceRef, key: str) -> None:
    """SD-7, SD-11: authorization is no outage: it is raised, with the server's code and request id."""
    off = factories.make_ready_workspace("Boreal")
    cases: list[tuple[Lastro, type[LastroError]]] = [
        (connect(key=factories.make_key(shop, "agent_state")), NotAllowed),
        (connect(key=factories.make_key(off, "context")), FeatureOff),
    ]
    for client, kind in cases:
        talk = client.graph.conversation("c-4")
        with pytest.raises(kind) as caught:
            talk.person("ana").says("Hello.")
        assert caught.value.request_id
        with pytest.raises(kind) as caught:
            talk.model("lead").context(route="openai")
        assert caught.value.request_id
        assert client.graph.waiting == 0
