"""Values of governance that travel between its files."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from agentstate.types import TypeEffects
from workspaces.rules.documents import Change
from workspaces.rules.handles import Handle
from workspaces.types import AuditObject, FieldProblem, Moment, WorkspaceRef


class Act(msgspec.Struct, frozen=True):
    """One act as the audit names it, and what it was done to."""

    name: str
    on: AuditObject


class FeatureEffect(msgspec.Struct, frozen=True):
    """What turning a feature on or off does to what is stored; capped, where there are more states than counted."""

    states: int = 0
    bytes: int = 0
    profiles: int = 0
    agents: int = 0
    sessions: int = 0
    graphs: int = 0
    is_capped: bool = False


class MaskingEffect(msgspec.Struct, frozen=True):
    """What is stored already, of whom and by how many agents, which other masking leaves as it is."""

    states: int
    profiles: int
    agents: int


class RetentionEffect(msgspec.Struct, frozen=True):
    """What has its end already, which another retention leaves as it is."""

    packages: int
    requests: int


class Opening(msgspec.Struct, frozen=True):
    """That a policy lets a privacy class leave on a route in another form than before (CA-7)."""

    policy: str
    route: str
    privacy: str
    before: str
    after: str


class PolicyEffect(msgspec.Struct, frozen=True):
    """What other assembly policies do: what may leave in a form that tells more or less, and which names end.

    `lowered` are policies with the tools whose memories a new rule makes less strict (CA-5).
    """

    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    opened: tuple[Opening, ...] = ()
    closed: tuple[Opening, ...] = ()
    lowered: tuple[tuple[str, str], ...] = ()


class Preview(msgspec.Struct, frozen=True):
    """What a version would change and do, before it is confirmed (PR-2)."""

    changes: tuple[Change, ...]
    problems: tuple[FieldProblem, ...]
    types: TypeEffects | None = None
    features: Mapping[str, FeatureEffect] | None = None
    masking: MaskingEffect | None = None
    retention: RetentionEffect | None = None
    policies: PolicyEffect | None = None


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants erased, held or packaged: exactly one of them is given.

    Who has found a handle already names it by its id.
    """

    kind: str
    profile_id: UUID | None = None
    handle: Handle | None = None
    handle_id: UUID | None = None
    scope_id: str = ""


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """What a target is here: a person by their handles, or a scope by its keyed hash."""

    profile_id: UUID | None = None
    handle_ids: tuple[UUID, ...] = ()
    scope_hash: bytes | None = None

    @property
    def is_found(self) -> bool:
        """Tell whether it names anybody; a scope is always something, since it may be written yet."""
        return self.profile_id is not None or self.scope_hash is not None


class DryRun(msgspec.Struct, frozen=True):
    """What an erasure would remove, counted before anybody approves it."""

    states: int
    sessions: int
    messages: int
    graphs: int
    records: int
    bytes: int
    handles: int
    profiles: int
    held_by: tuple[UUID, ...] = ()
    earliest: datetime | None = None


class PackageSubject(msgspec.Struct, frozen=True, kw_only=True):
    """The person of a subject package as they are found when it is built, and the documents in force (PR-18)."""

    workspace: WorkspaceRef
    profile_id: UUID
    pseudonym: str
    handle_ids: tuple[UUID, ...]
    live: Mapping[str, Any]
    now: datetime


class PackagedHandle(msgspec.Struct, frozen=True):
    """A handle in a subject package: its value is kept nowhere (PL-6)."""

    type: str
    hint: str
    created_at: Moment


class Word(str):
    """What the page of a subject package says itself, in its reader's language; any other text on it is data."""

    __slots__ = ()


class Shown(msgspec.Struct, frozen=True):
    """A record of a subject package for people: a title, and rows of a name, a text and remarks.

    `named` is what the title names, where it is a word with places for it.
    """

    title: str
    rows: tuple[tuple[str, str, tuple[str, ...]], ...]
    named: Mapping[str, Any] = {}

    @property
    def length(self) -> int:
        """Give about how many bytes it takes."""
        return sum(200 + sum(map(len, row)) for row in self.rows)
