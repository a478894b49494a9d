"""Envelope encryption and keyed hashes (PL-12).

A body is sealed under a data key; the data key is wrapped by the key of the handle that it names, else by the
workspace's; both of those end at the deployment's master key. Only workspace keys stay unwrapped in a process.
"""

import hashlib
import hmac
import os
import time
from datetime import datetime
from typing import Protocol
from uuid import NAMESPACE_URL, UUID, uuid4, uuid5

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings

from workspaces.errors import KeyDestroyed, Tampered
from workspaces.models import WrappedKey
from workspaces.types import Key, WorkspaceRef

NONCE_BYTES = 12
KEPT_UNWRAPPED_SECONDS = 60.0
DEPLOYMENT_HASH_KEY = uuid5(NAMESPACE_URL, "lastro:deployment-hash-key")

_unwrapped: dict[UUID, tuple[Key, float]] = {}


class KeyWrapper(Protocol):
    """Wraps keys under the deployment's master key. A KMS is another class with these two methods."""

    def wrap(self, secret: bytes, *, context: bytes) -> bytes: ...

    def unwrap(self, wrapped: bytes, *, context: bytes) -> bytes: ...


class LocalMasterKey:
    """The master key of this process, from the environment or a key file."""

    def __init__(self, secret: bytes) -> None:
        self._key = Key(id=UUID(int=0), secret=secret)

    def wrap(self, secret: bytes, *, context: bytes) -> bytes:
        return seal(self._key, secret, context=context)

    def unwrap(self, wrapped: bytes, *, context: bytes) -> bytes:
        return unseal(self._key, wrapped, context=context)


def context_of(*parts: object) -> bytes:
    """Write the associated data of a ciphertext so that no two places give the same bytes."""
    return msgspec.json.encode([str(part) for part in parts])


def seal(key: Key, plain: bytes, *, context: bytes) -> bytes:
    """Encrypt with AES-256-GCM under a random nonce, bound to `context`."""
    nonce = os.urandom(NONCE_BYTES)
    return nonce + AESGCM(key.secret).encrypt(nonce, plain, context)


def unseal(key: Key, sealed: bytes, *, context: bytes) -> bytes:
    """Decrypt what `seal` gave for the same context, or raise `Tampered`."""
    try:
        return AESGCM(key.secret).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], context)
    except (InvalidTag, ValueError) as error:
        raise Tampered from error


def make_workspace_keys(workspace_id: UUID, *, now: datetime) -> tuple[UUID, UUID]:
    """Make the encryption key and the hash key of a new workspace; give their ids."""
    ids = uuid4(), uuid4()
    for key_id, purpose in zip(ids, ("workspace", "hash"), strict=True):
        _make_under_master(key_id, workspace_id=workspace_id, purpose=purpose, now=now)
    return ids


def workspace_key(workspace: WorkspaceRef) -> Key:
    """Give the key that wraps the workspace's data keys."""
    return _kept(workspace.key_id)


def make_key(workspace: WorkspaceRef, *, key_id: UUID, purpose: str, under: Key, now: datetime) -> Key:
    """Make a key of the workspace, wrapped by another one."""
    key = Key(id=key_id, secret=os.urandom(32))
    wrapped = seal(under, key.secret, context=_wrap_context(key_id, workspace.id, purpose))
    WrappedKey.objects.create(
        id=key_id,
        workspace_id=workspace.id,
        purpose=purpose,
        wrapped_by=under.id,
        wrapped=wrapped,
        created_at=now,
    )
    return key


def open_key(workspace: WorkspaceRef, *chain: UUID | None) -> Key:
    """Unwrap the last key of a chain below the workspace's own, outermost first, in one query; None is no link.

    Raises KeyDestroyed when a link is gone.
    """
    links = [key_id for key_id in chain if key_id is not None]
    rows = WrappedKey.objects.filter(workspace_id=workspace.id).in_bulk(links)
    key = workspace_key(workspace)
    for key_id in links:
        row = rows.get(key_id)
        if row is None or row.wrapped_by != key.id:
            raise KeyDestroyed
        context = _wrap_context(key_id, workspace.id, row.purpose)
        key = Key(id=key_id, secret=unseal(key, bytes(row.wrapped), context=context))
    return key


def destroy_keys(workspace: WorkspaceRef, *key_ids: UUID | None) -> None:
    """Destroy keys; whatever they sealed is gone (PR-15)."""
    WrappedKey.objects.filter(id__in=[key for key in key_ids if key], workspace_id=workspace.id).delete()


def keyed_hash(workspace: WorkspaceRef, purpose: str, *parts: str) -> bytes:
    """Hash a name that must not be stored, with the workspace's hash key (HMAC-SHA-256)."""
    return _hash(_kept(workspace.hash_key_id), purpose, *parts)


def deployment_hash(purpose: str, *parts: str) -> bytes:
    """Hash something that belongs to no workspace, such as the secret of a key (HMAC-SHA-256)."""
    return _hash(_deployment_key(), purpose, *parts)


def subkey(workspace: WorkspaceRef, purpose: str) -> bytes:
    """Derive a key for one purpose from the workspace's hash key."""
    return keyed_hash(workspace, "subkey", purpose)


def mac(key: Key, purpose: str, message: bytes) -> bytes:
    """Authenticate a message under a key that is otherwise used for sealing (HMAC-SHA-256 under a derived key)."""
    derived = hmac.new(key.secret, context_of("mac", purpose), hashlib.sha256).digest()
    return hmac.new(derived, message, hashlib.sha256).digest()


def forget_unwrapped_keys() -> None:
    """Drop the keys that this process keeps unwrapped."""
    _unwrapped.clear()


def _hash(key: Key, purpose: str, *parts: str) -> bytes:
    return hmac.new(key.secret, context_of(purpose, *parts), hashlib.sha256).digest()


def _master() -> KeyWrapper:
    return LocalMasterKey(settings.LASTRO_MASTER_KEY)


def _wrap_context(key_id: UUID, workspace_id: UUID | None, purpose: str) -> bytes:
    return context_of("key", key_id, workspace_id, purpose)


def _make_under_master(key_id: UUID, *, workspace_id: UUID | None, purpose: str, now: datetime) -> None:
    wrapped = _master().wrap(os.urandom(32), context=_wrap_context(key_id, workspace_id, purpose))
    row = WrappedKey(
        id=key_id,
        workspace_id=workspace_id,
        purpose=purpose,
        wrapped_by=None,
        wrapped=wrapped,
        created_at=now,
    )
    # Two processes may make the deployment's key at once: the first one stays.
    WrappedKey.objects.bulk_create([row], ignore_conflicts=True)


def _deployment_key() -> Key:
    try:
        return _kept(DEPLOYMENT_HASH_KEY)
    except KeyDestroyed:
        from django.utils import timezone

        _make_under_master(DEPLOYMENT_HASH_KEY, workspace_id=None, purpose="hash", now=timezone.now())
        return _kept(DEPLOYMENT_HASH_KEY)


def _kept(key_id: UUID) -> Key:
    found = _unwrapped.get(key_id)
    if found is not None and time.monotonic() < found[1]:
        return found[0]
    row = WrappedKey.objects.filter(id=key_id, wrapped_by=None).first()
    if row is None:
        raise KeyDestroyed
    secret = _master().unwrap(
        bytes(row.wrapped), context=_wrap_context(key_id, row.workspace_id, row.purpose)
    )
    key = Key(id=key_id, secret=secret)
    _unwrapped[key_id] = key, time.monotonic() + KEPT_UNWRAPPED_SECONDS
    return key
