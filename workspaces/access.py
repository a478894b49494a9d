"""The one door to tenant data: bind a workspace, then ask (PL-1).

Everything that must look across workspaces is here too, each with its reason, and nowhere else.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import QuerySet

from workspaces.errors import NotFound
from workspaces.models import ApiKey, Invitation, Membership, Person, PersonalToken, Workspace
from workspaces.models.tenancy import TenantModel, _bound
from workspaces.types import WorkspaceRef

Row = TypeVar("Row", bound=TenantModel)


@contextmanager
def bound(workspace_id: UUID) -> Iterator[None]:
    """Bind this thread of work to one workspace until the block ends."""
    token = _bound.set(workspace_id)
    try:
        yield
    finally:
        _bound.reset(token)


def one(rows: "QuerySet[Row] | type[Row]", **lookup: Any) -> Row:
    """Give the one row of the bound workspace, or refuse: absent and not yours are the same answer."""
    found = (rows if isinstance(rows, QuerySet) else rows.objects).filter(**lookup).first()
    if found is None:
        raise NotFound
    return found


def find_api_key(key_id: str) -> ApiKey | None:
    """Find a key by its id in any workspace: who calls is known only after this."""
    return ApiKey._base_manager.select_related("workspace", "source").filter(key_id=key_id).first()


def find_personal_token(key_id: str) -> PersonalToken | None:
    """Find a token by its id in any workspace: who calls is known only after this."""
    return PersonalToken._base_manager.select_related("workspace", "person").filter(key_id=key_id).first()


def find_invitation(token_hash: bytes) -> Invitation | None:
    """Find an invitation by its token: the invited person belongs to no workspace yet."""
    return (
        Invitation._base_manager.select_related("workspace", "invited_by")
        .filter(token_hash=token_hash)
        .first()
    )


def workspaces_of(person: Person) -> list[WorkspaceRef]:
    """List the person's own workspaces by name, for the switcher."""
    memberships = Membership._base_manager.filter(person=person).select_related("workspace")
    return [membership.workspace.ref for membership in memberships.order_by("workspace__name")]


def workspace_of(person: Person, slug: str) -> WorkspaceRef:
    """Give one of the person's own workspaces, or refuse as if there were none."""
    membership = (
        Membership._base_manager.filter(person=person, workspace__slug=slug)
        .select_related("workspace")
        .first()
    )
    if membership is None:
        raise NotFound
    return membership.workspace.ref


def every_workspace() -> list[WorkspaceRef]:
    """List all workspaces, for workers, which bind each one in turn."""
    return [workspace.ref for workspace in Workspace.objects.order_by("id")]
