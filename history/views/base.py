"""What every view of history knows: the session that is named, and the bounds of the workspace."""

from history import access
from history.documents import FEATURE, retention_of
from history.rules.sessions import require_identity
from history.serializers import SessionShape, identity_of
from history.types import Place, Retention
from workspaces.http.permissions import Needs
from workspaces.http.views import ApiView
from workspaces.rules import json
from workspaces.rules.agents import require_agent

NEEDS = Needs(feature=FEATURE, scope="history")
EXAMPLE_SESSION = {"run_id": "run-81", "invocation_id": "inv-3", "agent_ref": "order-taker"}
EXAMPLE_TOKEN = "kq8xK2vTz1WbH4sPq0mJc7Yd2Lr9Nf5Ge3Ua6Ti8Zs0"
EXAMPLE_HEAD = {
    "pins": {
        "provider": "openai.chat",
        "model": "gpt-4.1",
        "interface": "native",
        "content_mode": "inline",
    },
    "leaf": "m-7",
    "count": 7,
    "bytes": 4120,
    "summary": None,
    "created_at": "2026-11-30T11:58:12Z",
    "touched_at": "2026-11-30T12:00:00Z",
    "valid_until": "2026-12-01T12:00:00Z",
}


class HistoryView(ApiView):
    """A view of history; what it answers about one session comes from the key's own source."""

    tag = "History"
    # What a provider's message holds is not ours to bound more than needed.
    json_rules = json.Rules(max_depth=200, any_integer=True)

    @property
    def retention(self) -> Retention:
        """Give the bounds of the workspace."""
        return retention_of(self.admitted.live)

    def place(self, shape: SessionShape) -> Place:
        """Give the place of a session. Raises HistoryIdentityMissing and AgentNotAllowed."""
        identity = identity_of(shape)
        require_identity(identity)
        if identity.agent_ref:
            require_agent(self.caller, identity.agent_ref)
        assert self.caller.source_id is not None  # noqa: S101  (only the keys of sources get here)
        return access.place_of(self.caller.workspace, self.caller.source_id, identity)
