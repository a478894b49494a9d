"""Whose account at the provider of OpenID Connect it is (PL-4). What a person may do is said by their roles alone."""

from datetime import datetime

import msgspec
from django.db import transaction

from workspaces import audit
from workspaces.models import OpenIdAccount, Person
from workspaces.services.people import actor_of
from workspaces.types import AuditObject, Origin


class OpenIdClaims(msgspec.Struct, frozen=True):
    """What a verified ID token says of who it is about. An address counts only where the provider has checked it."""

    issuer: str
    subject: str
    verified_email: str = ""


@transaction.atomic
def person_of(*, claims: OpenIdClaims, origin: Origin, now: datetime) -> Person | None:
    """Give the person whose account it is, or None: nobody is made by signing in.

    At the first sign-in the verified address says whose it is, and from then on the provider's id of the account:
    another account that was given the same address later is nobody's.
    """
    linked = OpenIdAccount.objects.filter(issuer=claims.issuer, subject=claims.subject)
    account = linked.select_related("person").first()
    if account is not None:
        return account.person if account.person.is_active else None
    # The row's lock stops two accounts of one address that come at once.
    people = Person.objects.select_for_update().filter(email=claims.verified_email.lower(), is_active=True)
    person = people.first() if claims.verified_email else None
    if person is None or OpenIdAccount.objects.filter(issuer=claims.issuer, person=person).exists():
        return None
    OpenIdAccount.objects.create(issuer=claims.issuer, subject=claims.subject, person=person, linked_at=now)
    on = AuditObject("person", str(person.id))
    audit.record_outside("person.link_openid", actor=actor_of(person, origin), now=now, on=on)
    return person
