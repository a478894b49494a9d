"""What stands between a request and the data: erasures, tombstones and legal holds (PR-11, PR-12, PR-16).

The apps below read these rows; `privacy` alone writes them. The sweep takes tombstones out whose time has passed.
"""

import uuid
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models

from workspaces.models.people import Person
from workspaces.models.tenancy import TenantModel


class Tombstone(TenantModel):
    """A handle or a scope that was erased: its keyed hash and when, no content (PR-12)."""

    class Kind(models.TextChoices):
        HANDLE = "handle"
        SCOPE = "scope"

    kind = models.CharField(max_length=8, choices=Kind.choices)
    hash = models.BinaryField(max_length=32)
    hash_key_id = models.UUIDField()
    erased_at = models.DateTimeField()
    due_at = models.DateTimeField()

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops two times of erasure for one name: the later one holds.
            models.UniqueConstraint(fields=["workspace", "kind", "hash"], name="one_tombstone_per_name")
        ]
        indexes = [models.Index(fields=["workspace", "due_at"], name="tombstones_due")]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"


class Hold(TenantModel):
    """A legal hold on a person, or on a conversation or task known by its keyed hash (PR-16)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    profile_id = models.UUIDField(null=True)
    scope_kind = models.CharField(max_length=12, default="")
    scope_hash = models.BinaryField(max_length=32, null=True)
    hash_key_id = models.UUIDField(null=True)
    reason = models.TextField()
    placed_by = models.ForeignKey(Person, null=True, on_delete=models.PROTECT, related_name="+")
    placed_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    lifted_by = models.ForeignKey(Person, null=True, on_delete=models.PROTECT, related_name="+")
    lifted_at = models.DateTimeField(null=True)
    lift_reason = models.TextField(default="")
    # What it kept was let go of, after it had ended.
    settled_at = models.DateTimeField(null=True)

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops a hold on nothing, and one that is on two things.
            models.CheckConstraint(
                condition=models.Q(profile_id__isnull=False, scope_hash__isnull=True)
                | models.Q(profile_id__isnull=True, scope_hash__isnull=False),
                name="a_hold_is_on_one_thing",
            )
        ]
        indexes = [
            # The one that each write asks: nearly always empty.
            models.Index(
                fields=["workspace", "profile_id", "scope_hash"],
                name="holds_that_stand",
                condition=models.Q(settled_at__isnull=True),
            ),
            models.Index(fields=["workspace", "-placed_at"], name="hold_newest"),
        ]

    def __str__(self) -> str:
        return str(self.pk)


class HeldKey(TenantModel):
    """A key that must outlive its content, since a hold kept a version that it opens (PR-16)."""

    key_id = models.UUIDField()
    hold = models.ForeignKey(Hold, on_delete=models.CASCADE, related_name="+", db_index=False)

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops a key from being held once for each of its versions.
            models.UniqueConstraint(fields=["workspace", "hold", "key_id"], name="a_hold_holds_a_key_once")
        ]
        indexes = [models.Index(fields=["workspace", "key_id"], name="holds_of_a_key")]

    def __str__(self) -> str:
        return str(self.key_id)


class Erasure(TenantModel):
    """An erasure as the apps below know it: what it covers, and since when that reads as never written (PR-11)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    profile_ids: Any = ArrayField(models.UUIDField(), default=list)
    handle_ids: Any = ArrayField(models.UUIDField(), default=list)
    # Everybody whom something of it names: their packages hold it too.
    named_profile_ids: Any = ArrayField(models.UUIDField(), default=list)
    scope_hash = models.BinaryField(max_length=32, null=True)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta(TenantModel.Meta):
        pass

    def __str__(self) -> str:
        return str(self.pk)


class ErasedItem(TenantModel):
    """One thing that an erasure removed, and its digest under a key that goes when the erasure ends (PR-13, PR-14)."""

    erasure = models.ForeignKey(Erasure, on_delete=models.CASCADE, related_name="items", db_index=False)
    kind = models.CharField(max_length=20)
    item_id = models.UUIDField()
    digest = models.BinaryField(max_length=32)

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops what a worker erased before it was killed from being counted again.
            models.UniqueConstraint(
                fields=["workspace", "erasure", "kind", "item_id"], name="an_item_is_erased_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.item_id}"
