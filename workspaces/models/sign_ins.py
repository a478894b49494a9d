"""What a person signs in with beside the password, where they are signed in, and who fails to (PL-4)."""

from datetime import datetime
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models

from workspaces.models.people import Person


class SecondFactor(models.Model):
    """An authenticator app of a person (RFC 6238). Its secret is sealed; it counts once a code has confirmed it."""

    person = models.OneToOneField(Person, primary_key=True, on_delete=models.CASCADE, related_name="+")
    sealed_secret = models.BinaryField()
    began_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(null=True)
    # The step of the last code that was taken: none up to it is taken again.
    last_step = models.BigIntegerField(default=0)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.person_id)


class RecoveryCode(models.Model):
    """A code that stands in for the app once. It is stored hashed."""

    person = models.ForeignKey(Person, on_delete=models.CASCADE, related_name="+")
    code_hash = models.BinaryField(max_length=32)
    used_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.pk)


class OpenIdAccount(models.Model):
    """The account at a provider of OpenID Connect that is a person's, from the first sign-in by it on."""

    person = models.ForeignKey(Person, on_delete=models.CASCADE, related_name="+")
    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    linked_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        constraints = [
            # Stops one account at the provider from being two people.
            models.UniqueConstraint(fields=["issuer", "subject"], name="one_person_per_subject"),
            # Stops a second account, which was given the address of the first, from being the same person.
            models.UniqueConstraint(fields=["issuer", "person"], name="one_subject_per_person"),
        ]

    def __str__(self) -> str:
        return str(self.pk)


class FailingNetwork(models.Model):
    """A network from which sign-ins fail: one address of IPv4, or one /64 of IPv6."""

    network = models.CharField(primary_key=True, max_length=43)
    failures = models.PositiveIntegerField(default=0)
    counted_since = models.DateTimeField()
    locked_until = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.network

    def is_locked(self, now: datetime) -> bool:
        """Tell whether too many failed sign-ins have locked the network for now."""
        return self.locked_until is not None and now < self.locked_until


class StaffSession(AbstractBaseSession):
    """A session of Django's, and beside it what its owner is shown: where from, since when, last seen.

    `id` names it on pages and in the audit, and does not open it.
    """

    id: Any = models.UUIDField(unique=True, editable=False)
    person: Any = models.ForeignKey(Person, null=True, on_delete=models.CASCADE, related_name="+")
    address = models.CharField(max_length=45, blank=True)
    browser = models.CharField(max_length=200, blank=True)
    began_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    class Meta(AbstractBaseSession.Meta):
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.id)

    @classmethod
    def get_session_store_class(cls) -> Any:
        """Give what Django reads and writes sessions with."""
        return import_module(settings.SESSION_ENGINE).SessionStore
