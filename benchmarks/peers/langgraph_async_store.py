"""LangGraph's AsyncPostgresStore: it gathers the calls of one turn of the loop into one batch."""

from contextlib import AsyncExitStack

from langgraph.store.postgres import AsyncPostgresStore, PoolConfig

from benchmarks.peers.contract import Body, require


class LangGraphAsyncStore:
    """`aput` and `aget` of the asynchronous store."""

    async def open(self, url: str, *, clients: int) -> None:
        self._stack, self._bodies = AsyncExitStack(), dict[int, Body]()
        pool = PoolConfig(min_size=clients, max_size=clients)
        opened = AsyncPostgresStore.from_conn_string(url, pool_config=pool)
        self._store = await self._stack.enter_async_context(opened)
        await self._store.setup()

    async def prepare(self, client: int, body: Body) -> None:
        self._bodies[client] = body
        await self.write(client)

    async def write(self, client: int) -> None:
        await self._store.aput(("states", str(client)), "state", self._bodies[client])

    async def read(self, client: int) -> None:
        item = await self._store.aget(("states", str(client)), "state")
        require(item and item.value["serial"] == self._bodies[client]["serial"])

    async def close(self) -> None:
        await self._stack.aclose()
