"""The raw bytes that records are about: beside the record, and above 64 KiB in the blob store (CA-4)."""

import uuid

from django.db import models

from assembly.models.graph import Graph, GraphRecord
from workspaces.models import TenantModel


class Payload(TenantModel):
    """The result of an artifact, or arguments too large to stand in their record: sealed here or in a blob.

    Payloads of one graph that say the same share a blob.
    """

    class Role(models.TextChoices):
        RESULT = "result"
        ARGUMENTS = "arguments"

    class State(models.TextChoices):
        AWAITED = "awaited"
        STORED = "stored"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    graph = models.ForeignKey(Graph, on_delete=models.CASCADE, related_name="+", db_index=False)
    record = models.ForeignKey(GraphRecord, on_delete=models.CASCADE, related_name="+", db_index=False)
    role = models.CharField(max_length=9, choices=Role.choices, default=Role.RESULT)
    state = models.CharField(max_length=7, choices=State.choices, default=State.AWAITED)
    size_bytes = models.PositiveBigIntegerField()
    media_type = models.CharField(max_length=256)
    # Of the SHA-256, under the graph's data key: the address of the content, which no other subject's shares.
    address = models.BinaryField(max_length=32)
    body = models.BinaryField(null=True)
    # The name in the blob store, and the key of the blob sealed under the graph's data key.
    blob = models.CharField(max_length=200, default="")
    blob_key = models.BinaryField(null=True)

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops two rows for one payload of one record.
            models.UniqueConstraint(fields=["record", "role"], name="one_payload_per_role"),
            # Stops a payload that is said to be stored and is nowhere.
            models.CheckConstraint(
                condition=~models.Q(state="stored")
                | models.Q(body__isnull=False)
                | (models.Q(blob_key__isnull=False) & ~models.Q(blob="")),
                name="a_stored_payload_is_somewhere",
            ),
        ]
        indexes = [
            models.Index(fields=["graph", "address"], name="payloads_of_an_address"),
            models.Index(
                fields=["workspace", "blob"], name="payloads_in_blobs", condition=~models.Q(blob="")
            ),
        ]

    def __str__(self) -> str:
        return str(self.pk)


class LooseBlob(TenantModel):
    """A name in the blob store that no payload vouches for: not yet, or not any more.

    It is committed before the first byte of the blob is written, and goes with the commit of the payload that takes the
    blob. So nothing in the store is ever unknown, whenever a process ends.
    """

    name = models.CharField(max_length=200, db_collation="C")
    # From when on the blob may be removed: until then somebody may still be writing it.
    due_at = models.DateTimeField()

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops a payload from taking a blob that another one has given up.
            models.UniqueConstraint(fields=["workspace", "name"], name="a_blob_is_loose_once")
        ]
        indexes = [models.Index(fields=["workspace", "due_at"], name="loose_blobs_due")]

    def __str__(self) -> str:
        return self.name
