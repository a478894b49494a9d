"""The workspace, and the base of every table that belongs to one (PL-1)."""

import uuid
from typing import Any, ClassVar, Self, TypeVar

from django.db import models

from workspaces.binding import WorkspaceNotBound, bound_workspace_id
from workspaces.rules.rights import PERMISSIONS
from workspaces.types import WorkspaceRef


class Workspace(models.Model):
    """A tenant: its keys, features, schemas, people and data; nothing crosses it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    slug = models.SlugField(max_length=63, unique=True)
    name = models.CharField(max_length=120)
    key_id = models.UUIDField()
    hash_key_id = models.UUIDField()
    # The key before, until nothing is named under it any more, and since when it is that (PL-12).
    previous_hash_key_id = models.UUIDField(null=True, blank=True)
    hash_renewed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    # From then on nothing is written here, no credential opens anything, and what is kept is erased (PL-5b).
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        default_permissions = ()
        permissions = sorted(PERMISSIONS.items())

    def __str__(self) -> str:
        return self.slug

    @property
    def ref(self) -> WorkspaceRef:
        """Give the value that callers carry."""
        return WorkspaceRef(
            id=self.id,
            slug=self.slug,
            name=self.name,
            key_id=self.key_id,
            hash_key_id=self.hash_key_id,
            is_closed=self.closed_at is not None,
            previous_hash_key_id=self.previous_hash_key_id,
        )


Row = TypeVar("Row", bound="WorkspaceRow")


class TenantQuerySet(models.QuerySet[Row]):
    """Rows of one workspace. Rows made in bulk are held to the bound workspace too."""

    def bulk_create(self, objs: Any, *args: Any, **kwargs: Any) -> Any:
        rows = list(objs)
        for row in rows:
            row.require_bound()
        return super().bulk_create(rows, *args, **kwargs)


class TenantManager(models.Manager[Row]):
    """The default manager: rows of the bound workspace, and an error when none is bound."""

    def get_queryset(self) -> models.QuerySet[Row]:
        rows = TenantQuerySet[Row](model=self.model, using=self._db)
        return rows.filter(workspace_id=bound_workspace_id())


class WorkspaceRow(models.Model):
    """What has a `workspace_id` and is read and written in that workspace alone."""

    objects: ClassVar[TenantManager[Self]] = TenantManager()

    workspace_id: uuid.UUID
    read_in: uuid.UUID | None = None

    class Meta:
        abstract = True
        default_permissions = ()

    @classmethod
    def from_db(cls, *args: Any, **kwargs: Any) -> Self:
        """Note where a row was read, so that it cannot be saved into another workspace."""
        row = super().from_db(*args, **kwargs)
        row.read_in = row.__dict__.get("workspace_id")
        return row

    def require_bound(self) -> None:
        """Refuse to write a row of a workspace that is not the bound one."""
        if {self.workspace_id, self.read_in or self.workspace_id} != {bound_workspace_id()}:
            raise WorkspaceNotBound

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.require_bound()
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        self.require_bound()
        return super().delete(*args, **kwargs)

    def refresh(self) -> Self:
        """Read the row again."""
        self.refresh_from_db()
        return self


class TenantModel(WorkspaceRow):
    """A row of one workspace in the content database."""

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, default=bound_workspace_id, related_name="+", db_index=False
    )

    class Meta(WorkspaceRow.Meta):
        abstract = True
