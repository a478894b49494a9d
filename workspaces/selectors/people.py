"""Who is a member, with which roles, and what that allows (PL-2)."""

from collections import defaultdict
from datetime import datetime
from uuid import UUID

import msgspec
from guardian.shortcuts import get_perms

from workspaces.errors import PermissionMissing
from workspaces.models import Invitation, Membership, Person, Role, Workspace
from workspaces.rules.rights import roles_with
from workspaces.selectors.sign_ins import with_second_factor
from workspaces.types import WorkspaceRef


class Member(msgspec.Struct, frozen=True):
    """A person in a workspace, with the roles held there."""

    id: UUID
    name: str
    email: str
    roles: tuple[str, ...]
    joined_at: datetime
    last_sign_in: datetime | None
    has_second_factor: bool = False
    language: str = ""


def permissions_of(person: Person, workspace: WorkspaceRef) -> frozenset[str]:
    """Give what a person may do in a workspace: the object permissions of their role groups."""
    return frozenset(get_perms(person, Workspace(id=workspace.id)))


def require_permission(person: Person, workspace: WorkspaceRef, permission: str) -> None:
    """Refuse a person without a permission, naming it and who could give it (CO-8)."""
    if permission not in permissions_of(person, workspace):
        roles = ", ".join(roles_with(permission))
        raise PermissionMissing(f"The permission is `{permission}`; these roles hold it: {roles}.")


def roles_of(person: Person) -> tuple[str, ...]:
    """Give the roles that a person holds in the bound workspace."""
    return tuple(sorted(Role.objects.filter(group__user=person).values_list("role", flat=True)))


def others_with(permission: str, *, but: UUID) -> list[str]:
    """Name the other members of the bound workspace who hold a permission (CO-8)."""
    roles = set(roles_with(permission))
    return [member.name for member in members() if member.id != but and roles & set(member.roles)]


def members() -> list[Member]:
    """List the members of the bound workspace by name."""
    held: dict[UUID, list[str]] = defaultdict(list)
    for person_id, role in Role.objects.filter(group__user__isnull=False).values_list("group__user", "role"):
        held[person_id].append(role)
    rows = list(Membership.objects.select_related("person").order_by("person__name", "person__email"))
    with_app = with_second_factor([row.person_id for row in rows])
    return [
        Member(
            id=row.person.id,
            name=row.person.name,
            email=row.person.email,
            roles=tuple(sorted(held[row.person.id])),
            joined_at=row.joined_at,
            last_sign_in=row.person.last_login,
            has_second_factor=row.person_id in with_app,
            language=row.person.language,
        )
        for row in rows
    ]


def open_invitations(*, now: datetime) -> list[Invitation]:
    """List the invitations that can still be accepted, newest first."""
    rows = Invitation.objects.filter(accepted_at=None, expires_at__gt=now)
    return list(rows.select_related("invited_by").order_by("-made_at"))
