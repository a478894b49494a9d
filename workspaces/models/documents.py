"""The versioned documents of a workspace (PR-2)."""

import uuid
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models

from workspaces.models.people import Person
from workspaces.models.tenancy import TenantModel


class Document(TenantModel):
    """One version of one document. It never changes after it was written."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=40)
    version = models.PositiveIntegerField()
    body: Any = models.JSONField()
    drop: Any = ArrayField(models.CharField(max_length=128), default=list, blank=True)
    reason = models.TextField()
    published_by = models.ForeignKey(Person, null=True, on_delete=models.PROTECT, related_name="+")
    published_at = models.DateTimeField()

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops two publications that both saw the same last version.
            models.UniqueConstraint(fields=["workspace", "kind", "version"], name="one_document_per_version")
        ]

    def __str__(self) -> str:
        return f"{self.kind}@{self.version}"


class DocumentHead(TenantModel):
    """Which version of a kind is live. Its row is what a publication locks."""

    kind = models.CharField(max_length=40)
    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="+")

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops a workspace with two live versions of one kind.
            models.UniqueConstraint(fields=["workspace", "kind"], name="one_live_version_per_kind")
        ]

    def __str__(self) -> str:
        return self.kind
