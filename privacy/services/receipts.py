"""The receipt of an erasure: signed, chained into the audit, and taken out of the database (PR-14, PR-15b)."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from privacy.models import ErasureRequest
from privacy.rules import erasures as rules
from privacy.selectors.erasures import pseudonym_of_actor
from workspaces import audit, documents, outside, signing
from workspaces.errors import KeyDestroyed
from workspaces.types import Actor, AuditObject, WorkspaceRef

SERVER = Actor(kind="system", id="erasure", name="erasure")


def issue(workspace: WorkspaceRef, request: ErasureRequest, *, digests: Mapping[str, str]) -> None:
    """Put the signed receipt into a request that is complete, unsaved; chain it into the audit, and let a record of it
    leave the database (PR-14, PR-15b)."""
    unsigned = rules.receipt(_about(workspace, request), erased=request.erased, digests=digests)
    request.receipt = signing.sign(unsigned)
    request.receipt_hash = rules.receipt_hash(request.receipt)
    assert request.ended_at is not None  # noqa: S101  (only a complete request has a receipt)
    audit.record(
        "erasure.complete",
        actor=SERVER,
        now=request.ended_at,
        on=AuditObject("erasure", str(request.id)),
        facts={"receipt": request.receipt_hash, "erased": request.erased},
    )
    _deliver(workspace, request)


def _deliver(workspace: WorkspaceRef, request: ErasureRequest) -> None:
    """Let the record leave the database that a restore would forget (PR-15b)."""
    assert request.erasure is not None  # noqa: S101  (only an erasure that has begun can be complete)
    assert request.ended_at is not None  # noqa: S101
    record = rules.ErasureRecord(
        request_id=request.id,
        workspace_id=workspace.id,
        number=request.number,
        target=request.target,
        profile_id=request.profile_id,
        handle_ids=tuple(request.handle_ids),
        scope_hash=bytes(request.scope_hash or b"").hex(),
        hash_key_id=request.hash_key_id,
        scope_hash_before=bytes(request.scope_hash_before or b"").hex(),
        regime=request.regime,
        due_on=request.due_on,
        requested_at=request.requested_at,
        began_at=request.erasure.began_at,
        receipt_hash=request.receipt_hash,
    )
    name = f"{workspace.id}/{request.ended_at.astimezone(UTC):%Y%m%dT%H%M%S.%f}-{request.id}"
    outside.deliver("erasure", name, signing.sign(record.as_document()))


@transaction.atomic
def note_download(*, request: ErasureRequest, actor: Actor, now: datetime) -> None:
    """Write to the audit that somebody took a receipt away (PR-21)."""
    facts = {"receipt": request.receipt_hash}
    audit.record(
        "erasure.receipt", actor=actor, now=now, on=AuditObject("erasure", str(request.id)), facts=facts
    )


def _about(workspace: WorkspaceRef, request: ErasureRequest) -> dict[str, Any]:
    live = documents.live("features", "object-types", "masking", "retention", "assembly-policy")
    return {
        "request_id": str(request.id),
        "reference": request.reference,
        "workspace": {"id": str(workspace.id), "slug": workspace.slug},
        "target": request.target,
        "target_id": request.target_id,
        "asked_by": _asked_by(workspace, request),
        "requested_at": _moment(request.requested_at),
        "approved_at": _moment(request.approved_at),
        "completed_at": _moment(request.ended_at),
        "documents": {kind: document.version for kind, document in sorted(live.items())},
    }


def _asked_by(workspace: WorkspaceRef, request: ErasureRequest) -> str:
    """Name who asked; of a workspace that was closed before, whose key is gone, only what kind of actor it was."""
    try:
        return pseudonym_of_actor(workspace, request.asked_by_kind, request.asked_by_id)
    except KeyDestroyed:
        return f"{request.asked_by_kind}:"


def _moment(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat(timespec="seconds") if at else None
