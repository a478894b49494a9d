"""Wrapped keys (PL-12). No foreign key leads here or away: this table is to live in a database of its own."""

import uuid

from django.db import models


class WrappedKey(models.Model):
    """A key, sealed under the key that `wrapped_by` names (null: the deployment's master key).

    A handle's key has the handle's id. Destroying a row makes everything below it unreadable.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace_id = models.UUIDField(null=True)
    purpose = models.CharField(max_length=12)
    wrapped_by = models.UUIDField(null=True)
    wrapped = models.BinaryField(max_length=80)
    created_at = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.pk)
