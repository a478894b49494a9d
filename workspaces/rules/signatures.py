"""Signed documents (PR-20b): Ed25519 over canonical JSON (RFC 8785). Verifying takes the public key alone, offline."""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from workspaces.errors import NotSigned

PUBLIC_KEY_BYTES = 32
KEY_ID_LENGTH = 32


def key_id_of(public_key: bytes) -> str:
    """Name a public key by its own digest, so that no name can be given to another key."""
    return hashlib.sha256(public_key).hexdigest()[:KEY_ID_LENGTH]


def encode_key(public_key: bytes) -> str:
    """Write a public key as people pass it on: base64 of its 32 bytes."""
    return base64.b64encode(public_key).decode()


def decode_key(text: str) -> bytes:
    """Read a public key. Raises ValueError when it is none."""
    key = base64.b64decode(text.strip(), validate=True)
    if len(key) != PUBLIC_KEY_BYTES:
        raise ValueError("A public key has 32 bytes.")
    return key


def signed(document: Mapping[str, Any], *, secret: bytes) -> dict[str, Any]:
    """Add `key_id` and `signature` to a document; the signature covers everything but itself."""
    key = Ed25519PrivateKey.from_private_bytes(secret)
    complete = {**document, "key_id": key_id_of(key.public_key().public_bytes_raw())}
    complete.pop("signature", None)
    return complete | {"signature": base64.b64encode(key.sign(rfc8785.dumps(complete))).decode()}


def require_signed(document: Mapping[str, Any], public_keys: Iterable[str]) -> None:
    """Refuse a document that none of these keys (base64) has signed, or that was altered since. Raises NotSigned."""
    known = {key_id_of(decode_key(text)): decode_key(text) for text in public_keys}
    key = known.get(str(document.get("key_id")))
    if key is None:
        raise NotSigned("signed by a key that is not among the given ones")
    unsigned = {name: value for name, value in document.items() if name != "signature"}
    try:
        signature = base64.b64decode(str(document.get("signature")), validate=True)
        Ed25519PublicKey.from_public_bytes(key).verify(signature, rfc8785.dumps(unsigned))
    except (InvalidSignature, ValueError) as error:
        raise NotSigned("altered since it was signed") from error
