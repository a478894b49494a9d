"""Google ADK's DatabaseSessionService on asyncpg: a write appends an event whose delta is the whole state."""

from google.adk.events import Event, EventActions
from google.adk.sessions import DatabaseSessionService, Session

from benchmarks.peers.contract import Body, require

APP, USER = "benchmark", "customer"


class GoogleAdk:
    """`append_event`, and `get_session` of a session without events."""

    async def open(self, url: str, *, clients: int) -> None:
        self._service = DatabaseSessionService(
            url.replace("postgresql://", "postgresql+asyncpg://"), pool_size=clients, max_overflow=0
        )
        self._written = dict[int, Session]()
        self._read = dict[int, Session]()
        self._bodies = dict[int, Body]()

    async def prepare(self, client: int, body: Body) -> None:
        self._bodies[client] = body
        self._written[client] = await self._session({})
        self._read[client] = await self._session(body)
        await self.write(client)

    async def write(self, client: int) -> None:
        event = Event(author="agent", actions=EventActions(state_delta=self._bodies[client]))
        await self._service.append_event(self._written[client], event)

    async def read(self, client: int) -> None:
        found = await self._service.get_session(app_name=APP, user_id=USER, session_id=self._read[client].id)
        require(found and found.state["serial"] == self._bodies[client]["serial"])

    async def close(self) -> None:
        await self._service.close()

    async def _session(self, state: Body) -> Session:
        return await self._service.create_session(app_name=APP, user_id=USER, state=state)
