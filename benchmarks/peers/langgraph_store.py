"""LangGraph's PostgresStore: one item per state, replaced whole, from a pool with a connection per client."""

from contextlib import ExitStack

from langgraph.store.postgres import PoolConfig, PostgresStore

from benchmarks.peers.contract import Body, require


class LangGraphStore:
    """`put` and `get` of the synchronous store."""

    def open(self, url: str, *, clients: int) -> None:
        self._stack, self._bodies = ExitStack(), dict[int, Body]()
        pool = PoolConfig(min_size=clients, max_size=clients)
        self._store = self._stack.enter_context(PostgresStore.from_conn_string(url, pool_config=pool))
        self._store.setup()

    def prepare(self, client: int, body: Body) -> None:
        self._bodies[client] = body
        self.write(client)

    def write(self, client: int) -> None:
        self._store.put(("states", str(client)), "state", self._bodies[client])

    def read(self, client: int) -> None:
        item = self._store.get(("states", str(client)), "state")
        require(item and item.value["serial"] == self._bodies[client]["serial"])

    def close(self) -> None:
        self._stack.close()
