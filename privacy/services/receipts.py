"""The receipt of an erasure: signed, chained into the audit, and taken out of the database (PR-14, PR-15b)."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import rfc8785

from privacy.models import ErasureRequest
from privacy.rules import erasures as rules
from privacy.selectors.erasures import pseudonym_of_actor
from workspaces import audit, documents, signing
from workspaces.types import Actor, AuditObject, WorkspaceRef

SERVER = Actor(kind="system", id="erasure", name="erasure")


def issue(workspace: WorkspaceRef, request: ErasureRequest, *, digests: Mapping[str, str]) -> None:
    """Put the signed receipt into a request that is complete, unsaved, and chain it into the audit (PR-14)."""
    unsigned = rules.receipt(_about(workspace, request), erased=request.erased, digests=digests)
    request.receipt = signing.sign(unsigned)
    request.receipt_hash = receipt_hash(request.receipt)
    assert request.ended_at is not None  # noqa: S101  (only a complete request has a receipt)
    audit.record(
        "erasure.complete",
        actor=SERVER,
        now=request.ended_at,
        on=AuditObject("erasure", str(request.id)),
        facts={"receipt": request.receipt_hash, "erased": request.erased},
    )


def receipt_hash(receipt: Mapping[str, Any]) -> str:
    """Name a receipt: SHA-256 over its canonical JSON, the signature included."""
    return hashlib.sha256(rfc8785.dumps(dict(receipt))).hexdigest()


def _about(workspace: WorkspaceRef, request: ErasureRequest) -> dict[str, Any]:
    live = documents.live("features", "object-types", "masking", "retention", "assembly-policy")
    return {
        "request_id": str(request.id),
        "reference": request.reference,
        "workspace": {"id": str(workspace.id), "slug": workspace.slug},
        "target": request.target,
        "target_id": request.target_id,
        "asked_by": pseudonym_of_actor(workspace, request.asked_by_kind, request.asked_by_id),
        "requested_at": _moment(request.requested_at),
        "approved_at": _moment(request.approved_at),
        "completed_at": _moment(request.ended_at),
        "documents": {kind: document.version for kind, document in sorted(live.items())},
    }


def _moment(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat(timespec="seconds") if at else None
