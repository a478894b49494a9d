"""A workspace whose data stays, with people in it, for tests of what is erased, held and packaged."""

from typing import Any
from uuid import UUID

import msgspec
from django.utils import timezone

from privacy.models import ErasureRequest
from privacy.services import erasing
from tests import factories
from tests.api import Answer, InProcess
from tests.assembly.graphs import Story
from tests.factories import scope, write
from tests.history.talk import PINS, Talk, items
from workspaces import access
from workspaces.services.encryption import destroy_retired_keys
from workspaces.types import WorkspaceRef

ANA = {"type": "email", "value": "ana@example.com"}
ANAS_PHONE = {"type": "phone_e164", "value": "+55 11 91234-5678"}
BRUNO = {"type": "email", "value": "bruno@example.com"}


class House(msgspec.Struct, frozen=True):
    """A workspace, an agent's code in it, and a back office."""

    workspace: WorkspaceRef
    agent: InProcess
    office: InProcess

    def store(
        self, body: dict[str, Any], *, place: dict[str, str] | None = None, **members: Any
    ) -> dict[str, str]:
        """Store a state and give its scope."""
        place = place or scope()
        answer = self.agent.write(write(body, scope=place, **members))
        assert answer.body.get("stored"), answer.body
        return place

    def talk(self, *texts: str, session: str = "", **named: Any) -> Talk:
        """Keep a session of messages, decided on; `named` says whom and which conversation it names."""
        talk = Talk(self.agent, **({"session_id": session} if session else {}))
        token = talk.token(**named)
        said = items(*({"role": "user", "content": text} for text in texts or ("hello",)))
        answer = talk.call("commit", reservation=token, items=said, pins=PINS)
        assert answer.status == 200, answer.body
        return talk

    def story(self, *subject: dict[str, str], name: str = "") -> Story:
        """Record a typical run of a conversation about some people."""
        told = Story(self.agent, name)
        told.stored(*told.whole(*subject))
        return told

    def forget(self, target: str, value: Any, **headers: str) -> Answer:
        """Ask for an erasure."""
        member = "handle" if target == "handle" else f"{target}_id"
        return self.office.post("/v1/forget", {"target": target, member: value}, **headers)

    def status(self, request_id: str) -> Any:
        """Follow a request."""
        return self.office.get(f"/v1/forget/{request_id}").body

    def work(self) -> list[bool]:
        """Do what a worker does, once."""
        with access.bound(self.workspace.id):
            due = erasing.due(timezone.now())
        done = [erasing.run(workspace=self.workspace, request_id=request_id) for request_id in due]
        with access.bound(self.workspace.id):
            destroy_retired_keys(workspace=self.workspace)
        return done

    def profile_of(self, handle: dict[str, str]) -> UUID:
        """Give the id of the person whom a handle names."""
        found = self.office.post("/v1/profiles/search", {"query": handle["value"]}).body["items"]
        return UUID(found[0]["profile_id"])

    def request(self, request_id: str) -> ErasureRequest:
        """Give the row of a request."""
        with access.bound(self.workspace.id):
            return ErasureRequest.objects.get(id=request_id)


def make_house(name: str = "Aurora") -> House:
    """Make a workspace of its own with an agent and a back office."""
    workspace = factories.make_ready_workspace(name)
    for feature in ("history", "context"):
        factories.switch(workspace, feature, on=True)
    agent = factories.make_key(workspace, "agent_state", "history", "context")
    office = factories.make_key(workspace, "agent_state", "admin", source="back office")
    return House(workspace, InProcess(agent), InProcess(office))
