"""What may become of a request for erasure, and what its receipt says (PR-9, PR-14, PR-17)."""

import hashlib
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Literal, Self
from uuid import UUID

import msgspec
import rfc8785

from privacy.errors import NotPossibleNow

Refusal = Literal["no_match", "legal_hold", "identity_not_verified", "duplicate"]
REFUSALS: tuple[Refusal, ...] = ("no_match", "legal_hold", "identity_not_verified", "duplicate")

STEPS = ("barrier", "working_memory", "history", "graph", "packages", "people", "verify", "receipt")
CLOSING = (
    *("credentials", "all_states", "all_sessions", "all_graphs", "all_packages", "all_people"),
    *("remains", "keys", "nothing_left", "receipt"),
)
"""The steps of closing a workspace (PL-5b)."""

NOT_PROVED = (
    "Copies that were made outside the server before, such as exports, screenshots and logs of other systems.",
    "Backups of the key database that somebody keeps elsewhere or longer than the deployment says.",
    "Values that were masked at entry: they were never stored, so nothing of them could be erased.",
)
"""What a receipt cannot show (PR-14b)."""

_MAY_BECOME: Mapping[str, frozenset[str]] = {
    "received": frozenset({"verified", "refused"}),
    "verified": frozenset({"approved", "refused"}),
    "approved": frozenset({"running", "refused"}),
    "running": frozenset({"completed", "failed"}),
    "failed": frozenset({"running"}),
}


def require_may_become(status: str, wanted: str) -> None:
    """Refuse a step that does not follow from where a request stands."""
    if wanted not in _MAY_BECOME.get(status, frozenset()):
        raise NotPossibleNow(f"The request is {status}.")


WireStatus = Literal["pending", "running", "completed", "failed"]
_WIRE: Mapping[str, WireStatus] = {
    "running": "running",
    "completed": "completed",
    "refused": "failed",
    "failed": "failed",
}


def wire_status(status: str) -> WireStatus:
    """Name a status as the published client knows it: whatever waits is pending, a refusal has failed (PR-9)."""
    return _WIRE.get(status, "pending")


def receipt(
    request: Mapping[str, Any], *, erased: Mapping[str, int], digests: Mapping[str, str]
) -> dict[str, Any]:
    """Put a receipt together, unsigned: what was asked, what went, and what this does not prove."""
    return {
        "kind": "erasure-receipt",
        "schema": 1,
        **request,
        "erased": dict(sorted(erased.items())),
        "digests": dict(sorted(digests.items())),
        "does_not_prove": list(NOT_PROVED),
    }


def receipt_hash(receipt: Mapping[str, Any]) -> str:
    """Name a receipt: SHA-256 over its canonical JSON, the signature included."""
    return hashlib.sha256(rfc8785.dumps(dict(receipt))).hexdigest()


class ErasureRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What leaves the database about an erasure that is complete, so that it can be run again after a restore (PR-15b).

    It names what was erased by ids and keyed hashes, and holds no content. A scope that was named under two hash keys
    is named by both: a backup may have it by either (PL-12).
    """

    request_id: UUID
    workspace_id: UUID
    number: int
    target: str
    profile_id: UUID | None
    handle_ids: tuple[UUID, ...]
    scope_hash: str
    hash_key_id: UUID
    scope_hash_before: str = ""
    regime: str
    due_on: date
    requested_at: datetime
    began_at: datetime
    receipt_hash: str
    kind: Literal["erasure-record"] = "erasure-record"
    schema: Literal[1] = 1

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        """Read a delivered record. Raises ValueError for another document."""
        return msgspec.convert(document, cls)

    def as_document(self) -> dict[str, Any]:
        """Write it as JSON, unsigned."""
        written: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return written

    def as_request(self) -> dict[str, Any]:
        """Give the columns of the request that it stands for, asked by the command that runs it again."""
        return {
            "id": self.request_id,
            "workspace_id": self.workspace_id,
            "number": self.number,
            "target": self.target,
            "profile_id": self.profile_id,
            "handle_ids": list(self.handle_ids),
            "scope_hash": bytes.fromhex(self.scope_hash) or None,
            "scope_hash_before": bytes.fromhex(self.scope_hash_before) or None,
            "hash_key_id": self.hash_key_id,
            "regime": self.regime,
            "due_on": self.due_on,
            "requested_at": self.requested_at,
            "verified_at": self.requested_at,
            "approved_at": self.began_at,
            "asked_by_kind": "system",
            "asked_by_id": "reapply_erasures",
            "asked_by": "reapply_erasures",
        }
