"""What takes the approval of a second person in the bound workspace, and whether it has one (PR-2b)."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import QuerySet

from workspaces.binding import bound_workspace_id
from workspaces.errors import ApprovalRequired
from workspaces.models import Approval, ChangeRequest, FourEyes, Workspace
from workspaces.rules import approvals as rules
from workspaces.rules.documents import KINDS
from workspaces.selectors.people import permissions_of
from workspaces.types import WorkspaceRef

Status = ChangeRequest.Status
OPEN = (Status.PROPOSED, Status.SCHEDULED)
EDITABLE = (*OPEN, Status.FAILED)


def needs_approval(kind: str) -> bool:
    """Tell whether four eyes hold for a kind of document, or for `erasure` (PR-2b, PR-9)."""
    return FourEyes.objects.filter(kinds__contains=[kind]).exists()


def four_eyes() -> FourEyes:
    """Give where four eyes hold, with the version that a change replaces; off everywhere where nothing was set."""
    return FourEyes.objects.first() or FourEyes()


def approving_roles(roles: Iterable[str]) -> frozenset[str]:
    """Name those of some roles whose grant takes four eyes now."""
    return frozenset(roles) & rules.approving_roles(four_eyes().kinds)


def takes_approval(request: ChangeRequest) -> bool:
    """Tell whether a request takes the approval of a second person as things stand now."""
    if request.kind in KINDS:
        return needs_approval(request.kind)
    if request.kind == rules.FOUR_EYES:
        return bool(rules.weakened(four_eyes().kinds, request.body["kinds"]))
    return bool(approving_roles(gained_roles(request)))


def gained_roles(request: ChangeRequest) -> frozenset[str]:
    """Name the roles that a request gives and the person did not hold when it was made."""
    return frozenset(request.body["after"]) - frozenset(request.body.get("before", ()))


def content_digest(request: ChangeRequest) -> str:
    """Give the digest of what a request says now: what an approval is bound to."""
    return rules.content_digest(
        kind=request.kind,
        body=request.body,
        drop=request.drop,
        replaces=request.replaces,
        reason=request.reason,
        publish_at=request.publish_at,
    )


def approvals_of(request: ChangeRequest) -> list[Approval]:
    """List the approvals of a request in order, those of an older content too."""
    return list(request.approvals.select_related("person").order_by("approved_at", "id"))


def counting_approvals(request: ChangeRequest) -> list[Approval]:
    """List the approvals that count.

    Each is of exactly this content, by somebody else than the author and whom it is about, who may still approve.
    """
    digest, workspace = content_digest(request), bound_workspace()
    return [
        approval
        for approval in approvals_of(request)
        if approval.digest == digest
        and not is_own(request, approval.person_id)
        and rules.may("approve", request.kind, permissions_of(approval.person, workspace))
    ]


def is_own(request: ChangeRequest, person_id: UUID | None) -> bool:
    """Tell whether a person asked for a change, or would get roles by it: they approve it in no case."""
    return person_id is None or person_id == request.author_id or request.body.get("person") == str(person_id)


def is_cleared(request: ChangeRequest) -> bool:
    """Tell whether a request may come into force: another person approved this content, or the glass was broken."""
    return request.is_glass_broken or bool(counting_approvals(request))


def require_cleared(request: ChangeRequest) -> None:
    """Refuse to put a request into force that takes an approval and has none that counts."""
    if takes_approval(request) and not is_cleared(request):
        raise ApprovalRequired


def bound_workspace() -> WorkspaceRef:
    """Give the bound workspace, as callers carry it."""
    return Workspace.objects.get(id=bound_workspace_id()).ref


def closed_requests() -> QuerySet[ChangeRequest]:
    """List the requests that are closed or failed, newest first."""
    rows = ChangeRequest.objects.exclude(status__in=OPEN)
    return rows.select_related("author").order_by("-proposed_at")


def waiting_for_others(*, but: UUID) -> QuerySet[ChangeRequest]:
    """List the requests that wait for a decision and were asked for by somebody else."""
    rows = ChangeRequest.objects.filter(status=Status.PROPOSED)
    return rows.exclude(author_id=but)


def open_requests() -> QuerySet[ChangeRequest]:
    """List the requests that wait, oldest first."""
    rows = ChangeRequest.objects.filter(status__in=OPEN)
    return rows.select_related("author").order_by("proposed_at")
