"""What may become of a request for erasure, and what its receipt says (PR-9, PR-14, PR-17)."""

from collections.abc import Mapping
from typing import Any, Literal

from privacy.errors import NotPossibleNow

Refusal = Literal["no_match", "legal_hold", "identity_not_verified", "duplicate"]
REFUSALS: tuple[Refusal, ...] = ("no_match", "legal_hold", "identity_not_verified", "duplicate")

STEPS = ("barrier", "working_memory", "people", "verify", "receipt")

NOT_PROVED = (
    "Copies that were made outside the server before, such as exports, screenshots and logs of other systems.",
    "Backups of the key database that somebody keeps elsewhere or longer than the deployment says.",
    "Values that were masked at entry: they were never stored, so nothing of them could be erased.",
)
"""What a receipt cannot show (PR-14b)."""

_MAY_BECOME: Mapping[str, frozenset[str]] = {
    "received": frozenset({"verified", "approved", "refused"}),
    "verified": frozenset({"approved", "refused"}),
    "approved": frozenset({"running", "refused"}),
    "running": frozenset({"completed", "failed"}),
    "failed": frozenset({"running"}),
}


def require_may_become(status: str, wanted: str) -> None:
    """Refuse a step that does not follow from where a request stands."""
    if wanted not in _MAY_BECOME.get(status, frozenset()):
        raise NotPossibleNow(f"The request is {status}.")


def wire_status(status: str) -> str:
    """Name a status as the published client knows it: whatever waits is pending, a refusal has failed (PR-9)."""
    return {"running": "running", "completed": "completed", "refused": "failed", "failed": "failed"}.get(
        status, "pending"
    )


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
