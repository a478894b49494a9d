"""Changing the key that signs receipts and checkpoints (PR-20b)."""

from datetime import datetime

from django.db import transaction

from workspaces import audit, signing
from workspaces.types import Actor, AuditObject, PublicKey


@transaction.atomic
def rotate_signing_key(*, actor: Actor, now: datetime) -> PublicKey:
    """Retire the signing key and make the next one; what the retired one signed keeps verifying (PR-20b)."""
    key = signing.rotate(now=now)
    audit.record_outside("signing_key.rotate", actor=actor, now=now, on=AuditObject("signing_key", key.id))
    return key
