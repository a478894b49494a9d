"""LangGraph's AsyncPostgresSaver, which takes one call at a time."""

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg_pool import AsyncConnectionPool

from benchmarks.peers.contract import Body, require
from benchmarks.peers.langgraph_saver import POOL, Thread


class LangGraphAsyncSaver:
    """`aput` and `aget_tuple` of the asynchronous saver."""

    async def open(self, url: str, *, clients: int) -> None:
        self._threads = dict[int, Thread]()
        self._pool = AsyncConnectionPool(url, min_size=clients, max_size=clients, kwargs=POOL, open=False)
        await self._pool.open()
        self._saver = AsyncPostgresSaver(self._pool)
        await self._saver.setup()

    async def prepare(self, client: int, body: Body) -> None:
        self._threads[client] = Thread(client, body)
        await self.write(client)

    async def write(self, client: int) -> None:
        thread = self._threads[client]
        version = self._saver.get_next_version(thread.version, None)
        checkpoint = thread.next_checkpoint(version)
        thread.config = await self._saver.aput(thread.config, checkpoint, thread.metadata, {"state": version})

    async def read(self, client: int) -> None:
        thread = self._threads[client]
        found = await self._saver.aget_tuple(thread.place)
        require(found and found.checkpoint["channel_values"]["state"]["serial"] == thread.body["serial"])

    async def close(self) -> None:
        await self._pool.close()
