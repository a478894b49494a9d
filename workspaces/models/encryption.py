"""Wrapped keys (PL-12), in the database of the keys, and what the content database says about them (PR-15)."""

import uuid

from django.db import models

from workspaces.binding import bound_workspace_id
from workspaces.models.tenancy import TenantModel, WorkspaceRow


class WrappedKey(WorkspaceRow):
    """A key of a workspace, sealed under the key that `wrapped_by` names (null: the deployment's master key).

    A handle's key has the handle's id. Destroying a row makes everything below it unreadable. It stands in the other
    database, so that no foreign key leads here or away.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace_id = models.UUIDField(default=bound_workspace_id)
    purpose = models.CharField(max_length=12)
    wrapped_by = models.UUIDField(null=True)
    wrapped = models.BinaryField(max_length=80)
    created_at = models.DateTimeField()
    # Set while what it opens is erased: it opens nothing from then on, and goes when the erasure ends (PR-11).
    barred_by = models.UUIDField(null=True)
    # How often it was given a new secret, and under which secret of the key that wraps it this one lies (PL-12).
    generation = models.PositiveIntegerField(default=0, db_default=0)
    under = models.PositiveIntegerField(default=0, db_default=0)
    # The secret before, wrapped, until nothing lies under it any more.
    previous = models.BinaryField(max_length=80, null=True)
    renewed_at = models.DateTimeField(null=True)

    class Meta(WorkspaceRow.Meta):
        pass

    def __str__(self) -> str:
        return str(self.pk)


class DeploymentKey(models.Model):
    """A key that belongs to no workspace, sealed under the deployment's master key."""

    id = models.UUIDField(primary_key=True, editable=False)
    purpose = models.CharField(max_length=12)
    wrapped = models.BinaryField(max_length=80)
    created_at = models.DateTimeField()
    # How often it was given a new secret, and the one before until nothing is hashed under it any more (PL-12).
    generation = models.PositiveIntegerField(default=0, db_default=0)
    previous = models.BinaryField(max_length=80, null=True)
    renewed_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.pk)


class RetiredKey(TenantModel):
    """A key whose content is gone, committed together with that: it is to be destroyed in the other database."""

    key_id = models.UUIDField()

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops a key from being retired twice by content that two transactions gave up.
            models.UniqueConstraint(fields=["workspace", "key_id"], name="a_key_retires_once")
        ]

    def __str__(self) -> str:
        return str(self.key_id)
