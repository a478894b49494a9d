"""Showing people which sessions name a person: a read that the audit remembers (HI-23, PR-21)."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from uuid import UUID

import msgspec
from django.db import transaction

from history.selectors.metadata import chosen_sessions, metadata_of, sessions_of_profile
from workspaces import access
from workspaces.paging import Page, page
from workspaces.selectors.profiles import profiles
from workspaces.services.profiles import note_view
from workspaces.types import Actor


@transaction.atomic
def show_sessions(
    *,
    profile_id: UUID,
    chosen: Mapping[str, str] = MappingProxyType({}),
    older: str | None = None,
    newer: str | None = None,
    actor: Actor,
    now: datetime,
) -> Page:
    """Give a page of a person's sessions, newest first, and write the view to the audit. Raises NotFound."""
    profile = access.one(profiles(), id=profile_id)
    rows = chosen_sessions(sessions_of_profile(profile.id), chosen)
    found = page(rows, by="touched_at", older=older, newer=newer)
    note_view(profile=profile, what="history", actor=actor, now=now)
    return msgspec.structs.replace(found, rows=metadata_of(found.rows, now=now))
