"""Who asks for a change, who approves it and who publishes it, and which changes weaken four eyes (PR-2, PR-2b)."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from workspaces.rules.documents import KINDS, digest
from workspaces.rules.rights import ROLES

ERASURE = "erasure"
GUARDED = (*KINDS, ERASURE)
"""What four eyes can be set for."""
FOUR_EYES, ROLE_GRANT = "four-eyes", "roles"
ASKED = (*KINDS, FOUR_EYES, ROLE_GRANT)
"""What a request can be for."""

_Names = tuple[str, ...]
_DOCUMENT: dict[str, _Names] = {
    "propose": ("propose_documents",),
    "approve": ("approve_documents",),
    "publish": ("publish_documents",),
    "break_glass": ("break_glass",),
}
# One of these, but all of them to break the glass: owner alone holds `break_glass`, security the other.
_NEEDS: dict[str, dict[str, _Names]] = {
    "features": {
        "propose": ("change_features",),
        "approve": ("approve_documents",),
        "publish": ("change_features",),
        "break_glass": ("break_glass", "change_features"),
    },
    FOUR_EYES: {
        "propose": ("approve_documents", "manage_workspace"),
        "approve": ("approve_documents", "manage_workspace"),
        "publish": ("approve_documents", "manage_workspace"),
        "break_glass": ("break_glass", "approve_documents"),
    },
    ROLE_GRANT: {
        "propose": ("manage_people",),
        "approve": ("approve_documents", "manage_people"),
        "publish": ("approve_documents", "manage_people"),
        "break_glass": ("break_glass", "approve_documents"),
    },
}

# Who holds one of these can approve, publish without approval, or make somebody who can.
_APPROVING = frozenset(
    {
        "approve_documents",
        "publish_documents",
        "change_features",
        "break_glass",
        "manage_people",
        "manage_workspace",
    }
)
_APPROVING_ERASURE = frozenset({"approve_erasure"})


def needed(act: str, kind: str) -> tuple[str, ...]:
    """Name the permissions of which one is needed to propose, approve or publish a kind; all to break the glass."""
    return _NEEDS.get(kind, _DOCUMENT)[act]


def needed_for_any(*acts: str) -> tuple[str, ...]:
    """Name every permission that allows one of some acts for some kind of document."""
    return tuple(sorted({name for kind in KINDS for act in acts for name in needed(act, kind)}))


def may(act: str, kind: str, held: Iterable[str]) -> bool:
    """Tell whether somebody who holds these permissions may do an act for a kind."""
    names = needed(act, kind)
    return set(names) <= set(held) if act == "break_glass" else not set(names).isdisjoint(held)


def weakened(before: Iterable[str], after: Iterable[str]) -> frozenset[str]:
    """Name the kinds for which four eyes end: that takes four eyes itself."""
    return frozenset(before) - frozenset(after)


def approving_roles(kinds: Iterable[str]) -> frozenset[str]:
    """Name the roles of which a grant takes four eyes while they hold for these kinds; none where they hold nowhere."""
    kinds = frozenset(kinds)
    if not kinds:
        return frozenset()
    names = _APPROVING | (_APPROVING_ERASURE if ERASURE in kinds else frozenset())
    return frozenset(role for role, held in ROLES.items() if held & names)


def content_digest(
    *,
    kind: str,
    body: Mapping[str, Any],
    drop: Iterable[str],
    replaces: int,
    reason: str,
    publish_at: datetime | None,
) -> str:
    """Give the SHA-256 of all that an approval approves: what, over what, why, and when (PR-2b)."""
    moment = publish_at.astimezone(UTC).isoformat() if publish_at else None
    return digest(
        {
            "kind": kind,
            "body": body,
            "drop": sorted(drop),
            "replaces": replaces,
            "reason": reason,
            "publish_at": moment,
        }
    )
