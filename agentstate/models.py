"""The table of working memory: one row per scope and agent, alive or as its tombstone."""

import uuid
from typing import Any

from django.db import models

from workspaces.models import Handle, Hold, Source, TenantModel


class State(TenantModel):
    """A working memory state. Its body is ciphertext; the names of the fields it holds stand beside it (WM-3).

    When a life ends, the row stays as a tombstone: the keyed hash and the last version, no content (PR-12).
    """

    class Life(models.TextChoices):
        LIVE = "live"
        EXPIRED = "expired"
        DELETED = "deleted"
        ERASED = "erased"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    scope_kind = models.CharField(max_length=12)
    scope_hash = models.BinaryField(max_length=32)
    hash_key_id = models.UUIDField()
    agent = models.CharField(max_length=256)
    life = models.CharField(max_length=8, choices=Life.choices, default=Life.LIVE)
    version = models.PositiveBigIntegerField()
    epoch = models.CharField(max_length=16)
    body = models.BinaryField(null=True)
    data_key_id = models.UUIDField(null=True)
    body_bytes = models.PositiveIntegerField(default=0)
    held: Any = models.JSONField(default=dict)
    type = models.CharField(max_length=40, default="")
    type_version = models.CharField(max_length=256, default="")
    types_document = models.PositiveIntegerField(default=0)
    retention_seconds = models.PositiveIntegerField(default=0)
    handle = models.ForeignKey(Handle, null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    source = models.ForeignKey(Source, null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    recent_writes = models.BinaryField(default=bytes)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    due_at = models.DateTimeField()
    # Set by a trigger at every change, from a sequence that never goes back: what is newer, across lives too.
    change = models.BigIntegerField(default=0, editable=False)
    # Set from the approval of an erasure on, until the row is its tombstone.
    erasure_id = models.UUIDField(null=True)

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops two first writes of one state that race: the second sees the row of the first.
            models.UniqueConstraint(
                fields=["workspace", "scope_hash", "agent"], name="one_state_per_scope_and_agent"
            ),
            # Stops a tombstone with content, and a live state without.
            models.CheckConstraint(
                condition=models.Q(life="live", body__isnull=False, data_key_id__isnull=False)
                | (~models.Q(life="live") & models.Q(body__isnull=True, data_key_id__isnull=True)),
                name="only_a_live_state_has_a_body",
            ),
        ]
        indexes = [
            models.Index(
                fields=["workspace", "handle"],
                name="states_of_a_handle",
                condition=models.Q(life="live"),
            ),
            models.Index(fields=["workspace", "due_at"], name="states_due"),
            models.Index(fields=["workspace", "types_document"], name="states_to_settle"),
            models.Index(fields=["workspace", "agent"], name="states_of_an_agent"),
            models.Index(
                fields=["workspace", "erasure_id"],
                name="states_being_erased",
                condition=models.Q(erasure_id__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return str(self.pk)


class ErasedRead(TenantModel):
    """A source has read an erased state as never written: what it writes from then on is new (PR-12)."""

    # No constraint: a table in partitions has no key that one could lead to.
    state = models.ForeignKey(
        State, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="+", db_index=False)
    read_at = models.DateTimeField()

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops a row for each read: the first after the erasure counts.
            models.UniqueConstraint(fields=["state", "source"], name="one_read_per_source")
        ]

    def __str__(self) -> str:
        return str(self.pk)


class KeptVersion(TenantModel):
    """A version that was overwritten, deleted or expired under a legal hold, as it was stored (PR-16).

    A trigger writes it, so that no way to change a state passes it by.
    """

    hold = models.ForeignKey(Hold, on_delete=models.CASCADE, related_name="+", db_index=False)
    state_id = models.UUIDField()
    scope_kind = models.CharField(max_length=12)
    scope_hash = models.BinaryField(max_length=32)
    hash_key_id = models.UUIDField(null=True)
    agent = models.CharField(max_length=256)
    version = models.PositiveBigIntegerField()
    epoch = models.CharField(max_length=16)
    body = models.BinaryField()
    data_key_id = models.UUIDField()
    handle_id = models.UUIDField(null=True)
    held: Any = models.JSONField()
    type = models.CharField(max_length=40)
    updated_at = models.DateTimeField()
    kept_at = models.DateTimeField()

    class Meta(TenantModel.Meta):
        indexes = [
            models.Index(fields=["workspace", "hold", "id"], name="versions_of_a_hold"),
            models.Index(fields=["workspace", "scope_hash"], name="versions_of_a_scope"),
        ]

    def __str__(self) -> str:
        return f"{self.state_id}@{self.version}"


class SweepRun(TenantModel):
    """One run of the sweep that found something due: what it removed by kind, and what it left (PR-20)."""

    began_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    removed: Any = models.JSONField(default=dict)
    damaged = models.PositiveIntegerField(default=0)
    backlog = models.PositiveIntegerField(default=0)

    class Meta(TenantModel.Meta):
        indexes = [models.Index(fields=["workspace", "-ended_at"], name="sweep_run_newest")]

    def __str__(self) -> str:
        return str(self.pk)
