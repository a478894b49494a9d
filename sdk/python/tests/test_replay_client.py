"""A turn played again: nothing leaves the process, and the rules are those of life (SD-6)."""

import asyncio
import contextvars
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from lastro import AsyncLastro, Lastro, StateName, StateRead
from lastro.errors import InvalidBody, ReplayEnded, StateConflict

HERE = StateName("conversation", "c-1", "a")


class Ear:
    """Listens where the client's server would be, and notes that somebody came."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def heard(self) -> bool:
        try:
            self.socket.accept()[0].close()
        except BlockingIOError:
            return False
        return True


@pytest.fixture
def ear() -> Iterator[Ear]:
    made = Ear()
    yield made
    made.socket.close()


@pytest.fixture
def client(ear: Ear) -> Iterator[Lastro]:
    with Lastro("key", base_url=ear.url, agent="a", trust_env=False) as made:
        yield made


def test_every_state_starts_empty(client: Lastro, ear: Ear) -> None:
    """SD-6: writes stay in the executor under the same rules, and nobody is asked."""
    with client.replay() as replay:
        state = client.conversation("c-1").state
        assert (state.get().body, state.get().version) == ({}, 0)
        assert state.put({"a": 1}).version == 1
        assert state.put({"a": 2}, mode="cas").reason == "conflict"
        assert state.put({"b": {"x": 1}}, mode="cas", if_version=1).version == 2
        assert state.update(lambda body: {**body, "c": 3}).version == 3
        assert state.delete("b").version == 4
        read = state.get()
        assert (read.body, read.version, read.degraded, read.pending) == ({"c": 3}, 4, False, 0)
        assert replay.found()[HERE].body == {"c": 3}
        with pytest.raises(StateConflict):
            state.clear(if_version=9)
        assert state.clear().deleted
        assert state.get().version == 0
        # A new life goes on with the numbering, and is another one.
        again = state.put({"d": 1})
        assert (again.version, again.epoch) == (5, "replay-2")
        with pytest.raises(InvalidBody):
            state.put({"a": {"$delete": True}}, mode="cas", if_version=5)
        assert state.conflicts == ()
    assert not ear.heard()


def test_what_the_turn_had_read(client: Lastro) -> None:
    """SD-6: given states are read as recorded; two replays share nothing."""
    recorded: dict[StateName, StateRead | dict[str, Any]] = {
        HERE: StateRead(body={"a": 1}, version=7),
        StateName("task", "t", "a"): {"b": 2},
    }
    for _ in range(2):
        with client.replay(recorded):
            state = client.conversation("c-1").state
            assert (state.get().body, state.get().version) == ({"a": 1}, 7)
            assert client.task("t").state.get().body == {"b": 2}
            assert state.put({"a": 5}, mode="cas", if_version=7).version == 8


def test_a_scope_made_before_it(client: Lastro, ear: Ear) -> None:
    """SD-6: what was made before is within too, and outside again afterwards."""
    state = client.conversation("c-1").state
    with client.replay():
        state.put({"a": 1})
        assert state.get().body == {"a": 1}
    assert not ear.heard()
    assert state.get().degraded
    assert ear.heard()


def test_what_was_made_within_never_leaves(client: Lastro, ear: Ear) -> None:
    """SD-6: in another thread it stays within, and after the replay it is refused rather than sent."""
    with client.replay():
        state = client.conversation("c-1").state
        thread = threading.Thread(target=state.put, args=({"a": 1},))
        thread.start()
        thread.join()
        assert state.get().body == {"a": 1}
        later = contextvars.copy_context()
    with pytest.raises(ReplayEnded):
        state.get()
    with pytest.raises(ReplayEnded):
        later.run(client.conversation("c-2").state.get)
    assert not ear.heard()


def test_another_client_is_not_within(client: Lastro, ear: Ear) -> None:
    """SD-6: a replay is of one client."""
    with client.replay(), Lastro("key", base_url=ear.url, agent="a", trust_env=False) as other:
        assert other.conversation("c-1").state.get().degraded


def test_tasks(ear: Ear) -> None:
    """SD-6: tasks that begin within stay within; others go on as before."""

    async def turns() -> None:
        client = AsyncLastro("key", base_url=ear.url, agent="a", trust_env=False)
        state = client.conversation("c-1").state
        with client.replay():
            await asyncio.gather(*(state.put({name: 1}) for name in "abc"))
            assert (await state.get()).version == 3
            within = asyncio.create_task(state.get())
            await within
        assert not ear.heard()
        assert (await state.get()).degraded
        await client.close(0)

    asyncio.run(turns())
