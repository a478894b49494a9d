"""The tables of the ground floor, one file per noun."""

from workspaces.binding import WorkspaceNotBound
from workspaces.models.approvals import Approval, ChangeRequest, FourEyes
from workspaces.models.audit import AuditEntry, AuditHead, DeploymentAuditEntry, DeploymentAuditHead
from workspaces.models.barriers import ErasedItem, Erasure, HeldKey, Hold, Tombstone
from workspaces.models.credentials import ApiKey, PersonalToken, Source
from workspaces.models.documents import Document, DocumentHead
from workspaces.models.encryption import DeploymentKey, RetiredKey, WrappedKey
from workspaces.models.idempotency import RememberedAnswer
from workspaces.models.outside import Outgoing
from workspaces.models.people import Invitation, Membership, Person, Role
from workspaces.models.profiles import Handle, Profile
from workspaces.models.runs import ScheduledRun
from workspaces.models.sign_ins import (
    FailingNetwork,
    OpenIdAccount,
    RecoveryCode,
    SecondFactor,
    StaffSession,
)
from workspaces.models.signing import SigningKey
from workspaces.models.tenancy import TenantModel, Workspace, WorkspaceRow
from workspaces.models.usage import UsageHour

__all__ = [
    "ApiKey",
    "Approval",
    "AuditEntry",
    "AuditHead",
    "ChangeRequest",
    "DeploymentAuditEntry",
    "DeploymentAuditHead",
    "DeploymentKey",
    "Document",
    "DocumentHead",
    "ErasedItem",
    "Erasure",
    "FailingNetwork",
    "FourEyes",
    "Handle",
    "HeldKey",
    "Hold",
    "Invitation",
    "Membership",
    "OpenIdAccount",
    "Outgoing",
    "Person",
    "PersonalToken",
    "Profile",
    "RecoveryCode",
    "RememberedAnswer",
    "RetiredKey",
    "Role",
    "ScheduledRun",
    "SecondFactor",
    "SigningKey",
    "Source",
    "StaffSession",
    "TenantModel",
    "Tombstone",
    "UsageHour",
    "Workspace",
    "WorkspaceNotBound",
    "WorkspaceRow",
    "WrappedKey",
]
