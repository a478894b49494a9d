"""Profiles and the handles that name them (PL-6)."""

import uuid

from django.db import models

from workspaces.models.tenancy import TenantModel


class Profile(TenantModel):
    """The person that one or more handles name: an opaque id and a pseudonym for people's eyes."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    pseudonym = models.CharField(max_length=22)
    created_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    # Set while it is erased: from then on nobody finds it (PR-11).
    erasure_id = models.UUIDField(null=True)

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops two people under one pseudonym, however unlikely.
            models.UniqueConstraint(fields=["workspace", "pseudonym"], name="one_profile_per_pseudonym")
        ]
        indexes = [models.Index(fields=["workspace", "-last_seen_at", "-id"], name="profile_last_seen")]

    def __str__(self) -> str:
        return self.pseudonym


class Handle(TenantModel):
    """A handle: its keyed hash and a short hint, never its value. The key of its id wraps what came by it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    profile = models.ForeignKey(Profile, on_delete=models.PROTECT, related_name="handles")
    type = models.CharField(max_length=20)
    hash = models.BinaryField(max_length=32)
    hash_key_id = models.UUIDField()
    hint = models.CharField(max_length=320)
    created_at = models.DateTimeField()
    # Set while it is erased: the same person may come again meanwhile, as a new handle.
    erasure_id = models.UUIDField(null=True)

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops two profiles for one person when their first two writes race.
            models.UniqueConstraint(
                fields=["workspace", "hash"],
                name="one_handle_per_hash",
                condition=models.Q(erasure_id__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return str(self.pk)
