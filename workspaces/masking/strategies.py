"""What becomes of one value: redact, partial, hash or drop (PR-5)."""

import re

from workspaces.masking.canonical import canonical, digits_of
from workspaces.masking.domains import domain_end, may_be_shown
from workspaces.masking.folding import fold
from workspaces.masking.markers import hash_marker, partial_card, partial_email, partial_phone, redaction
from workspaces.masking.policy import MaskingPolicy, strategy_of

_PHONE_DIGITS = range(7, 16)
_CARD_DIGITS = range(12, 20)
_PHONE_SHAPE = re.compile(r"[0-9+()./\s-]+")
_CARD_SHAPE = re.compile(r"[0-9._\s-]+")


def masked_value(value: str, *, kind: str, policy: MaskingPolicy) -> str:
    """Answer what stands in place of a value of this kind; nothing, where it is dropped (PR-5)."""
    strategy = strategy_of(policy, kind)
    if strategy == "drop":
        return ""
    if strategy == "hash":
        form = canonical(value, kind=kind, regions=policy.regions)
        return hash_marker(kind=kind, canonical=form, key=policy.hash_key)
    if strategy == "partial":
        return _partial(fold(value).text.strip(), kind) or redaction(kind)
    return redaction(kind)


def _partial(value: str, kind: str) -> str | None:
    if kind == "email":
        return _email(value)
    digits = digits_of(value)
    if kind == "phone":
        return (
            partial_phone(digits) if len(digits) in _PHONE_DIGITS and _PHONE_SHAPE.fullmatch(value) else None
        )
    return partial_card(digits) if len(digits) in _CARD_DIGITS and _CARD_SHAPE.fullmatch(value) else None


def _email(value: str) -> str | None:
    local, _, domain = value.replace("%40", "@").rpartition("@")
    domain = domain.lower()
    first = next((character for character in local if character.isalnum()), None)
    if first is None or domain_end(domain, 0) != len(domain) or not may_be_shown(domain):
        return None
    return partial_email(first=first, domain=domain)
