"""Working memory at a moment that the test chooses: the services themselves, with a clock that only the test moves."""

import json
from datetime import datetime, timedelta
from typing import Any

import msgspec

from agentstate.access import place_of
from agentstate.hotstates import look_for
from agentstate.selectors.states import read_state
from agentstate.serializers import WriteState, state_write
from agentstate.services.states import delete_state, store_state
from agentstate.services.sweep import Swept, sweep_states
from agentstate.types import StateDeletion, StateRead, StoredState
from tests import factories
from workspaces import access, documents
from workspaces.scopes import scope_of
from workspaces.selectors.credentials import caller_of
from workspaces.types import Caller, Origin, WorkspaceRef


class Clocked:
    """An agent's code and the sweep in one workspace, at `now`."""

    def __init__(self, workspace: WorkspaceRef, *, now: datetime = factories.LATELY, **wish: Any) -> None:
        self.workspace, self.now = workspace, now
        self.caller = self.key(**wish)

    def key(self, **wish: Any) -> Caller:
        """Make another key; give who calls with it."""
        return caller_of(factories.make_key(self.workspace, **wish), origin=Origin(), now=self.now)

    def wait(self, **time: float) -> "Clocked":
        """Move the clock: `wait(hours=24)`."""
        self.now += timedelta(**time)
        return self

    def write(
        self, body: dict[str, Any], *, idempotency_key: str | None = None, by: Caller | None = None
    ) -> StoredState:
        """Store one write as it comes on the wire."""
        shape = msgspec.convert(body, WriteState)
        write = state_write(shape, raw=json.dumps(body).encode(), idempotency_key=idempotency_key)
        with access.bound(self.workspace.id):
            seen = documents.served()
            return store_state(caller=by or self.caller, write=write, now=self.now, documents_seen=seen)

    def read(self, scope: dict[str, str], agent: str = "order-taker") -> StateRead:
        """Read a state."""
        with access.bound(self.workspace.id):
            place = place_of(self.workspace, scope_of(self.workspace, **scope), agent)
            found = read_state(look_for(place), documents.served(), now=self.now)
        # The body goes to the wire as it is stored.
        body = msgspec.json.decode(found.body) if isinstance(found.body, msgspec.Raw) else found.body
        return msgspec.structs.replace(found, body=body)

    def delete(
        self, scope: dict[str, str], agent: str = "order-taker", *, if_version: int | None = None
    ) -> StateDeletion:
        """Remove a whole state."""
        with access.bound(self.workspace.id):
            named = scope_of(self.workspace, **scope)
            return delete_state(
                caller=self.caller, scope=named, agent=agent, if_version=if_version, now=self.now
            )

    def sweep(self) -> Swept:
        """Sweep the workspace once."""
        with access.bound(self.workspace.id):
            return sweep_states(workspace=self.workspace, now=self.now)
