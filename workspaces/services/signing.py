"""Changing the key that signs receipts and checkpoints (PR-20b)."""

from datetime import UTC, datetime

from django.db import transaction

from workspaces import audit, outside, signing
from workspaces.types import Actor, AuditObject, PublicKey


@transaction.atomic
def rotate_signing_key(*, actor: Actor, now: datetime) -> PublicKey:
    """Retire the signing key and make the next one; what the retired one signed keeps verifying (PR-20b).

    What the retired key says of its successor leaves by the channel of the checkpoints.
    """
    rotation = signing.rotate(now=now)
    key_id = rotation.key.id
    audit.record_outside("signing_key.rotate", actor=actor, now=now, on=AuditObject("signing_key", key_id))
    outside.deliver("signing-key", f"{now.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}-{key_id}", rotation.handover)
    return rotation.key
