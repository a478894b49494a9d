"""Two handles that are one person, and one that is not after all (PL-7).

Keys are per handle, so that nothing is wrapped again; what names a handle goes where the handle goes.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from django.db import transaction
from django.db.models import Q

from privacy.errors import NotPossibleNow, OnHold
from privacy.models import PackageRun
from privacy.selectors.erasures import open_requests, resolved
from privacy.services.packages import revoke_package
from privacy.types import Target
from workspaces import audit, barriers
from workspaces.errors import NotFound
from workspaces.models import Handle, Hold, Profile
from workspaces.rules.handles import Handle as HandleValue
from workspaces.selectors.profiles import known_handle, profiles
from workspaces.services.profiles import make_profile
from workspaces.types import Actor, AuditObject, WorkspaceRef


class Linked(msgspec.Struct, frozen=True):
    """Whom a link or its undoing left, and whether it changed anything."""

    profile: Profile
    is_changed: bool


@transaction.atomic
def link(
    *, workspace: WorkspaceRef, targets: Sequence[Target], actor: Actor, reason: str = "", now: datetime
) -> Linked:
    """Join the two people whom two targets name: the handles move to the older profile, and the other one goes (PL-7).

    A hold on either goes on, on the person that both are, and so covers what each covered; packages go with them.
    People who are one already stay as they are. Raises NotFound for whom nobody knows, NotPossibleNow while an erasure
    of either is open or a package of either is being built.
    """
    barriers.hold_people_alone()
    first, second = sorted(_people(workspace, targets), key=lambda profile: (profile.created_at, profile.id))
    if first.id != second.id:
        _require_settled((first, second))
        _join(first, second)
    is_changed = first.id != second.id
    facts = {"changed": is_changed, "other": str(second.id)}
    on = AuditObject("profile", str(first.id))
    audit.record("profile.link", actor=actor, now=now, on=on, reason=reason, facts=facts)
    return Linked(profiles().get(id=first.id), is_changed)


@transaction.atomic
def unlink(
    *, workspace: WorkspaceRef, handle: HandleValue, actor: Actor, reason: str = "", now: datetime
) -> Linked:
    """Make the one whom a handle names a person of their own, with all that named that handle (PL-7).

    Packages of the person they were are revoked, since they hold somebody else's data. A handle that is alone stays as
    it is. Raises NotFound for a handle that nobody knows, NotPossibleNow while an erasure of the person is open or a
    package is being built, and OnHold while a hold is on them, which would cover less.
    """
    barriers.hold_people_alone()
    row = known_handle(workspace, handle)
    if row is None:
        raise NotFound
    before = row.profile
    is_changed = Handle.objects.filter(profile=before).exclude(id=row.id).exists()
    if is_changed:
        Profile.objects.select_for_update().get(id=before.id)
        _require_settled([before])
        if barriers.holds_on(profile_ids=[before.id], scope_hashes=(), now=now).exists():
            raise OnHold
        own = make_profile(created_at=row.created_at, last_seen_at=before.last_seen_at)
        Handle.objects.filter(id=row.id).update(profile=own)
        _revoke_packages(workspace, before, actor=actor, now=now)
    after = profiles().get(handles=row.id)
    facts = {"changed": is_changed, "other": str(after.id)}
    on = AuditObject("profile", str(before.id))
    audit.record("profile.unlink", actor=actor, now=now, on=on, reason=reason, facts=facts)
    return Linked(after, is_changed)


def _people(workspace: WorkspaceRef, targets: Iterable[Target]) -> list[Profile]:
    found = [resolved(workspace, target).profile_id for target in targets]
    rows = Profile.objects.select_for_update().filter(erasure_id=None, id__in=[one for one in found if one])
    people = {profile.id: profile for profile in rows.order_by("id")}
    if None in found or not people.keys() >= set(found):
        raise NotFound
    return [people[one] for one in found if one is not None]


def _require_settled(people: Sequence[Profile]) -> None:
    """Refuse while a request would erase another set of handles than it named, or a package would hold another one."""
    ids: list[UUID] = [profile.id for profile in people]
    handles = list(Handle.objects.filter(profile_id__in=ids).values_list("id", flat=True))
    if open_requests().filter(Q(profile_id__in=ids) | Q(handle_ids__overlap=handles)).exists():
        raise NotPossibleNow("A request to erase this person is open.")
    if PackageRun.objects.filter(profile_id__in=ids, status__in=PackageRun.OPEN).exists():
        raise NotPossibleNow("A package of this person is being built.")


def _revoke_packages(workspace: WorkspaceRef, person: Profile, *, actor: Actor, now: datetime) -> None:
    ready = PackageRun.objects.filter(profile=person, status=PackageRun.Status.READY, expires_at__gt=now)
    for run_id in ready.values_list("id", flat=True):
        revoke_package(
            workspace=workspace, run_id=run_id, reason="A handle was unlinked.", actor=actor, now=now
        )


def _join(stays: Profile, goes: Profile) -> None:
    Handle.objects.filter(profile=goes).update(profile=stays)
    Hold.objects.filter(profile_id=goes.id).update(profile_id=stays.id)
    PackageRun.objects.filter(profile=goes).update(profile=stays)
    if goes.last_seen_at > stays.last_seen_at:
        Profile.objects.filter(id=stays.id).update(last_seen_at=goes.last_seen_at)
    goes.delete()
