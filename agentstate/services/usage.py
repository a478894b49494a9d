"""Counting what writes of working memory come to (CO-10)."""

from datetime import datetime

from agentstate.hotstates import Turn
from agentstate.types import StoredState
from workspaces.rules.usage import NOT_STORED, STATE, WRITE
from workspaces.services.usage import count


def counted(turn: Turn, answer: StoredState, *, agent: str, now: datetime) -> StoredState:
    """Count what a write came to, and give its answer; one that was sent again and had been stored is no second one."""
    workspace_id = turn.place.workspace.id
    if turn.has_changed:
        count(workspace_id, WRITE, agent, now=now)
    if turn.has_begun:
        count(workspace_id, STATE, agent, now=now)
    if answer.reason is not None:
        count(workspace_id, NOT_STORED, answer.reason, now=now)
    return answer
