"""Rotating the keys that wrap keys, level by level, while requests go on (PL-12).

Every function does one bounded batch or one workspace, and repeating it after a crash goes on where that came.
"""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from workspaces import audit, encryption, rewrapping, signing
from workspaces.errors import KeyDestroyed, Tampered
from workspaces.models import DeploymentKey, SecondFactor, SigningKey, WrappedKey
from workspaces.selectors.sign_ins import seal_context
from workspaces.types import Actor, AuditObject, WorkspaceRef

log = logging.getLogger("lastro.workspaces")

BATCH = 200
KEPT_FOR = timedelta(seconds=encryption.KEPT_UNWRAPPED_SECONDS)
"""How long a secret is kept at least after it was replaced: as long as a process may know it."""


def rewrap_deployment(*, actor: Actor, now: datetime) -> int:
    """Move the deployment's keys, signing keys and second factors under the newest master key; give how many."""
    moved = _moved_outside(actor, now)
    encryption.forget_unwrapped_keys()
    return moved


@transaction.atomic
def _moved_outside(actor: Actor, now: datetime) -> int:
    moved = sum(rewrapping.rewrap_deployment_key(key) for key in DeploymentKey.objects.all())
    moved += sum(
        rewrapping.rewrap_signing_key(key, context=signing.context_of(key.id))
        for key in SigningKey.objects.all()
    )
    moved += sum(
        rewrapping.rewrap_second_factor(factor, context=seal_context(factor.person_id))
        for factor in SecondFactor.objects.iterator()
    )
    on = AuditObject("master_key", "")
    audit.record_outside("master_key.rotate", actor=actor, now=now, on=on, facts={"moved": moved})
    return moved


def note_rotation(level: str, *, workspace: WorkspaceRef, actor: Actor, now: datetime) -> None:
    """Write to the bound workspace's audit that a level of its keys is rotated."""
    with transaction.atomic():
        on = AuditObject("workspace", str(workspace.id))
        audit.record("keys.rotate", actor=actor, now=now, on=on, facts={"level": level})


def rewrap_workspace(*, workspace: WorkspaceRef) -> int:
    """Move the bound workspace's own keys under the newest master key; give how many were moved."""
    own = WrappedKey.objects.filter(wrapped_by=None).values_list("id", flat=True)
    return sum(rewrapping.rewrap(workspace, key_id) for key_id in own)


def renew_workspace_key(*, workspace: WorkspaceRef, actor: Actor, now: datetime) -> int:
    """Give the bound workspace's key a new secret, unless its last renewal has not ended; give 1 if it got one."""
    note_rotation("workspace", workspace=workspace, actor=actor, now=now)
    return int(rewrapping.renew(workspace, workspace.key_id, now=now))


def renew_handle_keys(*, workspace: WorkspaceRef, before: datetime, actor: Actor, now: datetime) -> int:
    """Give new secrets to the keys of handles that have theirs from before a moment; give how many got one."""
    old = WrappedKey.objects.filter(purpose="handle", previous=None, barred_by=None)
    old = old.filter(Q(renewed_at__lt=before) | Q(renewed_at=None, created_at__lt=before))
    note_rotation("handles", workspace=workspace, actor=actor, now=now)
    return sum(rewrapping.renew(workspace, key_id, now=now) for key_id in _in_batches(old))


def move_wrapped(*, workspace: WorkspaceRef) -> int:
    """Move every key of the bound workspace that lies under a replaced secret; give how many were moved.

    From the top: keys of handles move before what they wrap. Keys that are made meanwhile lie under the newest.
    """
    moved = 0
    while True:
        found = sum(_move_alone(workspace, key_id) for key_id in _in_batches(_under_replaced()))
        moved += found
        if not found:
            return moved


def drop_replaced(*, workspace: WorkspaceRef, now: datetime) -> tuple[int, int]:
    """Destroy the replaced secrets that nothing needs; give how many went, and how many are still needed or young."""
    kept = WrappedKey.objects.exclude(previous=None)
    ripe = kept.filter(Q(renewed_at__lte=now - KEPT_FOR) | Q(renewed_at=None))
    needed = set(_under_replaced().values_list("wrapped_by", flat=True).distinct())
    free = (key_id for key_id in _in_batches(ripe) if key_id not in needed)
    gone = sum(rewrapping.drop_previous(workspace, key_id) for key_id in free)
    return gone, kept.count()


def _move_alone(workspace: WorkspaceRef, key_id: UUID) -> bool:
    """Move a key; one that does not verify is named in the log, keeps the secret it lies under, and stops no other."""
    try:
        return rewrapping.rewrap(workspace, key_id)
    except (KeyDestroyed, Tampered):
        log.error("key.damaged", extra={"workspace": str(workspace.id), "key": str(key_id)})
        return False


def _under_replaced() -> QuerySet[WrappedKey]:
    newer = WrappedKey.objects.filter(id=OuterRef("wrapped_by"), generation__gt=OuterRef("under"))
    return WrappedKey.objects.filter(Exists(newer))


def _in_batches(keys: QuerySet[WrappedKey]) -> Iterator[UUID]:
    """Walk along the ids of some keys, a batch at a time: no query is long, and none is open while work is done."""
    after = UUID(int=0)
    while batch := list(keys.filter(id__gt=after).order_by("id").values_list("id", flat=True)[:BATCH]):
        yield from batch
        after = batch[-1]
