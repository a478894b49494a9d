"""The history of a conversation, beside its working memory, on the real server (SD-1, SD-6)."""

import asyncio
import os
from typing import Any

import pytest

from lastro import AsyncLastro
from lastro.errors import ClientClosed, InvalidCall, NotAllowed, ReplayEnded
from lastro.history.errors import DecisionHistoryNotFound
from lastro.history.history import History
from tests import factories
from tests.api import OverHttp
from tests.history.talk import assistant, ready_workspace, turns, user
from tests.sdk.conftest import Connect
from tests.server import Server
from workspaces.types import WorkspaceRef

ANA = "phone_e164:+55 11 91234-5678"


@pytest.fixture
def shop(committed: None) -> WorkspaceRef:
    """A workspace whose data stays, in which history is on."""
    return ready_workspace("Aurora")


@pytest.fixture
def key(shop: WorkspaceRef) -> str:
    return factories.make_key(shop, "agent_state", "history")


def served(conversation: Any) -> list[Any]:
    return list(conversation.history.read_as("openai.chat").window().messages)


def test_a_conversation_keeps_its_messages(connect: Connect, key: str) -> None:
    """SD-1, HI-1: any client finds them again; another agent and another conversation have none of them."""
    conversation = connect(key=key).conversation("c-1", subject=ANA)
    conversation.history.append([user("one"), assistant("two")])
    again = connect(key=key)
    assert served(again.conversation("c-1")) == [user("one"), assistant("two")]
    for other in (again.conversation("c-2"), again.conversation("c-1", agent="closing")):
        with pytest.raises(DecisionHistoryNotFound):
            served(other)
    with pytest.raises(InvalidCall):
        _ = connect(key=key, agent=None).conversation("c-1").history


def test_limits_are_the_hosts(connect: Connect, key: str) -> None:
    """SD-1, HI-9: a host makes the history with limits of its own."""
    client = connect(key=key, history=lambda store: History(store, namespace="shop", max_messages=4))
    client.conversation("c-1").history.append(turns(6))
    assert served(client.conversation("c-1")) == turns(2, start=4)
    with pytest.raises(DecisionHistoryNotFound):
        served(connect(key=key).conversation("c-1"))


def test_a_key_is_held_to_its_scope_and_agents(connect: Connect, shop: WorkspaceRef, key: str) -> None:
    """PL-3, SD-11: without the scope, or for another agent than the key names, it is refused and not hidden."""
    for limited in (
        factories.make_key(shop, "agent_state"),
        factories.make_key(shop, "history", agents=["closing"]),
    ):
        with pytest.raises(NotAllowed):
            connect(key=limited).conversation("c-1").history.append([user()])


def test_erased_with_its_conversation(connect: Connect, server: Server, shop: WorkspaceRef, key: str) -> None:
    """HI-22, PR-11: a person is forgotten, and with them what was said in a conversation about them alone."""
    client = connect(key=key)
    conversation = client.conversation("c-1", subject=ANA)
    conversation.state.put({"step": "cart"})
    conversation.history.append([user("my number is on file")])
    office = factories.make_key(shop, "admin", source="back office")
    asked = OverHttp(server.url, office).post(
        "/v1/forget", {"target": "handle", "handle": {"type": "phone_e164", "value": "+5511912345678"}}
    )
    assert asked.status == 202, asked.body
    assert conversation.state.get().version == 0
    with pytest.raises(DecisionHistoryNotFound):
        served(conversation)


def test_a_replay_keeps_to_the_process(connect: Connect, key: str) -> None:
    """SD-6: within a replay a conversation's history starts empty, and nothing of it reaches the server."""
    client = connect(key=key)
    client.conversation("c-1").history.append([user("in life")])
    with client.replay():
        conversation = client.conversation("c-1")
        with pytest.raises(DecisionHistoryNotFound):
            served(conversation)
        conversation.history.append([user("played again")])
        assert served(conversation) == [user("played again")]
    with pytest.raises(ReplayEnded):
        served(conversation)
    assert served(client.conversation("c-1")) == [user("in life")]


def test_asynchronous(server: Server, key: str) -> None:
    """SD-1: the same with asyncio, in two loops one after the other."""

    async def talk(text: str) -> int:
        async with AsyncLastro(key, base_url=server.url, agent="order-taker", trust_env=False) as client:
            history = client.conversation("c-1").history.read_as("openai.chat")
            await history.aappend([user(text)])
            return (await history.awindow()).message_count

    assert [asyncio.run(talk(text)) for text in ("one", "two")] == [1, 2]


def test_a_closed_client_and_the_child_of_a_fork(connect: Connect, key: str) -> None:
    """SD-7: after the end there is no history; a child has connections of its own, and the parent goes on."""
    client = connect(key=key)
    conversation = client.conversation("c-1")
    conversation.history.append([user("parent")])
    child = os.fork()
    if child == 0:
        try:
            conversation.history.append([user("child")])
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    conversation.history.append([user("parent again")])
    assert [message["content"] for message in served(conversation)] == ["parent", "child", "parent again"]
    client.close(0.0)
    with pytest.raises(ClientClosed):
        served(conversation)
