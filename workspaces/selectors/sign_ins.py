"""Who has a second factor and who needs one, and where a person is signed in (PL-4)."""

from datetime import datetime
from uuid import UUID

from workspaces import encryption
from workspaces.models import Person, RecoveryCode, SecondFactor, StaffSession
from workspaces.rules.sign_ins import is_second_factor_required


def second_factor(person_id: UUID) -> SecondFactor | None:
    """Give a person's confirmed second factor."""
    return SecondFactor.objects.filter(person=person_id, confirmed_at__isnull=False).first()


def secret_of(factor: SecondFactor) -> str:
    """Open the secret that a code is made from."""
    context = seal_context(factor.person_id)
    return encryption.unwrap_by_master(bytes(factor.sealed_secret), context=context).decode()


def seal_context(person_id: UUID) -> bytes:
    """Write what the secret of a second factor is sealed for."""
    return encryption.context_of("second-factor", person_id)


def unconfirmed_secret(person_id: UUID) -> str:
    """Give the secret that a person is setting up, or nothing where none is."""
    factor = SecondFactor.objects.filter(person=person_id, confirmed_at=None).first()
    return secret_of(factor) if factor is not None else ""


def codes_left(person_id: UUID) -> int:
    """Count the recovery codes that were not used."""
    return RecoveryCode.objects.filter(person=person_id, used_at=None).count()


def roles_anywhere(person: Person) -> set[str]:
    """Give the roles that a person holds in whatever workspace; their groups are named `workspace/role`."""
    return {name.rpartition("/")[2] for name in person.groups.values_list("name", flat=True)}


def needs_second_factor(person: Person) -> bool:
    """Tell whether a person holds a role that needs a second factor, wherever it may be (PL-4)."""
    return is_second_factor_required(roles_anywhere(person))


def with_second_factor(person_ids: list[UUID]) -> set[UUID]:
    """Tell which of these people have a second factor."""
    rows = SecondFactor.objects.filter(person__in=person_ids, confirmed_at__isnull=False)
    return set(rows.values_list("person_id", flat=True))


def sessions_of(person_id: UUID, *, now: datetime) -> list[StaffSession]:
    """List where a person is signed in, the last seen first."""
    return list(StaffSession.objects.filter(person=person_id, expire_date__gt=now).order_by("-seen_at"))
