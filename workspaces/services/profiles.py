"""A handle seen for the first time makes a profile (PL-6)."""

import secrets
from datetime import datetime, timedelta
from uuid import uuid4

from django.db import transaction

from workspaces import audit, encryption
from workspaces.models import Handle, Profile
from workspaces.rules.handles import Handle as HandleValue
from workspaces.selectors.profiles import find_profiles, handle_hash, known_handle
from workspaces.types import Actor, AuditObject, WorkspaceRef

SEEN_EVERY = timedelta(hours=1)
# Base32 without the characters that people confuse (i, l, o, u).
_PSEUDONYM_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


@transaction.atomic
def handle_of(*, workspace: WorkspaceRef, value: HandleValue, now: datetime) -> Handle:
    """Give the handle's row, made with its profile and its key when it is seen for the first time."""
    found = known_handle(workspace, value) or _made(workspace, value, now)
    note_seen(found.profile, now=now)
    return found


@transaction.atomic
def note_view(*, profile: Profile, what: str, actor: Actor, now: datetime) -> None:
    """Write to the audit that somebody looked at a profile (WM-23, CO-7)."""
    audit.record(
        "profile.view", actor=actor, now=now, on=AuditObject("profile", str(profile.id)), facts={"what": what}
    )


@transaction.atomic
def find(
    *,
    workspace: WorkspaceRef,
    query: str,
    type: str | None = None,
    namespace: str | None = None,
    actor: Actor,
    now: datetime,
) -> list[Profile]:
    """Find whom a pseudonym or an identifier names, and write to the audit that somebody searched (CO-3)."""
    found = find_profiles(workspace, query, type=type, namespace=namespace)
    on = AuditObject("profile", str(found[0].id) if len(found) == 1 else "")
    audit.record("profile.find", actor=actor, now=now, on=on, facts={"found": len(found)})
    return found


def make_profile(*, created_at: datetime, last_seen_at: datetime) -> Profile:
    """Make a person whom no handle names yet."""
    return Profile.objects.create(pseudonym=_pseudonym(), created_at=created_at, last_seen_at=last_seen_at)


def _made(workspace: WorkspaceRef, value: HandleValue, now: datetime) -> Handle:
    profile = make_profile(created_at=now, last_seen_at=now)
    handle = Handle(
        id=uuid4(),
        profile=profile,
        type=value.type,
        hash=handle_hash(workspace, value),
        hash_key_id=workspace.hash_key_id,
        hint=value.hint,
        created_at=now,
    )
    Handle.objects.bulk_create([handle], ignore_conflicts=True)
    winner = known_handle(workspace, value)
    assert winner is not None  # noqa: S101  (inserted above, by this or the transaction that we waited for)
    if winner.id != handle.id:
        profile.delete()
        return winner
    encryption.make_key(
        workspace, key_id=handle.id, purpose="handle", under=encryption.workspace_key(workspace), now=now
    )
    return winner


def note_seen(profile: Profile, *, now: datetime) -> None:
    """Keep when a person was last seen, at most once an hour, so that writes do not queue at one row."""
    stale = Profile.objects.filter(id=profile.id, last_seen_at__lt=now - SEEN_EVERY)
    if profile.last_seen_at < now - SEEN_EVERY:
        stale.update(last_seen_at=now)


def _pseudonym() -> str:
    return "p_" + "".join(secrets.choice(_PSEUDONYM_ALPHABET) for _ in range(20))
