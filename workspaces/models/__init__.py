"""The tables of the ground floor, one file per noun."""

from workspaces.models.audit import AuditEntry, AuditHead, DeploymentAuditEntry, DeploymentAuditHead
from workspaces.models.credentials import ApiKey, PersonalToken, Source
from workspaces.models.documents import Document, DocumentChange, DocumentHead
from workspaces.models.encryption import WrappedKey
from workspaces.models.idempotency import RememberedAnswer
from workspaces.models.people import Invitation, Membership, Person, Role
from workspaces.models.profiles import Handle, Profile
from workspaces.models.tenancy import TenantModel, Workspace, WorkspaceNotBound

__all__ = [
    "ApiKey",
    "AuditEntry",
    "AuditHead",
    "DeploymentAuditEntry",
    "DeploymentAuditHead",
    "Document",
    "DocumentChange",
    "DocumentHead",
    "Handle",
    "Invitation",
    "Membership",
    "Person",
    "PersonalToken",
    "Profile",
    "RememberedAnswer",
    "Role",
    "Source",
    "TenantModel",
    "Workspace",
    "WorkspaceNotBound",
    "WrappedKey",
]
