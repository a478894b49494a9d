"""Changes that are asked for, who approved them, and where that takes two people (PR-2, PR-2b)."""

import uuid
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models

from workspaces.models.documents import Document
from workspaces.models.people import Person
from workspaces.models.tenancy import TenantModel


class FourEyes(TenantModel):
    """What takes the approval of a second person in a workspace; without a row, nothing does.

    `kinds` are kinds of document, and `erasure`. `version` counts the changes, so that one made from an older state
    is refused.
    """

    kinds: Any = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    version = models.PositiveIntegerField(default=0)

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops two first changes at once.
            models.UniqueConstraint(fields=["workspace"], name="one_four_eyes_per_workspace")
        ]

    def __str__(self) -> str:
        return ", ".join(self.kinds)


class ChangeRequest(TenantModel):
    """A change that somebody asks for: what, why, over what, and what became of it.

    Its kind is a kind of document, `four-eyes` or `roles`. Every change that takes a second person is one, and it is
    the only way for such a change.
    """

    class Status(models.TextChoices):
        PROPOSED = "proposed"
        SCHEDULED = "scheduled"
        PUBLISHED = "published"
        DENIED = "denied"
        WITHDRAWN = "withdrawn"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=40)
    body: Any = models.JSONField()
    drop: Any = ArrayField(models.CharField(max_length=128), default=list, blank=True)
    replaces = models.PositiveIntegerField()
    reason = models.TextField()
    status = models.CharField(max_length=20, choices=Status.choices, default=Status.PROPOSED)
    author = models.ForeignKey(Person, null=True, on_delete=models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField()
    publish_at = models.DateTimeField(null=True, blank=True)
    # Who said that it be published: at once, or at `publish_at`.
    publisher = models.ForeignKey(Person, null=True, on_delete=models.PROTECT, related_name="+")
    # Who denied or withdrew it or broke the glass for it, and why.
    settled_by = models.ForeignKey(Person, null=True, on_delete=models.PROTECT, related_name="+")
    settled_at = models.DateTimeField(null=True, blank=True)
    settled_reason = models.TextField(default="", blank=True)
    is_glass_broken = models.BooleanField(default=False)
    # The code of the refusal that a scheduled publication met.
    failure = models.CharField(max_length=40, default="", blank=True)
    published = models.OneToOneField(Document, null=True, on_delete=models.PROTECT, related_name="+")

    class Meta(TenantModel.Meta):
        indexes = [
            models.Index(fields=["workspace", "kind", "-proposed_at"], name="change_newest"),
            models.Index(
                fields=["workspace", "-proposed_at"],
                condition=models.Q(status__in=["proposed", "scheduled"]),
                name="change_open",
            ),
            models.Index(
                fields=["publish_at"], condition=models.Q(status="scheduled"), name="change_scheduled"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} over {self.replaces}"


class Approval(TenantModel):
    """A person approved one content of a request; when the content is another, it counts for nothing."""

    request = models.ForeignKey(ChangeRequest, on_delete=models.PROTECT, related_name="approvals")
    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="+")
    digest = models.CharField(max_length=64)
    reason = models.TextField(default="", blank=True)
    approved_at = models.DateTimeField()

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops a person who approves twice at once.
            models.UniqueConstraint(
                fields=["workspace", "request", "person", "digest"], name="one_approval_per_content"
            )
        ]

    def __str__(self) -> str:
        return str(self.pk)
