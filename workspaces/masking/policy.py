"""What a workspace has decided about personal data: the masking document as a value (PR-5, PR-7)."""

from collections.abc import Mapping
from typing import Any

import msgspec

HELD_BACK = frozenset({"card", "cvv", "password", "secret"})
DETECTABLE = frozenset({"email", "phone", "card", "gov_id", "iban", "ip", "secret"})
KINDS = HELD_BACK | DETECTABLE | {"name", "address", "text"}

MAX_REGIONS = 3

_WITH_PARTIAL_FORM = frozenset({"email", "phone", "card"})


class FieldRule(msgspec.Struct, frozen=True):
    """What a declaration says of one field: its type, and `pii` as true or a kind (WM-3)."""

    type: str
    pii: bool | str = False


class MaskingPolicy(msgspec.Struct, frozen=True):
    """One version of a workspace's masking document, with the key that its hashes use (PR-5)."""

    regions: tuple[str, ...]
    kinds: dict[str, str]
    detect_in_declared_pii: frozenset[str]
    held_back_everywhere: frozenset[str]
    hash_key: bytes


def policy_from(document: Mapping[str, Any], *, hash_key: bytes) -> MaskingPolicy:
    """Read a masking document; what it leaves out gets the strictest meaning (PR-5, PR-7)."""
    return MaskingPolicy(
        regions=tuple(document.get("regions", ()))[:MAX_REGIONS],
        kinds=dict(document.get("kinds", {})),
        detect_in_declared_pii=frozenset(document.get("detect_in_declared_pii", DETECTABLE)),
        held_back_everywhere=HELD_BACK | frozenset(document.get("held_back_everywhere", ())),
        hash_key=hash_key,
    )


def known_kind(kind: str) -> str:
    """Answer the kind itself, or `text` for a word that is no kind."""
    return kind if kind in KINDS else "text"


def strategy_of(policy: MaskingPolicy, kind: str) -> str:
    """Answer what becomes of a kind: redact unless the document names something it may be (PR-5, PR-7)."""
    wanted = policy.kinds.get(kind, "redact")
    held_back = kind in HELD_BACK or kind in policy.held_back_everywhere
    if wanted == "partial":
        allowed = kind == "card" or (kind in _WITH_PARTIAL_FORM and not held_back)
    else:
        allowed = wanted == "drop" or (wanted == "hash" and not held_back)
    return wanted if allowed else "redact"


def kinds_everywhere(policy: MaskingPolicy) -> frozenset[str]:
    """Answer the kinds that are masked in every string, declared or not (PR-7)."""
    return HELD_BACK | policy.held_back_everywhere


def kinds_in_declared(policy: MaskingPolicy) -> frozenset[str]:
    """Answer the kinds that are looked for in a field declared `pii: true` (PR-5)."""
    return kinds_everywhere(policy) | policy.detect_in_declared_pii
