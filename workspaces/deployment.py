"""The deployment's own hash key: for what belongs to no workspace, or is asked before one is known (PL-12)."""

from uuid import NAMESPACE_URL, UUID, uuid5

from django.utils import timezone

from workspaces import encryption
from workspaces.errors import KeyDestroyed
from workspaces.models import DeploymentKey
from workspaces.types import Key, Wrapped

HASH_KEY: UUID = uuid5(NAMESPACE_URL, "lastro:deployment-hash-key")


def mac(purpose: str, message: bytes) -> bytes:
    """Authenticate what only this deployment may have said (HMAC-SHA-256)."""
    return encryption.mac(_keys()[0], purpose, message)


def hashed(purpose: str, *parts: str) -> bytes:
    """Hash something that belongs to no workspace, such as the name at a failed sign-in (HMAC-SHA-256)."""
    return encryption.keyed(_keys()[0], purpose, *parts)


def hashed_at(generation: int, purpose: str, *parts: str) -> bytes | None:
    """Hash it under the secret of a generation; None where that is gone.

    A process that does not know a newer secret yet asks for it.
    """
    known = _keys()
    if generation > known[0].generation:
        known = encryption.keep_unwrapped(HASH_KEY, encryption.unwrapped_by_master(_stored(), None))
    key = next((key for key in known if key.generation == generation), None)
    return encryption.keyed(key, purpose, *parts) if key is not None else None


def generation() -> int:
    """Give the generation of the secret that hashes now, as far as this process knows."""
    return _keys()[0].generation


def wrapped_of(row: DeploymentKey) -> Wrapped:
    """Give a row as a value."""
    return Wrapped(
        id=row.id,
        purpose=row.purpose,
        wrapped_by=None,
        wrapped=bytes(row.wrapped),
        generation=row.generation,
        previous=bytes(row.previous or b""),
    )


def _keys() -> list[Key]:
    try:
        return encryption.kept(HASH_KEY, None, _stored)
    except KeyDestroyed:
        _make()
        return encryption.kept(HASH_KEY, None, _stored)


def _make() -> None:
    wrapped = encryption.wrapped_by_master(HASH_KEY, None, "hash")
    row = DeploymentKey(id=HASH_KEY, purpose="hash", wrapped=wrapped, created_at=timezone.now())
    # Two processes may make the deployment's key at once: the first one stays.
    DeploymentKey.objects.bulk_create([row], ignore_conflicts=True)


def _stored() -> Wrapped:
    row = DeploymentKey.objects.filter(id=HASH_KEY).first()
    if row is None:
        raise KeyDestroyed
    return wrapped_of(row)
