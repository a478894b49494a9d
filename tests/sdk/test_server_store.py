"""The SDK's store on the real server: the conformance suite of every store, and what only a server has (HI-24)."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import uuid4

import pytest

from lastro.errors import FeatureOff, Unauthenticated
from lastro.history import History, Turn
from lastro.history.contract import HistoryStore, View
from lastro.history.errors import (
    DecisionHistoryErased,
    DecisionHistoryLimitExceeded,
    DecisionHistoryMismatch,
    DecisionHistoryNotFound,
    DecisionHistoryStorageFailed,
)
from lastro.history.records import Head, Item, Message, NewItem, Outcome, Pins, SessionKey
from lastro.history.stores.server import ServerStore
from lastro.history.windows import Limits, Window, window_of
from lastro.testing.stores import Settable, StoreSuite
from tests import factories
from tests.history.talk import ready_workspace, turns, user
from tests.sdk.conftest import Line
from tests.server import Server
from workspaces import access
from workspaces.types import WorkspaceRef

MARIA = "phone_e164:+55 11 91234-5678"
PINS = Pins("openai.chat", "gpt-4.1")


@pytest.fixture
def workspace(committed: None) -> WorkspaceRef:
    """A workspace whose data stays, in which history is on."""
    return ready_workspace("Aurora")


@pytest.fixture
def store(workspace: WorkspaceRef, server: Server) -> Iterator[ServerStore]:
    """A store of one source."""
    made = store_of(workspace, server.url)
    yield made
    made.close()


def store_of(workspace: WorkspaceRef, url: str, **options: Any) -> ServerStore:
    """Make a store with a key of the scope `history`."""
    key = factories.make_key(workspace, "history", **options)
    return ServerStore(key, base_url=url, trust_env=False)


def append(store: HistoryStore, key: SessionKey, *items: NewItem, head: Head | None = None) -> None:
    store.transact(key, lambda _: Outcome(None, items, head))


def named(id: str = "") -> SessionKey:
    return SessionKey("shop", session_id=id or uuid4().hex)


class TestServerStore(StoreSuite):
    """HI-24: the same suite as RAM's and SQLite's, over HTTP; the bounds and the clock are the server's own."""

    settable = Settable(clock=False, bounds=False, names=False)

    @pytest.fixture(autouse=True)
    def _somewhere(self, workspace: WorkspaceRef, server: Server) -> None:
        self.workspace, self.url = workspace, server.url

    def make_store(self, **settings: Any) -> HistoryStore:
        """Give a store of a new source, so that it is empty."""
        assert not settings
        return store_of(self.workspace, self.url, source=f"source {uuid4().hex}")


def test_a_window_is_chosen_over_pages(store: ServerStore) -> None:
    """HI-9, HI-21: the pure window code reads the server's pages as it reads any store's."""
    key = named()
    append(store, key, *(NewItem(message) for message in turns(150)), head=Head(pins=PINS))

    def window(view: View | None) -> Outcome[Any]:
        assert view is not None
        limits = Limits(max_messages=8)
        return Outcome(window_of(view, provider="openai.chat", leaf=view.head.leaf, now=0.0, limits=limits))

    found = store.transact(key, window)
    assert list(found.messages) == turns(4, start=146)


def test_whom_a_session_names_is_found_by_the_server(store: ServerStore, workspace: WorkspaceRef) -> None:
    """HI-22: conversation and subject reach the server, which tells nobody what they were."""
    from history.models import Session

    key = named()
    append(store, key, NewItem(user()), head=Head(conversation="c-4711", subject=MARIA))
    read = store.read(key)
    assert read is not None
    assert (read.head.conversation, read.head.subject) == ("", "")
    with access.bound(workspace.id):
        row = Session.objects.get()
        assert row.handle is not None
        assert row.conversation_hash is not None


def test_an_erasure_during_a_decision_is_told(store: ServerStore, workspace: WorkspaceRef) -> None:
    """HI-5: the decision is not stored, and its worker learns why."""
    from history.models import Session

    key = named()
    append(store, key, NewItem(user()))

    def erased(_: View | None) -> Outcome[None]:
        with access.bound(workspace.id):
            Session.objects.filter(reserved_at__isnull=False).update(erasure_id=uuid4())
        return Outcome(None, (NewItem(user("late")),))

    with pytest.raises(DecisionHistoryErased):
        store.transact(key, erased)
    assert store.read(key) is None


def test_a_bound_of_the_workspace_is_told(store: ServerStore) -> None:
    """HI-4: which bound, what is needed and what is allowed, as by every store."""
    key = named()
    append(store, key, NewItem(user("x" * (5 * 2**20))))
    with pytest.raises(DecisionHistoryLimitExceeded) as refused:
        append(store, key, NewItem(user("y" * (4 * 2**20))))
    assert (refused.value.bound, refused.value.allowed) == ("max_retained_bytes", 8 * 2**20)
    assert refused.value.request_id
    append(store, key, NewItem(user("z")))


def test_two_sources_never_meet(store: ServerStore, workspace: WorkspaceRef, server: Server) -> None:
    """HI-2, X11: the same key of another source is an unknown session."""
    key = named()
    append(store, key, NewItem(user()))
    other = store_of(workspace, server.url, source="voice bot")
    assert other.read(key) is None
    with pytest.raises(DecisionHistoryNotFound):
        other.transact(key, lambda _: Outcome(None), create=False)
    other.close()


def test_what_no_store_has_is_raised_as_the_clients_do(workspace: WorkspaceRef, server: Server) -> None:
    """SD-11: a bad key, a feature that is off: typed, with the code of the server."""
    with pytest.raises(Unauthenticated):
        ServerStore("lst_nobody", base_url=server.url, trust_env=False).read(named())
    factories.switch(workspace, "history", on=False)
    with pytest.raises(FeatureOff):
        store_of(workspace, server.url).read(named())


def test_a_server_out_of_reach(workspace: WorkspaceRef, line: Line) -> None:
    """HI-5, SD-11: a line that is cut during a decision: it is not stored; the reservation stays until it is freed."""
    store, key = store_of(workspace, line.url), named()
    append(store, key, NewItem(user("before")))

    def cut(_: View | None) -> Outcome[None]:
        line.cut.touch()
        return Outcome(None, (NewItem(user("lost")),))

    with pytest.raises(DecisionHistoryStorageFailed):
        store.transact(key, cut)
    line.mend()
    store.recover(key, worker_stopped=True)
    read = store.read(key)
    assert read is not None
    assert [item.message for item in read.items] == [user("before")]
    store.close()


def test_no_content_in_what_is_raised(store: ServerStore) -> None:
    """SD-11: neither message nor id of a session stands in an error or a repr."""
    word = "canary-of-the-store"
    key = named(word)
    append(store, key, NewItem(user(word), id="m1"))
    raised: list[Exception] = []
    for item in (
        NewItem(user(word), id="m1"),
        NewItem({"text": word, "n": float("nan")}),
        NewItem(user(word), parent=word),
    ):
        try:
            append(store, key, item)
        except Exception as error:
            raised.append(error)
    assert len(raised) == 3
    assert word not in repr(raised) + "".join(map(str, raised)) + repr(store)
    assert isinstance(next(iter(store.read(key).items)), Item)  # type: ignore[union-attr]


def test_an_agents_whole_loop(store: ServerStore) -> None:
    """SD-8, HI-1, HI-22: the SDK's History over the server: append, decide, observe, and the next window."""
    session = History(store, namespace="shop").session(
        run_id=uuid4().hex,
        invocation_id="1",
        agent_ref="order-taker",
        conversation="c-4711",
        subject=MARIA,
    )
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    found = {"role": "tool", "tool_call_id": "c1", "content": "found"}
    session.append([user("Look for it.")], key="turn-1")
    session.append([user("Look for it.")], key="turn-1")
    seen: list[Window] = []

    def answering(message: Message) -> Callable[[Turn], Sequence[Message]]:
        def answer(turn: Turn) -> Sequence[Message]:
            seen.append(turn.window)
            return [message]

        return answer

    session.decide(PINS, answering(asked))
    session.observe([found])
    session.decide(PINS, answering({"role": "assistant", "content": "There."}))
    question = user("Look for it.")
    assert [list(window.messages) for window in seen] == [[question], [question, asked, found]]
    assert list(session.window().messages)[-1] == {"role": "assistant", "content": "There."}
    with pytest.raises(DecisionHistoryMismatch):
        session.decide(Pins("openai.chat", "another"), lambda _: [])
