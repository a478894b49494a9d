"""Who may do what: the one table of roles and permissions (PL-2).

docs/reference/rights.md is made from it, role groups are made from it, and a test walks every route and page with it.
"""

from collections.abc import Iterable

PERMISSIONS: dict[str, str] = {
    "change_features": "Switch features on and off",
    "manage_keys": "Make, rotate and revoke keys of sources",
    "propose_documents": "Propose a version of a document",
    "approve_documents": "Approve a proposed version",
    "publish_documents": "Publish a version of a document",
    "break_glass": "Publish without the approval of a second person",
    "find_profiles": "Find a profile by a handle or a pseudonym",
    "view_state_metadata": "See size, version and dates of states, never their content",
    "request_erasure": "Ask for an erasure",
    "approve_erasure": "Approve an erasure",
    "build_package": "Build a subject package",
    "place_hold": "Place a legal hold",
    "lift_hold": "Lift a legal hold",
    "link_profiles": "Link two handles as one person",
    "recover_history": "Release a reserved session for recovery",
    "view_audit": "Read the audit log",
    "view_assemblies": "See why a model saw what it saw",
    "view_usage": "See usage",
    "manage_people": "Invite people and change their roles",
    "manage_workspace": "Change the workspace itself",
}

_VIEWS = ("find_profiles", "view_state_metadata", "view_audit", "view_assemblies", "view_usage")

ROLES: dict[str, frozenset[str]] = {
    "owner": frozenset({"manage_people", "manage_workspace", "publish_documents", "break_glass"}),
    "security": frozenset(
        {
            "change_features",
            "manage_keys",
            "propose_documents",
            "approve_documents",
            "publish_documents",
            "view_audit",
            "view_usage",
        }
    ),
    "privacy": frozenset(
        {
            "find_profiles",
            "view_state_metadata",
            "request_erasure",
            "approve_erasure",
            "build_package",
            "place_hold",
            "lift_hold",
            "link_profiles",
            "view_audit",
        }
    ),
    "support": frozenset({"find_profiles", "view_state_metadata"}),
    "engineer": frozenset({"propose_documents", "view_assemblies", "view_usage", "recover_history"}),
    "auditor": frozenset(_VIEWS),
}

ROLE_TITLES: dict[str, str] = {
    "owner": "Owner",
    "security": "Security",
    "privacy": "Privacy",
    "support": "Support",
    "engineer": "Engineer",
    "auditor": "Auditor",
}

KEY_SCOPES: dict[str, str] = {
    "agent_state": "Read and write working memory",
    "history": "Read and write conversation history",
    "context": "Record the runtime graph and assemble contexts",
    "admin": "Find profiles, see metadata, erase and export",
}


def permissions_of(roles: Iterable[str]) -> frozenset[str]:
    """Give what the roles allow together."""
    return frozenset().union(*(ROLES[role] for role in roles))


def roles_with(permission: str) -> list[str]:
    """Name the roles that hold a permission, for the page that says who can give it (CO-8)."""
    return [role for role, held in ROLES.items() if permission in held]
