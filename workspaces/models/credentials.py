"""Sources, their keys, and people's tokens (PL-3)."""

import uuid
from datetime import datetime
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models

from workspaces.models.people import Person
from workspaces.models.tenancy import TenantModel


class Source(TenantModel):
    """A system of the company that calls the API. Keys belong to it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField()

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops two sources of one name, which nobody could tell apart in the audit.
            models.UniqueConstraint(fields=["workspace", "name"], name="one_source_per_name")
        ]

    def __str__(self) -> str:
        return self.name


class Credential(TenantModel):
    """What keys and tokens share: an id in clear, a secret as HMAC-SHA-256, an end."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    key_id = models.CharField(max_length=16, unique=True)
    secret_hash = models.BinaryField(max_length=32)
    # Which secret of the deployment's hash key made it (PL-12).
    secret_generation = models.PositiveIntegerField(default=0, db_default=0)
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_on = models.DateField(null=True, blank=True)

    class Meta(TenantModel.Meta):
        abstract = True

    def __str__(self) -> str:
        return self.key_id

    def is_live(self, now: datetime) -> bool:
        """Tell whether the credential opens anything at this moment."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class ApiKey(Credential):
    """A key of a source (`lst_...`), with scopes and, where given, agents and networks."""

    source = models.ForeignKey(Source, on_delete=models.PROTECT, related_name="+")
    scopes: Any = ArrayField(models.CharField(max_length=40))
    agents: Any = ArrayField(models.CharField(max_length=256), default=list, blank=True)
    networks: Any = ArrayField(models.CharField(max_length=64), default=list, blank=True)
    resend = models.BooleanField(default=False)
    made_by = models.ForeignKey(Person, null=True, on_delete=models.PROTECT, related_name="+")
    replaces = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")

    class Meta(Credential.Meta):
        indexes = [models.Index(fields=["workspace", "-created_at"], name="key_newest")]


class PersonalToken(Credential):
    """A token of a person (`lsp_...`) for one workspace and some of that person's permissions."""

    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="+")
    permissions: Any = ArrayField(models.CharField(max_length=40))

    class Meta(Credential.Meta):
        indexes = [models.Index(fields=["workspace", "person"], name="token_of_person")]
