"""The OpenAI Agents SDK's SQLAlchemySession on asyncpg: a write adds one item, a read gives a session of one item."""

import json

from agents.extensions.memory import SQLAlchemySession
from sqlalchemy.ext.asyncio import create_async_engine

from benchmarks.peers.contract import Body, require


class OpenAISQLAlchemy:
    """`add_items` and `get_items`, all sessions on one engine with a connection per client."""

    async def open(self, url: str, *, clients: int) -> None:
        self._engine = create_async_engine(
            url.replace("postgresql://", "postgresql+asyncpg://"), pool_size=clients, max_overflow=0
        )
        self._written = dict[int, SQLAlchemySession]()
        self._read = dict[int, SQLAlchemySession]()
        self._items = dict[int, list[dict[str, str]]]()

    async def prepare(self, client: int, body: Body) -> None:
        self._items[client] = [{"role": "user", "content": json.dumps(body, separators=(",", ":"))}]
        self._written[client] = await self._session(f"written-{client}")
        self._read[client] = await self._session(f"read-{client}")
        await self._read[client].clear_session()
        await self._read[client].add_items(self._items[client])
        await self.write(client)

    async def write(self, client: int) -> None:
        await self._written[client].add_items(self._items[client])

    async def read(self, client: int) -> None:
        require(await self._read[client].get_items() == self._items[client])

    async def close(self) -> None:
        await self._engine.dispose()

    async def _session(self, name: str) -> SQLAlchemySession:
        session = SQLAlchemySession(name, engine=self._engine, create_tables=True)
        await session.get_items(limit=1)
        return session
