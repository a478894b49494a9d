"""The OpenAI Agents SDK's SQLiteSession in one file: a write adds one item, a read gives a session of one item."""

import json
import tempfile
from pathlib import Path

from agents import SQLiteSession

from benchmarks.peers.contract import Body, require


class OpenAISQLite:
    """`add_items` and `get_items`; each session has a connection of its own, as the class makes it."""

    async def open(self, url: str, *, clients: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="lastro-bench-", ignore_cleanup_errors=True)
        self._file = Path(self._folder.name) / "sessions.db"
        self._written = dict[int, SQLiteSession]()
        self._read = dict[int, SQLiteSession]()
        self._items = dict[int, list[dict[str, str]]]()

    async def prepare(self, client: int, body: Body) -> None:
        self._items[client] = [{"role": "user", "content": json.dumps(body, separators=(",", ":"))}]
        if client not in self._read:
            self._written[client] = SQLiteSession(f"written-{client}", self._file)
            self._read[client] = SQLiteSession(f"read-{client}", self._file)
        await self._read[client].clear_session()
        await self._read[client].add_items(self._items[client])
        await self.write(client)

    async def write(self, client: int) -> None:
        await self._written[client].add_items(self._items[client])

    async def read(self, client: int) -> None:
        require(await self._read[client].get_items() == self._items[client])

    async def close(self) -> None:
        for session in (*self._written.values(), *self._read.values()):
            session.close()
        self._folder.cleanup()
