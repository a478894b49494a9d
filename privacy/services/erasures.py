"""Asking for an erasure, and deciding about it (PR-9, PR-16, PR-17). What follows is in `barriers` and `steps`."""

from datetime import datetime
from uuid import UUID

import msgspec
from django.db import transaction

from privacy.errors import NotPossibleNow
from privacy.models import ErasureRequest
from privacy.rules import deadlines
from privacy.rules import erasures as rules
from privacy.rules.erasures import Refusal
from privacy.selectors import erasures as selectors
from privacy.selectors.approvals import needs_approval
from privacy.services import alerts, barriers
from privacy.types import Resolved, Target
from workspaces import access, audit, documents, locks, rehashing
from workspaces.barriers import hold_people
from workspaces.errors import InvalidInput
from workspaces.types import Actor, AuditObject, FieldProblem, WorkspaceRef

Status = ErasureRequest.Status
MAX_REASON_LENGTH = 500


class Asker(msgspec.Struct, frozen=True):
    """Who asks, and whether the person whom it is about has been identified (PR-17)."""

    actor: Actor
    is_verified: bool = True


@transaction.atomic
def request_erasure(
    *, workspace: WorkspaceRef, target: Target, asker: Asker, reason: str = "", now: datetime
) -> ErasureRequest:
    """Take a request for erasure (PR-9).

    Without the setting that asks for an approval it is approved at once: then reads of what it covers answer as if it
    never existed from this answer on (PR-11). A target that names nobody, or one that is being erased already, is
    refused with a reason, and kept. Raises InvalidInput, HotStoreUnavailable, OutcomeUnknown.
    """
    hold_people()
    rehashing.require_current(workspace)
    found = selectors.resolved(workspace, target)
    request = received(workspace, target, found, asker, reason=reason, now=now)
    refusal = _refusal(request, found)
    audit.record(
        "erasure.request",
        actor=asker.actor,
        now=now,
        on=_object(request),
        reason=reason,
        facts={"target": target.kind, "reference": request.reference},
    )
    if refusal is not None:
        _refuse(request, refusal, actor=asker.actor, now=now)
    elif asker.is_verified and not needs_approval("erasure"):
        _approve(workspace, request, actor=asker.actor, now=now)
    else:
        alerts.tell_erasure_waits(request, actor=asker.actor)
    return request


@transaction.atomic
def verify_identity(*, request_id: UUID, actor: Actor, reason: str, now: datetime) -> ErasureRequest:
    """Note that the person who asks is who they say (PR-17)."""
    request = _locked(request_id)
    rules.require_may_become(request.status, Status.VERIFIED)
    request.status, request.verified_at = Status.VERIFIED, now
    request.save()
    audit.record("erasure.verify", actor=actor, now=now, on=_object(request), reason=reason)
    alerts.tell_erasure_waits(request, actor=actor)
    return request


@transaction.atomic
def approve(
    *, workspace: WorkspaceRef, request_id: UUID, actor: Actor, reason: str, now: datetime
) -> ErasureRequest:
    """Approve a request; its barrier stands when this has committed and returned, unless a hold keeps it (PR-11).

    Whoever asks has been identified before (PR-17). Where erasures need an approval, nobody approves what they asked
    for themselves. Raises NotPossibleNow.
    """
    request = _locked(request_id)
    rules.require_may_become(request.status, Status.APPROVED)
    if needs_approval("erasure") and selectors.is_author(request, actor):
        raise NotPossibleNow("Who asked for an erasure does not approve it.")
    _approve(workspace, request, actor=actor, reason=reason, now=now)
    return request


@transaction.atomic
def refuse(*, request_id: UUID, refusal: Refusal, actor: Actor, reason: str, now: datetime) -> ErasureRequest:
    """Refuse a request whose erasure has not begun, with a reason that a machine can read (PR-17)."""
    request = _locked(request_id)
    rules.require_may_become(request.status, Status.REFUSED)
    if request.erasure_id is not None:
        raise NotPossibleNow("The erasure has begun.")
    _refuse(request, refusal, actor=actor, reason=reason, now=now)
    return request


@transaction.atomic
def extend(*, request_id: UUID, actor: Actor, reason: str, now: datetime) -> ErasureRequest:
    """Extend the deadline once, where the regime allows it, with a reason (PR-17)."""
    request = _locked(request_id)
    longer = deadlines.extended_due_on(request.regime, request.requested_at.date())
    if longer is None or request.extended_on is not None or not request.is_open:
        raise NotPossibleNow("The deadline cannot be extended, or was before.")
    if not 0 < len(reason.strip()) <= MAX_REASON_LENGTH:
        problem = FieldProblem("/reason", "required", "A reason of 1 to 500 characters is required.")
        raise InvalidInput(errors=(problem,))
    request.due_on, request.extended_on = longer, now.date()
    request.save()
    audit.record("erasure.extend", actor=actor, now=now, on=_object(request), reason=reason)
    return request


def received(
    workspace: WorkspaceRef, target: Target, found: Resolved, asker: Asker, *, reason: str, now: datetime
) -> ErasureRequest:
    """Keep a request under the next number, in the caller's transaction."""
    locks.lock(locks.number(b"erasure-numbers"))
    last = ErasureRequest.objects.order_by("-number").values_list("number", flat=True).first()
    regime = documents.live("retention")["retention"].body["regime"]
    return ErasureRequest.objects.create(
        number=(last or 0) + 1,
        target=target.kind,
        profile_id=found.profile_id or target.profile_id,
        handle_ids=list(found.handle_ids),
        scope_hash=found.scope_hash,
        scope_hash_before=rehashing.previous_scope_hash(workspace, target.kind, target.scope_id)
        if found.scope_hash
        else None,
        hash_key_id=workspace.hash_key_id,
        reason=audit.clean_reason(reason) if reason else "",
        regime=regime,
        due_on=deadlines.due_on(regime, now.date()),
        asked_by_kind=asker.actor.kind,
        asked_by_id=asker.actor.id,
        asked_by=asker.actor.name,
        requested_at=now,
        verified_at=now if asker.is_verified else None,
        status=Status.VERIFIED if asker.is_verified else Status.RECEIVED,
    )


def _refusal(request: ErasureRequest, found: Resolved) -> Refusal | None:
    if not found.is_found:
        return "no_match"
    same = selectors.open_requests().exclude(id=request.id).filter(target=request.target)
    same = same.filter(
        profile_id=request.profile_id, handle_ids=request.handle_ids, scope_hash=request.scope_hash
    )
    request.duplicate_of = same.order_by("requested_at").first()
    return "duplicate" if request.duplicate_of else None


def _approve(
    workspace: WorkspaceRef, request: ErasureRequest, *, actor: Actor, reason: str = "", now: datetime
) -> None:
    request.status, request.approved_at, request.decided_by = Status.APPROVED, now, actor.name
    request.save()
    audit.record("erasure.approve", actor=actor, now=now, on=_object(request), reason=reason)
    barriers.begin(workspace=workspace, request=request, now=now)


def _refuse(
    request: ErasureRequest, refusal: Refusal, *, actor: Actor, reason: str = "", now: datetime
) -> None:
    request.status, request.refusal, request.ended_at = Status.REFUSED, refusal, now
    request.decided_by = actor.name
    request.save()
    audit.record(
        "erasure.refuse", actor=actor, now=now, on=_object(request), reason=reason, facts={"refusal": refusal}
    )


def _locked(request_id: UUID) -> ErasureRequest:
    return access.one(ErasureRequest.objects.select_for_update(), id=request_id)


def _object(request: ErasureRequest) -> AuditObject:
    return AuditObject("erasure", str(request.id))
