"""Showing people which states name a person: a read that the audit remembers (WM-23)."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from agentstate.selectors.states import metadata_of, states_of_profile
from workspaces import access
from workspaces.models import Profile
from workspaces.paging import Page, page
from workspaces.services.profiles import note_view
from workspaces.types import Actor, WorkspaceRef


@transaction.atomic
def show_states(
    *, workspace: WorkspaceRef, profile_id: UUID, cursor: str | None, actor: Actor, now: datetime
) -> Page:
    """Give a page of a person's states, newest first, and write the view to the audit. Raises NotFound."""
    profile = access.one(Profile, id=profile_id)
    found = page(states_of_profile(profile.id), by="updated_at", cursor=cursor)
    note_view(profile=profile, what="agent_state", actor=actor, now=now)
    return Page(rows=metadata_of(workspace, found.rows, now=now), next_cursor=found.next_cursor)
