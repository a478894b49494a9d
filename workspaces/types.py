"""Values that travel through every app."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

Moment = Annotated[datetime, Meta(tz=True)]
"""A time on the wire: RFC 3339 with its zone (PL-10)."""


class FieldProblem(msgspec.Struct, frozen=True):
    """One thing wrong with one place of an input: RFC 6901 pointer, a code, a sentence without content."""

    pointer: str
    code: str
    detail: str


class WorkspaceRef(msgspec.Struct, frozen=True):
    """A workspace as its callers carry it: who it is and the ids of its keys (PL-12)."""

    id: UUID
    slug: str
    name: str
    key_id: UUID
    hash_key_id: UUID
    is_closed: bool = False
    # The hash key before, until no name is kept under it any more.
    previous_hash_key_id: UUID | None = None


class Origin(msgspec.Struct, frozen=True):
    """Where a request came from, as the audit keeps it."""

    address: str = ""
    request_id: str = ""


class Actor(msgspec.Struct, frozen=True):
    """Who did something, as the audit names them (PR-21)."""

    kind: Literal["person", "token", "key", "link", "system"]
    id: str
    name: str
    roles: tuple[str, ...] = ()
    address: str = ""
    request_id: str = ""


class Decider(msgspec.Struct, frozen=True):
    """A person who decides about a change, and what they may do by the way they came: a token may hold less."""

    person_id: UUID | None
    may: frozenset[str]
    actor: Actor


class ChangeWish(msgspec.Struct, frozen=True, kw_only=True):
    """A change that somebody wants: of what, what it replaces, why, which held fields it drops, and when (PR-2, PR-3).

    `document` is a version of a document; of the other kinds of request, what they say. Without `publish_at` it comes
    into force as soon as it may.
    """

    kind: str
    document: Any
    reason: str
    replaces: int
    drop: tuple[str, ...] = ()
    publish_at: datetime | None = None


class Caller(msgspec.Struct, frozen=True):
    """Who calls the API: a source by its key, or a person by a token, in one workspace (PL-3)."""

    workspace: WorkspaceRef
    actor: Actor
    credential_id: UUID
    source_id: UUID | None = None
    source_name: str = ""
    person_id: UUID | None = None
    scopes: frozenset[str] = frozenset()
    permissions: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    resend: bool = False
    # The secret of its credential is hashed under a key that has been replaced (PL-12).
    has_old_secret: bool = False

    @property
    def is_source(self) -> bool:
        """Tell a source's key from a person's token."""
        return self.source_id is not None

    @property
    def decider(self) -> Decider:
        """Give the person behind a token as one who decides about changes."""
        return Decider(self.person_id, self.permissions, self.actor)


class Key(msgspec.Struct, frozen=True):
    """An unwrapped 256-bit key and the id that names it. Never stored, never logged.

    A key that was given a new secret is of the next generation; what it wraps says under which one (PL-12).
    """

    id: UUID
    secret: bytes
    generation: int = 0

    def __repr__(self) -> str:
        return f"Key(id={self.id})"


class Wrapped(msgspec.Struct, frozen=True, array_like=True):
    """A key as it is stored: sealed under the key that `wrapped_by` names (none: the deployment's master key).

    One that is barred opens nothing any more: what it sealed is being erased (PR-11). `under` is the generation of
    the key that wraps it. While what it wraps moves to a new secret, `previous` is the one before (PL-12).
    """

    id: UUID
    purpose: str
    wrapped_by: UUID | None
    wrapped: bytes
    is_barred: bool = False
    generation: int = 0
    under: int = 0
    previous: bytes = b""

    def at(self, generation: int) -> bytes:
        """Give the wrapped secret of a generation; nothing where it is not kept."""
        kept = {self.generation: self.wrapped, self.generation - 1: self.previous}
        return kept.get(generation, b"")


class PublicKey(msgspec.Struct, frozen=True):
    """What verifies a signature of this deployment: base64 of 32 bytes, and when it signed (PR-20b)."""

    id: str
    public_key: str
    valid_from: datetime
    valid_to: datetime | None = None


class AuditObject(msgspec.Struct, frozen=True):
    """What an act was done to: a kind and an id, never a raw handle (PR-21)."""

    kind: str
    id: str
