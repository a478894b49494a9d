"""Showing people which states name a person: a read that the audit remembers (WM-23)."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from uuid import UUID

import msgspec
from django.db import transaction

from agentstate.selectors.states import chosen_states, metadata_of, states_of_profile
from workspaces import access
from workspaces.paging import Page, page
from workspaces.selectors.profiles import profiles
from workspaces.services.profiles import note_view
from workspaces.types import Actor


@transaction.atomic
def show_states(
    *,
    profile_id: UUID,
    chosen: Mapping[str, str] = MappingProxyType({}),
    older: str | None = None,
    newer: str | None = None,
    actor: Actor,
    now: datetime,
) -> Page:
    """Give a page of a person's states, newest first, and write the view to the audit. Raises NotFound."""
    profile = access.one(profiles(), id=profile_id)
    found = page(
        chosen_states(states_of_profile(profile.id), chosen), by="updated_at", older=older, newer=newer
    )
    note_view(profile=profile, what="agent_state", actor=actor, now=now)
    return msgspec.structs.replace(found, rows=metadata_of(found.rows, now=now))
