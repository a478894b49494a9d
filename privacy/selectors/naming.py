"""Whom a conversation or a task names: what its states, its sessions and its graph say, taken together (PR-10)."""

from collections.abc import Sequence
from uuid import UUID

from agentstate.selectors import erasures as states
from agentstate.selectors.holds import kept_scopes as kept_scopes_of_states
from assembly.selectors import erasures as graphs
from history.selectors import erasures as sessions
from history.selectors.holds import kept_scopes as kept_scopes_of_sessions
from workspaces.models import Handle, Hold

_APPS = (states, sessions, graphs)


def scopes_alone(handle_ids: Sequence[UUID]) -> dict[bytes, UUID]:
    """Give the conversations and tasks that name a person and nobody else: each keyed hash with the key that made it.

    A state that names one person and a session or a graph that names another make a conversation of two.
    """
    if not handle_ids:
        return {}
    found: dict[bytes, UUID] = {}
    for app in _APPS:
        found |= app.scopes_naming(handle_ids)
    shared = set[bytes]().union(*(app.scopes_of_others(found, handle_ids) for app in _APPS))
    return {scope: key for scope, key in found.items() if scope not in shared}


def scopes_of_hold(hold: Hold) -> set[bytes]:
    """Give the conversations and tasks that name the person of a hold, or did when it kept something of them."""
    if hold.profile_id is None:
        return set()
    handles = list(Handle.objects.filter(profile_id=hold.profile_id).values_list("id", flat=True))
    naming = set[bytes]().union(*(app.scopes_naming(handles) for app in _APPS))
    return naming | kept_scopes_of_states(hold) | kept_scopes_of_sessions(hold)
