"""Showing people which assemblies are about a person: a read that the audit remembers (CA-17, PR-21)."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from uuid import UUID

from django.db import transaction

from assembly.selectors.listed import assemblies_of_profile
from workspaces import access
from workspaces.paging import Page, page
from workspaces.selectors.profiles import profiles
from workspaces.services.profiles import note_view
from workspaces.types import Actor


@transaction.atomic
def show_assemblies(
    *,
    profile_id: UUID,
    chosen: Mapping[str, str] = MappingProxyType({}),
    older: str | None = None,
    newer: str | None = None,
    actor: Actor,
    now: datetime,
) -> Page:
    """Give a page of the assemblies about a person, newest first, and write the view to the audit. Raises NotFound."""
    profile = access.one(profiles(), id=profile_id)
    rows = assemblies_of_profile(profile.id, chosen, now=now)
    found = page(rows, by="created_at", older=older, newer=newer)
    note_view(profile=profile, what="context", actor=actor, now=now)
    return found
