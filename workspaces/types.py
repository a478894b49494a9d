"""Values that travel through every app."""

from datetime import datetime
from typing import Annotated, Literal
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

    @property
    def is_source(self) -> bool:
        """Tell a source's key from a person's token."""
        return self.source_id is not None


class Key(msgspec.Struct, frozen=True):
    """An unwrapped 256-bit key and the id that names it. Never stored, never logged."""

    id: UUID
    secret: bytes

    def __repr__(self) -> str:
        return f"Key(id={self.id})"


class Wrapped(msgspec.Struct, frozen=True, array_like=True):
    """A key as it is stored: sealed under the key that `wrapped_by` names (none: the deployment's master key)."""

    id: UUID
    purpose: str
    wrapped_by: UUID | None
    wrapped: bytes


class AuditObject(msgspec.Struct, frozen=True):
    """What an act was done to: a kind and an id, never a raw handle (PR-21)."""

    kind: str
    id: str
