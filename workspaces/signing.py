"""Signing what leaves the database as evidence: receipts and checkpoints (PR-14, PR-20b, PR-22)."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import transaction
from django.utils import timezone

from workspaces import encryption
from workspaces.models import SigningKey
from workspaces.rules import signatures
from workspaces.types import PublicKey


class Rotation(msgspec.Struct, frozen=True):
    """The key that signs from now on, and what the one before it signed about it."""

    key: PublicKey
    handover: dict[str, Any]


def sign(document: Mapping[str, Any]) -> dict[str, Any]:
    """Give a document with `key_id` and `signature` added, by the key that signs now (PR-20b).

    The signature is over the canonical JSON (RFC 8785) of all of it but the signature: texts, booleans, null, lists,
    objects and numbers that a double holds exactly. A document says by a member `kind` what it is, so that no signed
    one passes for another. Raises rfc8785.CanonicalizationError for what has no canonical form.
    """
    key = _current()
    secret = encryption.unwrap_by_master(bytes(key.wrapped), context=context_of(key.id))
    return signatures.signed(document, secret=secret)


def verify(document: Mapping[str, Any], public_keys: Iterable[str]) -> None:
    """Refuse a document that none of these keys (base64 of 32 bytes) has signed as it stands. Raises NotSigned.

    It asks no database, so that a file verifies offline.
    """
    signatures.require_signed(document, public_keys)


def public_keys() -> list[PublicKey]:
    """List the deployment's public keys, retired ones too, oldest first."""
    return [_public(key) for key in SigningKey.objects.order_by("created_at")]


def public_keys_with_current() -> list[PublicKey]:
    """List the same, with a first key made where there was none: for a document that names its own keys."""
    _current()
    return public_keys()


def rotate(*, now: datetime) -> Rotation:
    """Retire the key that signs now and make the next one, in the caller's transaction.

    The retiring key signs, as its last document, one of the kind `signing_key` that names the next.
    """
    with transaction.atomic():
        retiring = SigningKey.objects.select_for_update().get(id=_current().id)
        key = _new_key(now=now)
        handover = sign(
            {"kind": "signing_key", "at": now.isoformat(), "keys": [msgspec.to_builtins(_public(key))]}
        )
        retiring.retired_at = now
        retiring.save(update_fields=["retired_at"])
        key.save(force_insert=True)
    return Rotation(key=_public(key), handover=handover)


def _current() -> SigningKey:
    active = SigningKey.objects.filter(retired_at=None)
    key = active.first()
    if key is None:
        # Two processes may make the deployment's first key at once: the first one stays.
        SigningKey.objects.bulk_create([_new_key(now=timezone.now())], ignore_conflicts=True)
        key = active.get()
    return key


def _new_key(*, now: datetime) -> SigningKey:
    secret = Ed25519PrivateKey.generate()
    public = secret.public_key().public_bytes_raw()
    key_id = signatures.key_id_of(public)
    wrapped = encryption.wrap_by_master(secret.private_bytes_raw(), context=context_of(key_id))
    return SigningKey(id=key_id, public_key=public, wrapped=wrapped, created_at=now)


def context_of(key_id: str) -> bytes:
    """Write the associated data of a signing key's secret."""
    return encryption.context_of("signing key", key_id)


def _public(key: SigningKey) -> PublicKey:
    return PublicKey(
        id=key.id,
        public_key=signatures.encode_key(bytes(key.public_key)),
        valid_from=key.created_at,
        valid_to=key.retired_at,
    )
