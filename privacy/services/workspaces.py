"""Closing a workspace, and what may keep it open (PL-5b). What follows is in `closing`."""

from datetime import datetime

from django.db import transaction

from privacy.errors import NotPossibleNow, OnHold
from privacy.models import ErasureRequest
from privacy.selectors.erasures import open_requests
from privacy.services import closing, erasures
from privacy.services.erasures import Asker
from privacy.types import Resolved, Target
from workspaces import audit
from workspaces.barriers import standing_holds
from workspaces.models import Workspace
from workspaces.types import Actor, AuditObject, WorkspaceRef

KIND = ErasureRequest.Target.WORKSPACE


@transaction.atomic
def close_workspace(
    *, workspace: WorkspaceRef, actor: Actor, reason: str = "", now: datetime
) -> ErasureRequest:
    """Close the bound workspace for good: from now on nothing is made or changed in it (PL-5b).

    A worker stops its keys, erases all that it keeps, and signs the receipt; the audit and the documents stay. One that
    is closed already gives the request under which it was. Raises OnHold while a legal hold stands, and NotPossibleNow
    while a request for erasure is open.
    """
    row = Workspace.objects.select_for_update().get(id=workspace.id)
    earlier = ErasureRequest.objects.filter(target=KIND).order_by("-requested_at").first()
    if row.closed_at is not None and earlier is not None:
        return earlier
    if standing_holds(now).exists():
        raise OnHold("A legal hold stands in the workspace.")
    if open_requests().exists():
        raise NotPossibleNow("A request for erasure is open.")
    request = erasures.received(
        workspace, Target(kind=KIND), Resolved(), Asker(actor), reason=reason, now=now
    )
    request.status, request.approved_at, request.decided_by = request.Status.APPROVED, now, actor.name
    request.save()
    on = AuditObject("workspace", str(workspace.id))
    facts = {"reference": request.reference}
    audit.record("workspace.close", actor=actor, now=now, on=on, reason=reason, facts=facts)
    closing.begin(workspace=workspace, request=request, now=now)
    return request
