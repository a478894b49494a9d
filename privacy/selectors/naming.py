"""Whom a conversation or a task names: what its states and what its sessions say, taken together (PR-10)."""

from collections.abc import Sequence
from uuid import UUID

from agentstate.selectors import erasures as states
from agentstate.selectors.holds import kept_scopes as kept_scopes_of_states
from history.selectors import erasures as sessions
from history.selectors.holds import kept_scopes as kept_scopes_of_sessions
from workspaces.models import Handle, Hold


def scopes_alone(handle_ids: Sequence[UUID]) -> dict[bytes, UUID]:
    """Give the conversations and tasks that name a person and nobody else: each keyed hash with the key that made it.

    A state that names one person and a session that names another make a conversation of two.
    """
    if not handle_ids:
        return {}
    found = states.scopes_naming(handle_ids) | sessions.scopes_naming(handle_ids)
    shared = states.scopes_of_others(found, handle_ids) | sessions.scopes_of_others(found, handle_ids)
    return {scope: key for scope, key in found.items() if scope not in shared}


def scopes_of_hold(hold: Hold) -> set[bytes]:
    """Give the conversations and tasks that name the person of a hold, or did when it kept something of them."""
    if hold.profile_id is None:
        return set()
    handles = list(Handle.objects.filter(profile_id=hold.profile_id).values_list("id", flat=True))
    naming = set(states.scopes_naming(handles)) | set(sessions.scopes_naming(handles))
    return naming | kept_scopes_of_states(hold) | kept_scopes_of_sessions(hold)
