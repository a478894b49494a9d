"""Replacing the keys of keyed hashes, of a workspace and of the deployment, while requests go on (PL-12).

A name is hashed again when somebody brings it (`rehashing`), a secret when it is used (`credentials.rehash_secret`).
So the key before stays until nothing that is kept was made with it, and every function here can be repeated.
"""

from collections.abc import Callable
from datetime import datetime
from uuid import uuid4

from django.db import OperationalError, transaction

from workspaces import audit, coherence, deployment, encryption, rehashing, rewrapping
from workspaces.models import ApiKey, DeploymentKey, PersonalToken, Workspace
from workspaces.postgresql.router import KEYS
from workspaces.selectors.credentials import key_name
from workspaces.services.answers import REMEMBERED_FOR
from workspaces.services.rotation import KEPT_FOR, note_rotation
from workspaces.types import Actor, AuditObject, WorkspaceRef

TRIES = 5
DEADLOCK = "40P01"


def renew_hash_key(*, workspace: WorkspaceRef, actor: Actor, now: datetime) -> bool:
    """Give the bound workspace another hash key, unless the one before is still needed; tell whether it got one.

    From the commit on nobody is let in who does not know both. Who was let in before names nothing any more: the
    database refuses that, and the answer is 503 `unavailable`, to be sent again.
    """
    return _by_itself(lambda: _renew(workspace, actor, now))


def retire_hash_key(*, workspace: WorkspaceRef, is_needed: bool, actor: Actor, now: datetime) -> bool:
    """Let go of the bound workspace's hash key before, which is then destroyed; tell whether it went.

    `is_needed` says whether anything is still named under it. Answers to requests that are sent again are remembered
    under it for a day (PL-10), so it stays for that long at least.
    """
    return not is_needed and _by_itself(lambda: _retire(workspace, actor, now))


def renew_deployment_hash_key(*, actor: Actor, now: datetime) -> bool:
    """Give the deployment's hash key a new secret, unless the one before is still needed; tell whether it got one."""
    deployment.generation()  # makes the key where there is none yet
    with transaction.atomic(), transaction.atomic(using=KEYS):
        key = DeploymentKey.objects.get(id=deployment.HASH_KEY)
        is_renewed = key.previous is None and rewrapping.renew_deployment_key(key, now=now)
        if is_renewed:
            _note_outside("hash_key.rotate", key, actor, now)
    encryption.forget_unwrapped_keys()
    return is_renewed


def retire_deployment_secret(*, is_needed: bool, actor: Actor, now: datetime) -> bool:
    """Destroy the secret before of the deployment's hash key once no credential needs it; tell whether it went.

    It stays for a minute at least: as long as a process may know no other, and hash a new credential under it.
    """
    with transaction.atomic(), transaction.atomic(using=KEYS):
        key = DeploymentKey.objects.filter(id=deployment.HASH_KEY).first()
        if key is None or key.previous is None or is_needed or now - (key.renewed_at or now) < KEPT_FOR:
            return False
        rewrapping.drop_previous_of_deployment(key)
        _note_outside("hash_key.retire", key, actor, now)
    encryption.forget_unwrapped_keys()
    return True


def has_old_secrets(*, now: datetime) -> bool:
    """Tell whether a credential of the bound workspace that may still be used has its secret hashed as before."""
    newest = DeploymentKey.objects.get(id=deployment.HASH_KEY).generation
    old = {"secret_generation__lt": newest, "revoked_at": None}
    return any(
        model.objects.filter(**old).exclude(expires_at__lte=now).exists() for model in (ApiKey, PersonalToken)
    )


def _by_itself(change: Callable[[], bool]) -> bool:
    """Make a change; once more where it and a request waited for each other, of which the database then ends one."""
    for _ in range(TRIES - 1):
        try:
            return change()
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", "") != DEADLOCK:
                raise
    return change()


@transaction.atomic
def _renew(workspace: WorkspaceRef, actor: Actor, now: datetime) -> bool:
    row = _held_alone(workspace)
    if row.previous_hash_key_id is not None or row.closed_at is not None:
        return False
    note_rotation("hashes", workspace=workspace, actor=actor, now=now)
    key_id = uuid4()
    encryption.make_hash_key(workspace, key_id=key_id, now=now)
    _replace(row, hash_key_id=key_id, previous_hash_key_id=row.hash_key_id, hash_renewed_at=now)
    return True


@transaction.atomic
def _retire(workspace: WorkspaceRef, actor: Actor, now: datetime) -> bool:
    row = _held_alone(workspace)
    before, since = row.previous_hash_key_id, row.hash_renewed_at or now
    if before is None or now - since < REMEMBERED_FOR:
        return False
    on = AuditObject("workspace", str(workspace.id))
    audit.record("hash_key.retire", actor=actor, now=now, on=on, facts={"key": str(before)})
    _replace(row, previous_hash_key_id=None)
    encryption.retire_keys(workspace, before)
    return True


def _held_alone(workspace: WorkspaceRef) -> Workspace:
    """Give the workspace's row, when no insert that looked at its hash key before is still to commit.

    The row's key stays free: every insert of the workspace refers to it.
    """
    rehashing.hold_alone(workspace.id)
    return Workspace.objects.select_for_update(no_key=True).get(id=workspace.id)


def _replace(row: Workspace, **columns: object) -> None:
    """Change which hash keys the workspace has."""
    Workspace.objects.filter(id=row.id).update(**columns)
    # What a process knows of a workspace it knows from its keys.
    for key_id in ApiKey.objects.filter(revoked_at=None).order_by("id").values_list("key_id", flat=True):
        coherence.changing(key_name(key_id))


def _note_outside(act: str, key: DeploymentKey, actor: Actor, now: datetime) -> None:
    on = AuditObject("deployment_key", str(key.id))
    audit.record_outside(act, actor=actor, now=now, on=on, facts={"generation": key.generation})
