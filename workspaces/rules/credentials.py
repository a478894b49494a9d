"""The text form of keys and tokens: prefix, key id, a 256-bit secret and a checksum (PL-3)."""

import re
import zlib
from datetime import timedelta

import msgspec

from workspaces.errors import InvalidInput
from workspaces.types import FieldProblem

SOURCE_KEY = "lst"
PERSONAL_TOKEN = "lsp"
MAX_TOKEN_LIFE = timedelta(days=90)

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SECRET_LENGTH = 43
_CHECKSUM_LENGTH = 6
_FORM = re.compile(
    rf"(?P<prefix>lst|lsp)_(?P<key_id>[0-9a-z]{{12}})"
    rf"_(?P<secret>[0-9A-Za-z]{{{_SECRET_LENGTH}}})(?P<checksum>[0-9A-Za-z]{{{_CHECKSUM_LENGTH}}})"
)


class KeyText(msgspec.Struct, frozen=True):
    """A key taken apart. Its secret is compared as a hash and never kept."""

    prefix: str
    key_id: str
    secret: str

    def __repr__(self) -> str:
        return f"KeyText({self.prefix}_{self.key_id})"


def key_text(prefix: str, *, key_id_entropy: bytes, secret: bytes) -> tuple[KeyText, str]:
    """Write a key from fresh randomness: give its parts and the text that is shown once."""
    parts = KeyText(prefix, _base62(key_id_entropy, 12).lower(), _base62(secret, _SECRET_LENGTH))
    head = f"{parts.prefix}_{parts.key_id}_{parts.secret}"
    return parts, head + _checksum(head)


def parse_key(text: str) -> KeyText | None:
    """Take a key apart; None when its form or its checksum is wrong."""
    match = _FORM.fullmatch(text)
    if match is None or _checksum(text[:-_CHECKSUM_LENGTH]) != match["checksum"]:
        return None
    return KeyText(match["prefix"], match["key_id"], match["secret"])


def require_token_life(life: timedelta) -> None:
    """Refuse a personal token that would live longer than 90 days, or not at all (PL-3). Raises InvalidInput."""
    if not timedelta(0) < life <= MAX_TOKEN_LIFE:
        raise InvalidInput(errors=(FieldProblem("/life", "too_long", "A token lives at most 90 days."),))


def _base62(entropy: bytes, length: int) -> str:
    number, digits = int.from_bytes(entropy), []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(_ALPHABET[digit])
    return "".join(digits)


def _checksum(head: str) -> str:
    return _base62(zlib.crc32(head.encode()).to_bytes(4), _CHECKSUM_LENGTH)
