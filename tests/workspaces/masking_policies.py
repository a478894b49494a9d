"""The masking documents that the tests of masking share."""

from typing import Any

from workspaces.masking import MaskingPolicy, policy_from

KEY = b"a key of thirty-two bytes for it"

DOCUMENT: dict[str, Any] = {
    "regions": ["BR", "US", "FR"],
    "kinds": {
        "email": "partial",
        "phone": "partial",
        "card": "redact",
        "gov_id": "hash",
        "iban": "redact",
        "ip": "redact",
        "name": "redact",
        "address": "redact",
        "secret": "redact",
        "cvv": "redact",
        "password": "redact",
        "text": "redact",
    },
    "detect_in_declared_pii": ["email", "phone", "card", "gov_id", "iban", "ip", "secret"],
    "held_back_everywhere": ["card", "cvv", "password", "secret"],
}


def policy(
    kinds: dict[str, str] | None = None, *, regions: tuple[str, ...] = ("BR", "US", "FR")
) -> MaskingPolicy:
    """Build a policy like the shared document, with some kinds treated otherwise."""
    document = DOCUMENT | {"regions": list(regions), "kinds": DOCUMENT["kinds"] | (kinds or {})}
    return policy_from(document, hash_key=KEY)
