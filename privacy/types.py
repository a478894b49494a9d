"""Values of governance that travel between its files."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from agentstate.types import TypeEffects
from workspaces.rules.documents import Change
from workspaces.types import AuditObject, FieldProblem, Moment, WorkspaceRef


class ChangeWish(msgspec.Struct, frozen=True, kw_only=True):
    """A version that somebody wants: what it replaces, why, and which held fields it drops (PR-2, PR-3)."""

    kind: str
    document: Any
    reason: str
    replaces: int
    drop: tuple[str, ...] = ()


class Act(msgspec.Struct, frozen=True):
    """One act as the audit names it, and what it was done to."""

    name: str
    on: AuditObject


class FeatureEffect(msgspec.Struct, frozen=True):
    """What turning a feature on or off does to what is stored."""

    states: int = 0
    bytes: int = 0
    profiles: int = 0
    agents: int = 0


class Preview(msgspec.Struct, frozen=True):
    """What a version would change and do, before it is confirmed (PR-2)."""

    changes: tuple[Change, ...]
    problems: tuple[FieldProblem, ...]
    types: TypeEffects | None = None
    features: Mapping[str, FeatureEffect] | None = None


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


class Shown(msgspec.Struct, frozen=True):
    """A record of a subject package for people: a title, and rows of a name, a text and a remark."""

    title: str
    rows: tuple[tuple[str, str, str], ...]

    @property
    def length(self) -> int:
        """Give about how many bytes it takes."""
        return sum(200 + sum(map(len, row)) for row in self.rows)
