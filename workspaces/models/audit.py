"""The audit chains: one per workspace and one of the deployment (PR-21, PR-22).

Entries are append-only: a trigger refuses UPDATE, DELETE and TRUNCATE to everybody.
"""

import uuid
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models

from workspaces.models.tenancy import TenantModel


class ChainedEntry(models.Model):
    """One governance act, hashed together with the entry before it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    seq = models.PositiveBigIntegerField()
    at = models.DateTimeField()
    act = models.CharField(max_length=60)
    actor_kind = models.CharField(max_length=10)
    actor_id = models.CharField(max_length=64)
    actor_name = models.CharField(max_length=320)
    actor_roles: Any = ArrayField(models.CharField(max_length=20), default=list)
    address = models.CharField(max_length=64)
    request_id = models.CharField(max_length=64)
    object_kind = models.CharField(max_length=40)
    object_id = models.CharField(max_length=128)
    reason = models.TextField(default="")
    result = models.CharField(max_length=20)
    facts: Any = models.JSONField()
    previous_hash = models.BinaryField(max_length=32)
    hash = models.BinaryField(max_length=32)

    class Meta:
        abstract = True
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.act} #{self.seq}"


class ChainHead(models.Model):
    """The last entry of a chain, where the chain begins, and what the last verification found.

    A writer locks the row. The base is the last of the entries that were removed, with the signed checkpoint that
    stands for them; only the function that removes them moves it (a trigger refuses anybody else but the owner).
    """

    seq = models.PositiveBigIntegerField(default=0)
    hash = models.BinaryField(max_length=32, default=bytes(32))
    base_seq = models.PositiveBigIntegerField(default=0, db_default=0)
    base_hash = models.BinaryField(max_length=32, default=bytes(32), db_default=bytes(32))
    base_checkpoint: Any = models.JSONField(null=True)
    verified_at = models.DateTimeField(null=True)
    verified_seq = models.PositiveBigIntegerField(default=0, db_default=0)
    finding = models.TextField(default="", db_default="")
    # When a checkpoint of it was made last, or withheld.
    checkpoint_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True
        default_permissions = ()

    def __str__(self) -> str:
        return f"#{self.seq}"


class AuditEntry(ChainedEntry, TenantModel):
    """An act inside a workspace."""

    class Meta(ChainedEntry.Meta):
        constraints = [
            # Stops a fork of the chain: two entries after the same one.
            models.UniqueConstraint(fields=["workspace", "seq"], name="one_audit_entry_per_seq")
        ]
        indexes = [
            models.Index(fields=["workspace", "act", "-seq"], name="audit_by_act"),
            models.Index(fields=["workspace", "object_kind", "object_id", "-seq"], name="audit_by_object"),
            models.Index(fields=["workspace", "actor_id", "-seq"], name="audit_by_actor"),
        ]


class AuditHead(ChainHead, TenantModel):
    """The head of a workspace's chain."""

    class Meta(ChainHead.Meta):
        constraints = [
            # Stops two heads, and so two chains, of one workspace.
            models.UniqueConstraint(fields=["workspace"], name="one_audit_head_per_workspace")
        ]


class DeploymentAuditEntry(ChainedEntry):
    """An act outside every workspace, such as a failed sign-in."""

    class Meta(ChainedEntry.Meta):
        constraints = [
            # Stops a fork of the deployment's chain.
            models.UniqueConstraint(fields=["seq"], name="one_deployment_audit_entry_per_seq")
        ]


class DeploymentAuditHead(ChainHead):
    """The head of the deployment's chain: one row, with id 1."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)

    class Meta(ChainHead.Meta):
        constraints = [
            # Stops a second head of the deployment's chain.
            models.CheckConstraint(condition=models.Q(id=1), name="one_deployment_audit_head")
        ]
