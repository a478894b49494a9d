"""The markers that masking leaves, made and recognized: an exact one is never taken apart again (PR-6).

A marker is exact when masking could have written it. The hash marker therefore ends in six characters
that only the holder of the key can make: otherwise any 22 characters could pass for one.
"""

import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterator

import msgspec

from workspaces.masking.domains import domain_end, may_be_shown
from workspaces.masking.policy import KINDS, MaskingPolicy, strategy_of

_DIGEST_BYTES = 12
_SEAL_CHARACTERS = 6

_KIND = "|".join(sorted(KINDS))
_BRACKETED = re.compile(
    rf"\[(?:redacted:(?:{_KIND})|hash:({_KIND}):([A-Za-z0-9_-]{{16}})([A-Za-z0-9_-]{{6}}))\]"
)
_PHONE = re.compile(r"(?<![0-9*])\*{3}[0-9]{2}(?![0-9*])")
_CARD = re.compile(r"(?<![0-9*])\*{4}[0-9]{4}(?![0-9*])")
_EMAIL_STARS = re.compile(r"(?<![\w.!#$%&'*+/=?^`{|}~-])\w\*{3}@")
_GOES_ON = re.compile(r"[\w-]|\.\w")


class Marker(msgspec.Struct, frozen=True):
    """An exact marker in a text; `kind` is set for a partial form, None for a bracketed marker."""

    start: int
    end: int
    kind: str | None = None


def redaction(kind: str) -> str:
    """Write the marker of `redact`."""
    return f"[redacted:{kind}]"


def hash_marker(*, kind: str, canonical: str, key: bytes) -> str:
    """Write the marker of `hash`: 96 bits that say equal or not, then 36 bits that seal them (PR-5)."""
    digest = _keyed(key, "value", kind, canonical)[:_DIGEST_BYTES]
    shown = urlsafe_b64encode(digest).decode()
    return f"[hash:{kind}:{shown}{_seal(key, kind, shown)}]"


def partial_email(*, first: str, domain: str) -> str:
    """Write the partial form of an e-mail address: `a***@example.com` (PR-5)."""
    return f"{first}***@{domain}"


def partial_phone(digits: str) -> str:
    """Write the partial form of a phone number: `***78` (PR-5)."""
    return f"***{digits[-2:]}"


def partial_card(digits: str) -> str:
    """Write the partial form of a card number: `****1111` (PR-5)."""
    return f"****{digits[-4:]}"


def markers_in(text: str, policy: MaskingPolicy) -> list[Marker]:
    """List the exact markers of a text in order; a partial form counts where the policy writes it (PR-6)."""
    found: list[Marker] = []
    if "[redacted:" in text or "[hash:" in text:
        found.extend(_bracketed(text, policy.hash_key))
    if "***" in text:
        found.extend(_partial(text, policy))
        found.sort(key=lambda marker: marker.start)
    return found


def is_marker(text: str, *, kind: str, policy: MaskingPolicy) -> bool:
    """Tell whether the whole text is one marker that may stand for a value of this kind (PR-6)."""
    found = markers_in(text, policy)
    return (
        len(found) == 1 and (found[0].start, found[0].end) == (0, len(text)) and found[0].kind in {None, kind}
    )


def _bracketed(text: str, key: bytes) -> Iterator[Marker]:
    for found in _BRACKETED.finditer(text):
        kind, shown, seal = found.groups()
        if kind is None or hmac.compare_digest(seal, _seal(key, kind, shown)):
            yield Marker(found.start(), found.end())


def _partial(text: str, policy: MaskingPolicy) -> Iterator[Marker]:
    for kind, pattern in (("phone", _PHONE), ("card", _CARD)):
        if strategy_of(policy, kind) == "partial":
            for found in pattern.finditer(text):
                yield Marker(found.start(), found.end(), kind)
    if strategy_of(policy, "email") == "partial":
        for found in _EMAIL_STARS.finditer(text):
            end = domain_end(text, found.end())
            if end and may_be_shown(text[found.end() : end]) and not _GOES_ON.match(text, end):
                yield Marker(found.start(), end, "email")


def _seal(key: bytes, kind: str, shown: str) -> str:
    return urlsafe_b64encode(_keyed(key, "seal", kind, shown)).decode()[:_SEAL_CHARACTERS]


def _keyed(key: bytes, *parts: str) -> bytes:
    message = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hmac.digest(key, message, "sha256")
