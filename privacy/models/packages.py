"""Subject packages: a run for each, and its zip in sealed chunks (PR-18, PR-19)."""

import uuid
from datetime import datetime
from typing import Any

from django.db import models

from workspaces.models import Profile, TenantModel


class PackageRun(TenantModel):
    """One package of one person: who asked, how far it is, and what it holds, by name, count and digest.

    `attempts` numbers the claims: a worker whose claim another one has taken over writes nothing more. `chunks` are
    those that are stored now. The token of the link is kept as its SHA-256 alone.
    """

    class Status(models.TextChoices):
        WAITING = "waiting"
        BUILDING = "building"
        READY = "ready"
        FAILED = "failed"
        EXPIRED = "expired"
        REVOKED = "revoked"

    OPEN = (Status.WAITING, Status.BUILDING)
    ENDED = (Status.FAILED, Status.EXPIRED, Status.REVOKED)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    profile = models.ForeignKey(Profile, on_delete=models.PROTECT, related_name="+", db_index=False)
    asked_by = models.CharField(max_length=120)
    reason = models.TextField(blank=True)
    language = models.CharField(max_length=10, blank=True, default="")
    asked_at = models.DateTimeField()
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    claimed_until = models.DateTimeField(null=True)
    step = models.CharField(max_length=40, blank=True)
    data_key_id = models.UUIDField(null=True)
    chunks = models.PositiveIntegerField(default=0)
    size_bytes = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    files: Any = models.JSONField(default=list)
    built_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    link = models.PositiveIntegerField(default=0)
    token_hash = models.BinaryField(max_length=32, null=True)
    downloads = models.PositiveIntegerField(default=0)

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops two workers from building for one person at once: who asks meanwhile joins the run.
            models.UniqueConstraint(
                fields=["workspace", "profile"],
                condition=models.Q(status__in=("waiting", "building")),
                name="one_open_package_per_profile",
            ),
            # Stops a link that opens two packages, and is how a link is found.
            models.UniqueConstraint(fields=["token_hash"], name="one_package_per_link"),
            # Stops a package with a link that is not there, and a link without a package.
            models.CheckConstraint(
                condition=models.Q(status="ready", token_hash__isnull=False, expires_at__isnull=False)
                | (~models.Q(status="ready") & models.Q(token_hash__isnull=True)),
                name="only_a_ready_package_has_a_link",
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "profile", "-asked_at"], name="packages_of_profile"),
            models.Index(fields=["workspace", "-asked_at", "-id"], name="packages_newest"),
            models.Index(
                fields=["workspace", "claimed_until"],
                condition=models.Q(status__in=("waiting", "building")),
                name="packages_to_build",
            ),
            models.Index(
                fields=["workspace", "expires_at"],
                condition=models.Q(status="ready"),
                name="packages_to_expire",
            ),
            models.Index(
                fields=["workspace"],
                condition=models.Q(status__in=("failed", "expired", "revoked"), chunks__gt=0),
                name="packages_to_empty",
            ),
        ]

    def __str__(self) -> str:
        return str(self.pk)

    def status_at(self, now: datetime) -> str:
        """Give the status as it counts at a moment: expired is expired, whether or not the sweep ran (PR-20)."""
        is_over = self.status == self.Status.READY and self.expires_at is not None and self.expires_at <= now
        return str(self.Status.EXPIRED if is_over else self.status)


class PackageChunk(TenantModel):
    """64 KiB of a package's zip, sealed under its own key, and bound to the run, the place and the end (PL-12)."""

    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(PackageRun, on_delete=models.PROTECT, related_name="+", db_index=False)
    index = models.PositiveIntegerField()
    sealed = models.BinaryField()

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops two workers from storing the same place of one package.
            models.UniqueConstraint(fields=["run", "index"], name="one_chunk_per_place")
        ]

    def __str__(self) -> str:
        return f"{self.run_id}/{self.index}"
