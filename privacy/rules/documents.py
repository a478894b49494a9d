"""Who may change which document, and what is wrong with a version of it (PR-1, PR-2)."""

from typing import Any

from agentstate.rules import object_types
from workspaces.errors import NotFound
from workspaces.rules import documents
from workspaces.types import FieldProblem

MAX_REASON_LENGTH = 500
PROPOSING = ("change_features", "propose_documents")
PUBLISHING = ("change_features", "publish_documents")


def require_kind(kind: str) -> None:
    """Refuse a kind of document that does not exist."""
    if kind not in documents.KINDS:
        raise NotFound("The kinds are: " + ", ".join(documents.KINDS) + ".")


def proposing_permission(kind: str) -> str:
    """Name the permission that a proposal takes; `features` belongs to security alone (PR-1)."""
    of_features, of_others = PROPOSING
    return of_features if kind == "features" else of_others


def publishing_permission(kind: str) -> str:
    """Name the permission that a publication takes."""
    of_features, of_others = PUBLISHING
    return of_features if kind == "features" else of_others


def problems(kind: str, document: Any) -> list[FieldProblem]:
    """Find everything that is wrong with a document, by its schema and by what no schema can say."""
    found = documents.problems(kind, document)
    if kind == "object-types":
        found += [problem for problem in object_types.problems(document) if problem not in found]
    return found


def act_of(kind: str, before: dict[str, Any], after: dict[str, Any]) -> str:
    """Name the act for the audit: of `features` whether it was switched on or off."""
    if kind != "features":
        return "document.publish"
    gained = set(after["enabled"]) - set(before["enabled"])
    return "feature.enable" if gained else "feature.disable"
