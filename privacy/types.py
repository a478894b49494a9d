"""Values of governance that travel between its files."""

from collections.abc import Mapping

import msgspec

from agentstate.types import TypeEffects
from workspaces.rules.documents import Change
from workspaces.types import AuditObject, ChangeWish, FieldProblem

__all__ = ["Act", "ChangeWish", "FeatureEffect", "Preview"]


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
