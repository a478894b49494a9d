"""Which agents a key may speak for (PL-3, WM-4)."""

from workspaces.errors import AgentNotAllowed
from workspaces.types import Caller


def require_agent(caller: Caller, agent: str) -> None:
    """Refuse an agent that a key with a list of agents does not name."""
    if caller.agents and agent not in caller.agents:
        raise AgentNotAllowed
