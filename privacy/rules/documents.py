"""What is wrong with a version of a document, and what its publication does (PR-1, PR-2)."""

from typing import Any

from agentstate.rules import object_types
from privacy.types import Act
from workspaces.errors import NotFound
from workspaces.rules import documents
from workspaces.types import AuditObject, FieldProblem

MAX_DROP_LENGTH = 128


def require_kind(kind: str) -> None:
    """Refuse a kind of document that does not exist."""
    if kind not in documents.KINDS:
        raise NotFound("The kinds are: " + ", ".join(documents.KINDS) + ".")


def problems(kind: str, document: Any) -> list[FieldProblem]:
    """Find everything that is wrong with a document, by its schema and by what no schema can say."""
    found = documents.problems(kind, document)
    if kind == "object-types":
        found += [problem for problem in object_types.problems(document) if problem not in found]
    return found


def acts_of(kind: str, before: dict[str, Any], after: dict[str, Any]) -> list[Act]:
    """Name what a publication did, for the audit: each feature that it switched, else the document (PR-21)."""
    if kind == "features":
        was, now = set(before["enabled"]), set(after["enabled"])
        switched = [
            Act("feature.enable" if name in now else "feature.disable", AuditObject("feature", name))
            for name in documents.FEATURES
            if (name in was) != (name in now)
        ]
        if switched:
            return switched
    return [Act("document.publish", AuditObject("document", kind))]
