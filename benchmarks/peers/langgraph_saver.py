"""LangGraph's PostgresSaver: each write is a checkpoint of a thread whose only channel is the state."""

from typing import Any

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

from benchmarks.peers.contract import Body, require

POOL = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
"""What its documentation asks of the connections that one gives to it."""


class Thread:
    """Where a thread has come to."""

    def __init__(self, client: int, body: Body) -> None:
        self.place: dict[str, Any] = {"configurable": {"thread_id": f"state-{client}", "checkpoint_ns": ""}}
        self.config, self.body, self.version, self.step = self.place, body, None, 0

    def next_checkpoint(self, version: Any) -> dict[str, Any]:
        """Make the next checkpoint, in which the state has changed."""
        self.version, self.step = version, self.step + 1
        return {
            **empty_checkpoint(),
            "channel_values": {"state": self.body},
            "channel_versions": {"state": version},
        }

    @property
    def metadata(self) -> dict[str, Any]:
        return {"source": "loop", "step": self.step, "parents": {}}


class LangGraphSaver:
    """`put` and `get_tuple` of the synchronous saver."""

    def open(self, url: str, *, clients: int) -> None:
        self._threads = dict[int, Thread]()
        self._pool = ConnectionPool(url, min_size=clients, max_size=clients, kwargs=POOL, open=True)
        self._saver = PostgresSaver(self._pool)
        self._saver.setup()

    def prepare(self, client: int, body: Body) -> None:
        self._threads[client] = Thread(client, body)
        self.write(client)

    def write(self, client: int) -> None:
        thread = self._threads[client]
        version = self._saver.get_next_version(thread.version, None)
        checkpoint = thread.next_checkpoint(version)
        thread.config = self._saver.put(thread.config, checkpoint, thread.metadata, {"state": version})

    def read(self, client: int) -> None:
        thread = self._threads[client]
        found = self._saver.get_tuple(thread.place)
        require(found and found.checkpoint["channel_values"]["state"]["serial"] == thread.body["serial"])

    def close(self) -> None:
        self._pool.close()
