"""The names of what the hot store keeps. The parts of one thing share a slot of a cluster."""

from base64 import urlsafe_b64encode
from functools import lru_cache

import msgspec
from django.conf import settings

KINDS = {
    "s": "the row of a state",
    "k": "what the key of a source opens",
    "d": "which versions of a workspace's documents are live",
    "b": "one version of a document",
    "w": "a wrapped key",
}
"""Everything that the hot store keeps, by the letter in its name."""


class Name(msgspec.Struct, frozen=True):
    """The keys of one thing: its entry, the marker of its writers, and the token of its readers."""

    entry: bytes
    marker: bytes
    token: bytes


def name_of(kind: str, *ids: bytes) -> Name:
    """Name a thing by its kind and by bytes that tell it from every other of the kind.

    The generation of the deployment is part of every name: a new one makes all that is kept void.
    """
    return _name(settings.HOT_STORE_GENERATION, kind, ids)


@lru_cache(maxsize=16_384)
def _name(generation: int, kind: str, ids: tuple[bytes, ...]) -> Name:
    tag = f"{generation}{kind}".encode() + urlsafe_b64encode(b"".join(ids)).rstrip(b"=")
    return Name(entry=b"e{%b}" % tag, marker=b"m{%b}" % tag, token=b"t{%b}" % tag)


def bucket_of(kind: str, id: bytes) -> bytes:
    """Name a bucket of a rate limit."""
    return b"r{%b}" % (f"{settings.HOT_STORE_GENERATION}{kind}".encode() + id)
