"""Making a workspace, with its keys, role groups, documents and audit chain (PL-4)."""

from datetime import datetime
from uuid import uuid4

from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.db import transaction
from guardian.models import GroupObjectPermission

from workspaces import access, audit, encryption
from workspaces.models import AuditHead, Document, DocumentHead, FourEyes, Role, Workspace
from workspaces.rules.documents import DEFAULTS
from workspaces.rules.rights import ROLES
from workspaces.types import Actor, AuditObject, WorkspaceRef


@transaction.atomic
def create_workspace(*, slug: str, name: str, actor: Actor, now: datetime) -> WorkspaceRef:
    """Make a workspace in which every feature is off (PR-1).

    Raises django.core.exceptions.ValidationError for a slug that is taken or not of the form, and for a name that
    is not one line, which could not be the subject of a mail.
    """
    if name.splitlines() != [name]:
        raise ValidationError({"name": "A name is one line."})
    workspace = Workspace(slug=slug, name=name, key_id=uuid4(), hash_key_id=uuid4(), created_at=now)
    workspace.full_clean()
    encryption.make_workspace_keys(workspace.ref, now=now)
    workspace.save(force_insert=True)
    with access.bound(workspace.id):
        AuditHead.objects.create()
        FourEyes.objects.create()
        _publish_defaults(now)
        sync_role_rights(workspace)
        audit.record("workspace.create", actor=actor, now=now, on=AuditObject("workspace", str(workspace.id)))
    return workspace.ref


def sync_role_rights(workspace: Workspace) -> None:
    """Make the role groups of a bound workspace hold exactly what the table of rights says (PL-2)."""
    kind = ContentType.objects.get_for_model(Workspace)
    rights = dict(Permission.objects.filter(content_type=kind).values_list("codename", "id"))
    groups = {role: _group_of(workspace, role).id for role in ROLES}
    wanted = {(groups[role], rights[name]) for role, names in ROLES.items() for name in names}
    rows = GroupObjectPermission.objects.filter(content_type=kind, object_pk=str(workspace.id))
    held = {(row.group_id, row.permission_id): row.id for row in rows}
    rows.filter(id__in=[held[pair] for pair in held.keys() - wanted]).delete()
    GroupObjectPermission.objects.bulk_create(
        GroupObjectPermission(
            group_id=group, permission_id=right, content_type=kind, object_pk=str(workspace.id)
        )
        for group, right in wanted - held.keys()
    )


def _group_of(workspace: Workspace, role: str) -> Group:
    found = Role.objects.filter(role=role).select_related("group").first()
    if found is not None:
        return found.group
    group = Group.objects.create(name=f"{workspace.id}/{role}")
    Role.objects.create(role=role, group=group)
    return group


def _publish_defaults(now: datetime) -> None:
    for kind, body in DEFAULTS.items():
        document = Document.objects.create(
            kind=kind, version=1, body=body, reason="A new workspace", published_by=None, published_at=now
        )
        DocumentHead.objects.create(kind=kind, document=document)
