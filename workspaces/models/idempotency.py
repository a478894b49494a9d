"""Answers that are remembered for a request that is sent again (PL-10)."""

import uuid
from typing import Any

from django.db import models

from workspaces.models.tenancy import TenantModel


class RememberedAnswer(TenantModel):
    """The answer to one Idempotency-Key of one caller, without content, for 24 hours."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    key_hash = models.BinaryField(max_length=32)
    body_hash = models.BinaryField(max_length=32)
    hash_key_id = models.UUIDField(null=True)
    status = models.PositiveSmallIntegerField(null=True)
    answer: Any = models.JSONField(null=True)
    made_at = models.DateTimeField(db_index=True)

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops the second of two equal requests that race: it waits for the first and then sees its answer.
            models.UniqueConstraint(fields=["workspace", "key_hash"], name="one_answer_per_idempotency_key")
        ]

    def __str__(self) -> str:
        return str(self.pk)
