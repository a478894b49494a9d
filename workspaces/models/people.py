"""People, their roles in a workspace, and invitations (PL-2, PL-4)."""

import uuid
from datetime import datetime
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import Group, PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.db import models

from workspaces.models.tenancy import TenantModel


class PersonManager(BaseUserManager["Person"]):
    """People are made by an invitation or by `create_workspace`."""

    def create_user(self, *, email: str, name: str, password: str, joined_at: datetime) -> "Person":
        """Make a person with a password; the e-mail address is kept in lower case."""
        person = self.model(email=email.lower(), name=name, joined_at=joined_at)
        person.set_password(password)
        person.save(using=self._db)
        return person

    def get_by_natural_key(self, username: str | None) -> "Person":
        return self.get(email=(username or "").lower())


class Person(AbstractBaseUser, PermissionsMixin):
    """A member of staff. Nobody is above the roles: there is no superuser."""

    is_superuser = None

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = models.EmailField(unique=True)
    name = models.CharField(max_length=120)
    is_active = models.BooleanField(default=True)
    joined_at = models.DateTimeField()
    time_zone = models.CharField(max_length=64, default="UTC")
    language = models.CharField(max_length=10, blank=True, default="")
    failed_sign_ins = models.PositiveSmallIntegerField(default=0)
    locked_until = models.DateTimeField(null=True, blank=True)

    objects = PersonManager()

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS = ["name"]

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.email

    def is_locked(self, now: datetime) -> bool:
        """Tell whether too many failed sign-ins have locked the account for now (PL-4)."""
        return self.locked_until is not None and now < self.locked_until

    @property
    def is_staff(self) -> bool:
        return False


class Role(TenantModel):
    """One role of one workspace: the group whose object permissions are the rights of the role."""

    role = models.CharField(max_length=20)
    group = models.OneToOneField(Group, on_delete=models.PROTECT, related_name="workspace_role")

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops two groups of one role when a workspace is made twice at once.
            models.UniqueConstraint(fields=["workspace", "role"], name="one_group_per_role")
        ]

    def __str__(self) -> str:
        return self.role


class Membership(TenantModel):
    """A person belongs to a workspace, with the roles that the groups say."""

    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="+")
    joined_at = models.DateTimeField()

    class Meta(TenantModel.Meta):
        constraints = [
            # Stops an invitation that is accepted twice at once.
            models.UniqueConstraint(fields=["workspace", "person"], name="one_membership_per_person")
        ]

    def __str__(self) -> str:
        return str(self.pk)


class Invitation(TenantModel):
    """A link that makes somebody a member, once, until it expires. Its token is stored hashed."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = models.EmailField()
    roles: Any = ArrayField(models.CharField(max_length=20))
    token_hash = models.BinaryField(max_length=32, unique=True)
    # The approved request of a link to roles that take a second person (PR-2b).
    request = models.ForeignKey("ChangeRequest", null=True, on_delete=models.PROTECT, related_name="+")
    invited_by = models.ForeignKey(Person, null=True, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)

    class Meta(TenantModel.Meta):
        indexes = [models.Index(fields=["workspace", "-made_at"], name="invitation_newest")]

    def __str__(self) -> str:
        return str(self.pk)
