"""Envelope encryption and keyed hashes (PL-12).

A body is sealed under a data key; the data key is wrapped by the key of the handle that it names, else by the
workspace's; both of those end at the deployment's master key. Only workspace keys stay unwrapped in a process.

Keys stand in a database that commits apart from the content's. A new key is there before the content that needs it; a
key goes only after the content that gave it up has gone (`retire_keys`). A crash between the two leaves a key too many,
which `destroy_retired_keys` finishes, and never content without its key.
"""

import hashlib
import hmac
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Protocol
from uuid import UUID

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from workspaces import coherence
from workspaces.binding import bound
from workspaces.errors import KeyDestroyed, Tampered
from workspaces.hotstore import Name, Seen, name_of
from workspaces.models import HeldKey, RetiredKey, WrappedKey
from workspaces.types import Key, WorkspaceRef, Wrapped

NONCE_BYTES = 12
SEAL_BYTES = NONCE_BYTES + 16
"""How much longer what is sealed is than what it holds: the nonce and the tag."""
KEPT_UNWRAPPED_SECONDS = 60.0

NOTHING_SEEN: Mapping[UUID, Seen] = MappingProxyType({})

_encoder = msgspec.msgpack.Encoder(uuid_format="bytes")
_unwrapped: dict[UUID, tuple[list[Key], float]] = {}


class KeyWrapper(Protocol):
    """Wraps keys under the deployment's master key. A KMS is another class with these methods.

    `is_newest` tells whether something lies under the key that wraps now, and not under one before it.
    """

    def wrap(self, secret: bytes, *, context: bytes) -> bytes: ...

    def unwrap(self, wrapped: bytes, *, context: bytes) -> bytes: ...

    def is_newest(self, wrapped: bytes, *, context: bytes) -> bool: ...


class LocalMasterKey:
    """The master key of this process, from the environment or a key file, and those before it, which only unwrap."""

    def __init__(self, secret: bytes, *previous: bytes) -> None:
        self._key, *self._previous = (Key(id=UUID(int=0), secret=each) for each in (secret, *previous))

    def wrap(self, secret: bytes, *, context: bytes) -> bytes:
        return seal(self._key, secret, context=context)

    def unwrap(self, wrapped: bytes, *, context: bytes) -> bytes:
        for key in (self._key, *self._previous):
            with suppress(Tampered):
                return unseal(key, wrapped, context=context)
        raise Tampered

    def is_newest(self, wrapped: bytes, *, context: bytes) -> bool:
        with suppress(Tampered):
            return bool(unseal(self._key, wrapped, context=context))
        return False


class _Stale(Exception):
    """What was seen of some keys does not fit together: one has a new secret since."""


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


def make_workspace_keys(workspace: WorkspaceRef, *, now: datetime) -> None:
    """Make the encryption key and the hash key of a new workspace, before its row is committed."""
    _make_own_key(workspace, workspace.key_id, "workspace", now)
    make_hash_key(workspace, key_id=workspace.hash_key_id, now=now)


def make_hash_key(workspace: WorkspaceRef, *, key_id: UUID, now: datetime) -> None:
    """Make a key that hashes names of a workspace."""
    _make_own_key(workspace, key_id, "hash", now)


def workspace_key(workspace: WorkspaceRef) -> Key:
    """Give the key that wraps the workspace's data keys."""
    return _of_workspace(workspace, workspace.key_id)[0]


def make_key(workspace: WorkspaceRef, *, key_id: UUID, purpose: str, under: Key, now: datetime) -> Key:
    """Make a key of the workspace, wrapped by another one.

    The database refuses one that is wrapped by a secret which has been replaced: then that is opened anew (PL-12).
    """
    key = Key(id=key_id, secret=os.urandom(32))
    try:
        _keep_key(workspace, key, purpose, under, now)
    except IntegrityError:
        chain = [under.id] if under.id != workspace.key_id else []
        _keep_key(workspace, key, purpose, open_key_anew(workspace, *chain), now)
    return key


def open_key(workspace: WorkspaceRef, *chain: UUID | None, seen: Mapping[UUID, Seen] = NOTHING_SEEN) -> Key:
    """Unwrap the last key of a chain below the workspace's own, outermost first; None is no link.

    Links that were not seen yet are looked for in the hot store, in one call, and in the database of the keys what it
    does not have (WM-19). Where they do not fit together, since one has a new secret, the database is asked for all.
    Raises KeyDestroyed when a link is gone.
    """
    ids = [key_id for key_id in chain if key_id is not None]
    unseen = [key_id for key_id in ids if key_id not in seen]
    seen = {**seen, **dict(zip(unseen, coherence.look_at(list(map(hot_name, unseen))), strict=True))}
    find = {key_id: partial(find_wrapped, workspace, key_id) for key_id in ids}
    links = [_wrapped(hot_name(key_id), seen[key_id], find[key_id]) for key_id in ids]
    try:
        return _opened(workspace, links)
    except _Stale:
        return open_key_anew(workspace, *ids)


def open_key_anew(workspace: WorkspaceRef, *chain: UUID) -> Key:
    """Unwrap the last key of a chain by what the database of the keys says now, past all that is kept."""
    root = find_wrapped(workspace, workspace.key_id)
    keep_unwrapped(workspace.key_id, unwrapped_by_master(root, workspace.id))
    try:
        return _opened(workspace, [find_wrapped(workspace, key_id) for key_id in chain])
    except _Stale as error:
        raise Tampered from error


def root_at(workspace: WorkspaceRef, generation: int) -> Key | None:
    """Give the workspace's key of a generation, where it is kept."""
    keys = _of_workspace(workspace, workspace.key_id)
    return next((key for key in keys if key.generation == generation), None)


def find_wrapped(workspace: WorkspaceRef, key_id: UUID) -> Wrapped:
    """Find a key as the database of the keys has it. Raises KeyDestroyed when it is gone."""
    with bound(workspace.id):
        row = WrappedKey.objects.filter(id=key_id).first()
    if row is None:
        raise KeyDestroyed
    return wrapped_of(row)


def wrapped_of(row: WrappedKey) -> Wrapped:
    """Give a row as a value."""
    return Wrapped(
        id=row.id,
        purpose=row.purpose,
        wrapped_by=row.wrapped_by,
        wrapped=bytes(row.wrapped),
        is_barred=row.barred_by is not None,
        generation=row.generation,
        under=row.under,
        previous=bytes(row.previous or b""),
    )


def hot_name(key_id: UUID) -> Name:
    """Name a wrapped key in the hot store."""
    return name_of("w", key_id.bytes)


def destroy_keys(workspace: WorkspaceRef, *key_ids: UUID | None) -> None:
    """Destroy keys now; whatever they sealed is gone (PR-15)."""
    for key_id in key_ids:
        if key_id is not None:
            with changing_key(workspace, key_id) as row:
                row.delete()


def bar_keys(workspace: WorkspaceRef, *key_ids: UUID, by: UUID) -> None:
    """Let keys open nothing from now on, in every process: what they sealed is being erased (PR-11)."""
    with bound(workspace.id):
        open_ones = list(
            WrappedKey.objects.filter(id__in=key_ids, barred_by=None).values_list("id", flat=True)
        )
    for key_id in open_ones:
        with changing_key(workspace, key_id) as row:
            row.update(barred_by=by)


@contextmanager
def changing_key(workspace: WorkspaceRef, key_id: UUID) -> Iterator[QuerySet[WrappedKey]]:
    """Change the row of a key, alone and in both stores."""
    # The lock first: while it is held nobody lifts the marker.
    with bound(workspace.id), transaction.atomic():
        coherence.lock(hot_name(key_id))
        marked = coherence.begin(hot_name(key_id))
        yield WrappedKey.objects.filter(id=key_id)
    coherence.end(marked)


def retire_keys(workspace: WorkspaceRef, *key_ids: UUID | None) -> None:
    """Give keys up together with what they sealed: they are destroyed as soon as this transaction has committed.

    1. Note them in the content database, in the same transaction.
    2. On commit destroy them in the other one, and then remove the note.
    3. What a crash leaves between is finished by `destroy_retired_keys` of the services.
    """
    rows = [RetiredKey(key_id=key_id) for key_id in key_ids if key_id is not None]
    if rows:
        RetiredKey.objects.bulk_create(rows, ignore_conflicts=True)
        retired = [row.key_id for row in rows]
        transaction.on_commit(lambda: destroy_retired(workspace, retired), robust=True)


def destroy_retired(workspace: WorkspaceRef, key_ids: Sequence[UUID]) -> None:
    """Destroy keys whose content is gone for good, and then forget that they were to be destroyed.

    A key that a legal hold needs waits until the hold has ended (PR-16).
    """
    with bound(workspace.id):
        held = set(HeldKey.objects.filter(key_id__in=key_ids).values_list("key_id", flat=True))
        free = [key_id for key_id in key_ids if key_id not in held]
        destroy_keys(workspace, *free)
        RetiredKey.objects.filter(key_id__in=free).delete()


def keyed_hash(workspace: WorkspaceRef, purpose: str, *parts: str) -> bytes:
    """Hash a name that must not be stored, with the workspace's hash key (HMAC-SHA-256)."""
    return keyed(_of_workspace(workspace, workspace.hash_key_id)[0], purpose, *parts)


def previous_hash(workspace: WorkspaceRef, purpose: str, *parts: str) -> bytes | None:
    """Hash a name with the workspace's hash key before, where there is one that names are kept under (PL-12)."""
    if workspace.previous_hash_key_id is None:
        return None
    try:
        return keyed(_of_workspace(workspace, workspace.previous_hash_key_id)[0], purpose, *parts)
    except KeyDestroyed:
        # It has retired since the caller was let in: nothing is named under it.
        return None


def subkey(workspace: WorkspaceRef, purpose: str) -> bytes:
    """Derive a key for one purpose from the workspace's hash key."""
    return keyed_hash(workspace, "subkey", purpose)


def mac(key: Key, purpose: str, message: bytes) -> bytes:
    """Authenticate a message under a key that is otherwise used for sealing (HMAC-SHA-256 under a derived key)."""
    derived = hmac.new(key.secret, context_of("mac", purpose), hashlib.sha256).digest()
    return hmac.new(derived, message, hashlib.sha256).digest()


def wrap_by_master(secret: bytes, *, context: bytes) -> bytes:
    """Seal a secret of the deployment itself under its master key (PL-12)."""
    return master().wrap(secret, context=context)


def unwrap_by_master(wrapped: bytes, *, context: bytes) -> bytes:
    """Open what `wrap_by_master` sealed for the same context. Raises Tampered."""
    return master().unwrap(wrapped, context=context)


def forget_unwrapped_keys() -> None:
    """Drop the keys that this process keeps unwrapped."""
    _unwrapped.clear()


def keyed(key: Key, purpose: str, *parts: str) -> bytes:
    """Hash some words for a purpose under a key (HMAC-SHA-256)."""
    return hmac.new(key.secret, context_of(purpose, *parts), hashlib.sha256).digest()


def master() -> KeyWrapper:
    """Give what wraps keys under the deployment's master key."""
    return LocalMasterKey(settings.LASTRO_MASTER_KEY, *settings.LASTRO_MASTER_KEYS_PREVIOUS)


def wrap_context(key_id: UUID, workspace_id: UUID | None, purpose: str, generation: int = 0) -> bytes:
    """Write the associated data of a wrapped key."""
    return context_of("key", key_id, workspace_id, purpose, *([generation] if generation else []))


def _make_own_key(workspace: WorkspaceRef, key_id: UUID, purpose: str, now: datetime) -> None:
    wrapped = wrapped_by_master(key_id, workspace.id, purpose)
    with bound(workspace.id):
        WrappedKey.objects.create(id=key_id, purpose=purpose, wrapped=wrapped, created_at=now)


def wrapped_by_master(key_id: UUID, workspace_id: UUID | None, purpose: str) -> bytes:
    """Make a secret, and give it wrapped under the master key."""
    return master().wrap(os.urandom(32), context=wrap_context(key_id, workspace_id, purpose))


def _keep_key(workspace: WorkspaceRef, key: Key, purpose: str, under: Key, now: datetime) -> None:
    wrapped = seal(under, key.secret, context=wrap_context(key.id, workspace.id, purpose))
    with bound(workspace.id):
        WrappedKey.objects.create(
            id=key.id,
            purpose=purpose,
            wrapped_by=under.id,
            under=under.generation,
            wrapped=wrapped,
            created_at=now,
        )


def _of_workspace(workspace: WorkspaceRef, key_id: UUID) -> list[Key]:
    return kept(key_id, workspace.id, partial(find_wrapped, workspace, key_id))


def _opened(workspace: WorkspaceRef, links: Sequence[Wrapped]) -> Key:
    """Open a chain: of each link the secret under which the next one lies."""
    if not links:
        return workspace_key(workspace)
    generations = [link.under for link in links[1:]] + [links[-1].generation]
    root = root_at(workspace, links[0].under)
    if root is None:
        raise _Stale
    key: Key = root
    for link, generation in zip(links, generations, strict=True):
        if link.wrapped_by != key.id or link.is_barred:
            raise KeyDestroyed
        if not link.at(generation):
            raise _Stale
        context = wrap_context(link.id, workspace.id, link.purpose, generation)
        key = Key(link.id, unseal(key, link.at(generation), context=context), generation)
    return key


def _wrapped(name: Name, seen: Seen, find: Callable[[], Wrapped]) -> Wrapped:
    """Give a wrapped key as it was seen in the hot store, else as the database of the keys has it."""
    payload = coherence.served(name, seen, lambda: (0, _encoder.encode(find())))
    return msgspec.msgpack.decode(payload, type=Wrapped)


def kept(key_id: UUID, workspace_id: UUID | None, find: Callable[[], Wrapped]) -> list[Key]:
    """Give an unwrapped key that this process keeps for a while, or unwrap it; after it the one before, if any."""
    found = _unwrapped.get(key_id)
    if found is not None and time.monotonic() < found[1]:
        return found[0]
    name = hot_name(key_id)
    stored = _wrapped(name, coherence.look(name), find)
    return keep_unwrapped(key_id, unwrapped_by_master(stored, workspace_id))


def keep_unwrapped(key_id: UUID, keys: list[Key]) -> list[Key]:
    """Keep a key unwrapped in this process for a while, and give it."""
    _unwrapped[key_id] = keys, time.monotonic() + KEPT_UNWRAPPED_SECONDS
    return keys


def unwrapped_by_master(stored: Wrapped, workspace_id: UUID | None) -> list[Key]:
    """Unwrap a key that lies under the master key; after it the secret before, if any."""
    keys = []
    for generation in (stored.generation, stored.generation - 1):
        if stored.at(generation):
            context = wrap_context(stored.id, workspace_id, stored.purpose, generation)
            secret = master().unwrap(stored.at(generation), context=context)
            keys.append(Key(stored.id, secret, generation))
    return keys
