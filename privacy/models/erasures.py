"""Requests for erasure and their steps (PR-9 to PR-17)."""

import uuid
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models

from workspaces.models import Erasure, TenantModel


class ErasureRequest(TenantModel):
    """What was asked to be erased, by ids and keyed hashes, and what became of it. Its id is its erasure's too."""

    class Status(models.TextChoices):
        RECEIVED = "received"
        VERIFIED = "verified"
        APPROVED = "approved"
        RUNNING = "running"
        COMPLETED = "completed"
        REFUSED = "refused"
        FAILED = "failed"

    class Target(models.TextChoices):
        PROFILE = "profile"
        HANDLE = "handle"
        CONVERSATION = "conversation"
        TASK = "task"
        OBJECT = "object"
        WORKSPACE = "workspace"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    number = models.PositiveIntegerField()
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.RECEIVED)
    target = models.CharField(max_length=12, choices=Target.choices)
    profile_id = models.UUIDField(null=True)
    handle_ids: Any = ArrayField(models.UUIDField(), default=list)
    scope_hash = models.BinaryField(max_length=32, null=True)
    hash_key_id = models.UUIDField()
    # What the scope was named under the hash key before, while there were two: a backup may have it by that (PL-12).
    scope_hash_before = models.BinaryField(max_length=32, null=True)
    reason = models.TextField(default="")
    refusal = models.CharField(max_length=24, default="")
    duplicate_of = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    regime = models.CharField(max_length=8)
    due_on = models.DateField()
    extended_on = models.DateField(null=True)
    # The last day on which the privacy role was told that it is late.
    reminded_on = models.DateField(null=True)
    asked_by_kind = models.CharField(max_length=10)
    asked_by_id = models.CharField(max_length=64)
    asked_by = models.CharField(max_length=320)
    decided_by = models.CharField(max_length=320, default="")
    requested_at = models.DateTimeField()
    verified_at = models.DateTimeField(null=True)
    approved_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    # Which worker is at it, and until when nobody else takes it up.
    claimed_until = models.DateTimeField(null=True)
    erasure = models.OneToOneField(Erasure, null=True, on_delete=models.PROTECT, related_name="request")
    erased: Any = models.JSONField(default=dict)
    receipt: Any = models.JSONField(null=True)
    receipt_hash = models.CharField(max_length=64, default="")

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops two requests of one number, which people quote.
            models.UniqueConstraint(fields=["workspace", "number"], name="one_erasure_per_number"),
        ]
        indexes = [
            models.Index(fields=["workspace", "due_on", "id"], name="erasure_by_due_date"),
            models.Index(fields=["workspace", "-requested_at", "-id"], name="erasure_newest"),
            models.Index(
                fields=["workspace", "due_on"],
                name="open_erasures_by_due_date",
                condition=models.Q(ended_at__isnull=True),
            ),
            models.Index(
                fields=["workspace", "claimed_until"],
                name="erasures_to_run",
                condition=models.Q(status__in=["approved", "running"]),
            ),
        ]

    def __str__(self) -> str:
        return self.reference

    @property
    def reference(self) -> str:
        """Give the name that people quote."""
        return f"ER-{self.requested_at.year}-{self.number:04d}"

    @property
    def target_id(self) -> str:
        """Name the target by an id that says nothing: of a scope by its keyed hash; empty where it names nobody."""
        if self.scope_hash is not None:
            return bytes(self.scope_hash).hex()
        if self.target == self.Target.WORKSPACE:
            return str(self.workspace_id)
        is_handle = self.target == self.Target.HANDLE and self.handle_ids
        found = self.handle_ids[0] if is_handle else self.profile_id
        return str(found or "")

    @property
    def is_open(self) -> bool:
        """Tell whether it has not ended."""
        return self.ended_at is None


class ErasureStep(TenantModel):
    """One step of an erasure: what it is to remove, and whether it has."""

    request = models.ForeignKey(
        ErasureRequest, on_delete=models.CASCADE, related_name="steps", db_index=False
    )
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=24)
    expected = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    began_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops a step from being planned twice by two workers.
            models.UniqueConstraint(fields=["workspace", "request", "position"], name="one_step_per_position")
        ]

    def __str__(self) -> str:
        return self.name
