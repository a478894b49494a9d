"""After the content database was restored from a backup, the erasures since then are run again (PR-15b)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.db import transaction

from privacy.models import ErasureRequest
from privacy.rules.erasures import ErasureRecord
from privacy.services import barriers, erasing
from privacy.services.work import NotErased
from workspaces import access, audit, encryption, rehashing
from workspaces.barriers import digest_key
from workspaces.errors import KeyDestroyed
from workspaces.models import Erasure
from workspaces.types import Actor, AuditObject, WorkspaceRef

RESTORER = Actor(kind="system", id="reapply_erasures", name="reapply_erasures")


def reapply(*, workspace: WorkspaceRef, record: ErasureRecord, now: datetime) -> bool:
    """Run an erasure again that the database has forgotten; tell whether there was anything to do.

    A hold that the backup still has does not keep it: the erasure was complete once.
    """
    with access.bound(workspace.id):
        known = ErasureRequest.objects.filter(id=record.request_id).first()
        if known is not None and known.status == ErasureRequest.Status.COMPLETED:
            return False
        _approve_again(workspace, _as_named_here(workspace, record), known, now=now)
        if not erasing.run(workspace=workspace, request_id=record.request_id):
            raise NotErased(str(record.request_id))
    return True


@transaction.atomic
def _approve_again(
    workspace: WorkspaceRef, record: ErasureRecord, known: ErasureRequest | None, *, now: datetime
) -> None:
    request = known or ErasureRequest(**record.as_request())
    request.status, request.claimed_until = ErasureRequest.Status.APPROVED, None
    request.approved_at = request.approved_at or record.began_at
    request.refusal, request.ended_at = "", None
    request.save(force_insert=known is None)
    audit.record("erasure.reapply", actor=RESTORER, now=now, on=AuditObject("erasure", str(request.id)))
    if request.erasure_id is None:
        barriers.begin(workspace=workspace, request=request, now=now, is_held_back=False)
    elif request.target != ErasureRequest.Target.WORKSPACE:
        _renew_key(workspace, request.erasure_id, now=now)


def _as_named_here(workspace: WorkspaceRef, record: ErasureRecord) -> ErasureRecord:
    """Name a scope as the restored database does: from before a rotation of the hash key, or from within it (PL-12)."""
    if not record.scope_hash_before:
        return record
    if record.hash_key_id != workspace.hash_key_id:
        named = record.scope_hash_before
        return msgspec.structs.replace(record, scope_hash=named, hash_key_id=workspace.hash_key_id)
    before, now = (bytes.fromhex(name) for name in (record.scope_hash_before, record.scope_hash))
    rehashing.move_scope(workspace, before=before, now=now)
    return record


def _renew_key(workspace: WorkspaceRef, erasure_id: UUID, *, now: datetime) -> None:
    """Make the key of the digests again, which went when the erasure was complete."""
    try:
        digest_key(workspace, Erasure.objects.get(id=erasure_id))
    except KeyDestroyed:
        under = encryption.workspace_key(workspace)
        encryption.make_key(workspace, key_id=erasure_id, purpose="erasure", under=under, now=now)


def records_of(documents: list[Mapping[str, Any]]) -> list[ErasureRecord]:
    """Read signed records, oldest first."""
    found = [ErasureRecord.parse(document) for document in documents]
    return sorted(found, key=lambda record: record.began_at)
