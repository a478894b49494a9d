"""Giving keys new secrets, and moving what they wrap, while requests go on (PL-12).

A key keeps its id. Its new secret is of the next generation; the one before stays beside it until nothing lies under
it. Each step is one row, in both stores, so that a crash between two steps leaves work for the next run and no loss.
"""

import os
from datetime import datetime
from uuid import UUID

import msgspec

from workspaces import coherence, deployment, encryption
from workspaces.errors import Tampered
from workspaces.models import DeploymentKey, SecondFactor, SigningKey, WrappedKey
from workspaces.types import Key, WorkspaceRef, Wrapped


class _Parent(msgspec.Struct, frozen=True):
    """What wraps a key: the deployment's master key, or a key of the workspace."""

    key: Key | None = None

    @property
    def generation(self) -> int:
        return self.key.generation if self.key else 0

    def wrap(self, secret: bytes, context: bytes) -> bytes:
        if self.key is None:
            return encryption.master().wrap(secret, context=context)
        return encryption.seal(self.key, secret, context=context)

    def unwrap(self, wrapped: bytes, context: bytes) -> bytes:
        if self.key is None:
            return encryption.master().unwrap(wrapped, context=context)
        return encryption.unseal(self.key, wrapped, context=context)


def renew(workspace: WorkspaceRef, key_id: UUID, *, now: datetime) -> bool:
    """Give a key a new secret; the one before still opens what lies under it. Tell whether it was given one.

    A key whose last renewal has not ended, and one that is barred, keeps what it has.
    """
    with encryption.changing_key(workspace, key_id) as rows:
        row = rows.filter(previous=None, barred_by=None).first()
        if row is None:
            return False
        link, parent = encryption.wrapped_of(row), _parent(workspace, row.wrapped_by)
        secret = _secret(workspace, link, link.generation)
        next_one = link.generation + 1
        rows.update(
            generation=next_one,
            wrapped=parent.wrap(os.urandom(32), _context(workspace, link, next_one)),
            previous=parent.wrap(secret, _context(workspace, link, link.generation)),
            under=parent.generation,
            renewed_at=now,
        )
    encryption.forget_unwrapped_keys()
    return True


def rewrap(workspace: WorkspaceRef, key_id: UUID) -> bool:
    """Move a key under the newest secret of the key that wraps it; tell whether it lay under another one."""
    with encryption.changing_key(workspace, key_id) as rows:
        row = rows.first()
        link = encryption.wrapped_of(row) if row is not None else None
        if link is None or _is_moved(workspace, link):
            return False
        rows.update(**_moved(workspace, link))
    encryption.forget_unwrapped_keys()
    return True


def drop_previous(workspace: WorkspaceRef, key_id: UUID) -> bool:
    """Destroy the secret before, where nothing lies under it any more; tell whether it is gone."""
    with encryption.changing_key(workspace, key_id) as rows:
        row = rows.first()
        below = WrappedKey.objects.filter(wrapped_by=key_id, under__lt=row.generation if row else 0)
        is_free = not below.exists()
        if is_free:
            rows.update(previous=None)
    encryption.forget_unwrapped_keys()
    return is_free


def rewrap_deployment_key(key: DeploymentKey) -> bool:
    """Move a key of the deployment under the newest master key, in the caller's transaction; tell whether it moved."""
    link = deployment.wrapped_of(key)
    moved = {
        _column(link, generation): _under_the_newest(
            link.at(generation), _deployment_context(key, generation)
        )
        for generation in _kept(link)
    }
    changed = {column: wrapped for column, wrapped in moved.items() if wrapped is not None}
    if changed:
        coherence.changing(encryption.hot_name(key.id))
        DeploymentKey.objects.filter(id=key.id, generation=key.generation).update(**changed)
    return bool(changed)


def renew_deployment_key(key: DeploymentKey, *, now: datetime) -> bool:
    """Give a key of the deployment a new secret, in the caller's transaction; tell whether it was given one.

    The one before still hashes what names its generation. A key whose last renewal has not ended keeps what it has.
    """
    coherence.changing(encryption.hot_name(key.id))
    next_one = key.generation + 1
    wrapped = encryption.master().wrap(os.urandom(32), context=_deployment_context(key, next_one))
    rows = DeploymentKey.objects.filter(id=key.id, generation=key.generation, previous=None)
    return bool(
        rows.update(generation=next_one, wrapped=wrapped, previous=bytes(key.wrapped), renewed_at=now)
    )


def drop_previous_of_deployment(key: DeploymentKey) -> None:
    """Destroy the secret before of a key of the deployment, in the caller's transaction."""
    coherence.changing(encryption.hot_name(key.id))
    DeploymentKey.objects.filter(id=key.id, generation=key.generation).update(previous=None)


def rewrap_signing_key(key: SigningKey, *, context: bytes) -> bool:
    """Move a signing key under the newest master key; tell whether it lay under another one."""
    wrapped = _under_the_newest(bytes(key.wrapped), context)
    if wrapped is not None:
        SigningKey.objects.filter(id=key.id).update(wrapped=wrapped)
    return wrapped is not None


def rewrap_second_factor(factor: SecondFactor, *, context: bytes) -> bool:
    """Move the secret of a second factor under the newest master key; tell whether it lay under another one."""
    sealed = _under_the_newest(bytes(factor.sealed_secret), context)
    if sealed is not None:
        SecondFactor.objects.filter(person=factor.person_id, began_at=factor.began_at).update(
            sealed_secret=sealed
        )
    return sealed is not None


def _under_the_newest(wrapped: bytes, context: bytes) -> bytes | None:
    wrapper = encryption.master()
    if wrapper.is_newest(wrapped, context=context):
        return None
    return wrapper.wrap(wrapper.unwrap(wrapped, context=context), context=context)


def _is_moved(workspace: WorkspaceRef, link: Wrapped) -> bool:
    if link.wrapped_by is not None:
        return link.under == _parent(workspace, link.wrapped_by).generation
    return all(
        encryption.master().is_newest(link.at(generation), context=_context(workspace, link, generation))
        for generation in _kept(link)
    )


def _moved(workspace: WorkspaceRef, link: Wrapped) -> dict[str, object]:
    parent = _parent(workspace, link.wrapped_by)
    moved = {
        _column(link, generation): parent.wrap(
            _secret(workspace, link, generation), _context(workspace, link, generation)
        )
        for generation in _kept(link)
    }
    return {"under": parent.generation, **moved}


def _column(link: Wrapped, generation: int) -> str:
    return "wrapped" if generation == link.generation else "previous"


def _deployment_context(key: DeploymentKey, generation: int) -> bytes:
    return encryption.wrap_context(key.id, None, key.purpose, generation)


def _secret(workspace: WorkspaceRef, link: Wrapped, generation: int) -> bytes:
    parent = _parent(workspace, link.wrapped_by, at=link.under)
    return parent.unwrap(link.at(generation), _context(workspace, link, generation))


def _kept(link: Wrapped) -> list[int]:
    return [generation for generation in (link.generation, link.generation - 1) if link.at(generation)]


def _context(workspace: WorkspaceRef, link: Wrapped, generation: int) -> bytes:
    return encryption.wrap_context(link.id, workspace.id, link.purpose, generation)


def _parent(workspace: WorkspaceRef, key_id: UUID | None, *, at: int | None = None) -> _Parent:
    """Give what wraps a key, by what the database says now: its newest secret, or that of a generation."""
    if key_id is None:
        return _Parent()
    if key_id == workspace.key_id:
        newest = encryption.open_key_anew(workspace)
        key = newest if at is None else encryption.root_at(workspace, at)
        if key is None:
            raise Tampered
        return _Parent(key)
    link = encryption.find_wrapped(workspace, key_id)
    generation = link.generation if at is None else at
    return _Parent(Key(key_id, _secret(workspace, link, generation), generation))
