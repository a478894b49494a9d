"""What becomes of a request for a change, up to the point where it comes into force (PR-2b, CO-6).

This is the one gate: a request is the only way for a change that takes a second person, whoever asks and however.
What puts one into force calls `require_cleared` itself, so that no way leads around it.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from workspaces import access, audit, locks
from workspaces.binding import bound_workspace_id
from workspaces.errors import (
    ApprovalRequired,
    Conflict,
    InvalidInput,
    OwnChange,
    PermissionMissing,
    WrongVersion,
)
from workspaces.models import Approval, ChangeRequest, FourEyes
from workspaces.rules import approvals as rules
from workspaces.rules.documents import KINDS
from workspaces.selectors import approvals as selectors
from workspaces.types import Actor, AuditObject, ChangeWish, Decider, FieldProblem

Status = ChangeRequest.Status
MAX_REASON_LENGTH = 500
MAX_AHEAD = timedelta(days=366)


def hold() -> None:
    """Let one decision about changes go at a time in the bound workspace, before any other lock is taken."""
    locks.lock(locks.number(b"approvals"))


def locked(request_id: UUID, *, statuses: Iterable[str] = selectors.OPEN, seen: str = "") -> ChangeRequest:
    """Lock a request that is still open and says what was seen (its digest), or refuse: Conflict, WrongVersion."""
    hold()
    request = access.one(ChangeRequest.objects.select_for_update(), id=request_id)
    if request.status not in statuses:
        raise Conflict(f"The change was {request.status} before.")
    if seen and seen != selectors.content_digest(request):
        raise WrongVersion("The change says something else by now.")
    return request


@transaction.atomic
def open_request(*, wish: ChangeWish, author_id: UUID | None, actor: Actor, now: datetime) -> ChangeRequest:
    """Keep a change that somebody asks for; it changes nothing. The caller has checked what it says."""
    request = ChangeRequest(kind=wish.kind, author_id=author_id, proposed_at=now)
    _say(request, wish, now)
    request.save(force_insert=True)
    note("propose", request, actor=actor, reason=wish.reason, now=now)
    return request


@transaction.atomic
def edit_request(*, request: ChangeRequest, wish: ChangeWish, by: Decider, now: datetime) -> None:
    """Change what a locked request says: only its author may, and every approval so far counts no more."""
    if by.person_id is None or by.person_id != request.author_id:
        raise OwnChange("Only the author edits a change: make another one.")
    _say(request, wish, now)
    request.status, request.publisher, request.failure = Status.PROPOSED, None, ""
    request.save()
    note("edit", request, actor=by.actor, reason=wish.reason, now=now)


@transaction.atomic
def approve_request(*, request: ChangeRequest, reason: str, by: Decider, now: datetime) -> None:
    """Approve exactly what a locked request says now. Raises OwnChange for its author and whom it is about."""
    require_may("approve", request, by)
    if by.person_id is None or selectors.is_own(request, by.person_id):
        raise OwnChange
    Approval.objects.get_or_create(
        request=request,
        person_id=by.person_id,
        digest=selectors.content_digest(request),
        defaults={"approved_at": now, "reason": audit.clean_reason(reason) if reason else ""},
    )
    note("approve", request, actor=by.actor, reason=reason, now=now)


@transaction.atomic
def deny_request(*, request_id: UUID, reason: str, by: Decider, now: datetime) -> ChangeRequest:
    """End a request without its change; whoever could approve or publish it may, but its author withdraws it."""
    require_reason(reason)
    request = locked(request_id)
    if not any(rules.may(act, request.kind, by.may) for act in ("approve", "publish")):
        require_may("approve", request, by)
    if by.person_id is not None and by.person_id == request.author_id:
        raise OwnChange("The author withdraws a change instead.")
    _settle(request, Status.DENIED, reason, by, now)
    note("deny", request, actor=by.actor, reason=reason, now=now)
    return request


@transaction.atomic
def withdraw_request(*, request_id: UUID, reason: str, by: Decider, now: datetime) -> ChangeRequest:
    """Take one's own request back."""
    require_reason(reason)
    request = locked(request_id, statuses=selectors.EDITABLE)
    if by.person_id is None or by.person_id != request.author_id:
        raise OwnChange("Only the author withdraws a change: deny it instead.")
    _settle(request, Status.WITHDRAWN, reason, by, now)
    note("withdraw", request, actor=by.actor, reason=reason, now=now)
    return request


def schedule_request(*, request: ChangeRequest, by: Decider, now: datetime) -> None:
    """Let a locked request come into force at the time that its author asked for."""
    request.status, request.publisher_id = Status.SCHEDULED, by.person_id
    request.save(update_fields=["status", "publisher"])
    note("schedule", request, actor=by.actor, reason=request.reason, now=now)


def break_glass_for(*, request: ChangeRequest, reason: str, by: Decider, now: datetime) -> None:
    """Note that a locked request comes into force without approval, by whom and why."""
    require_reason(reason)
    require_may("break_glass", request, by)
    if by.person_id is None:
        raise PermissionMissing("A person breaks the glass.")
    request.is_glass_broken = True
    request.settled_by_id, request.settled_at = by.person_id, now
    request.settled_reason = audit.clean_reason(reason)
    request.save(update_fields=["is_glass_broken", "settled_by", "settled_at", "settled_reason"])
    note("break_glass", request, actor=by.actor, reason=reason, now=now)


def fail_request(*, request: ChangeRequest, code: str, actor: Actor, now: datetime) -> None:
    """Note that a scheduled change could not come into force, for everybody to see."""
    request.status, request.failure = Status.FAILED, code
    request.save(update_fields=["status", "failure"])
    note("publish", request, actor=actor, reason=request.reason, now=now, result="failed", code=code)


def close_published(*, request: ChangeRequest, publisher_id: UUID | None) -> None:
    """Note that a request is in force."""
    request.status, request.publisher_id = Status.PUBLISHED, publisher_id
    request.save(update_fields=["status", "publisher", "published"])


@transaction.atomic
def set_four_eyes(
    *,
    kinds: Iterable[str],
    replaces: int,
    reason: str,
    by: Decider,
    now: datetime,
    request: ChangeRequest | None = None,
) -> FourEyes:
    """Set for which kinds four eyes hold (PR-2b).

    Turning them on takes security or an owner, and holds at once. Turning them off for one of the kinds takes a
    request that another person approved, or ApprovalRequired. Raises WrongVersion where the setting moved.
    """
    hold()
    chosen = known_kinds(kinds)
    require_reason(reason)
    FourEyes.objects.get_or_create()
    setting = FourEyes.objects.select_for_update().get()
    if setting.version != replaces:
        raise WrongVersion(f"Version {setting.version} of the setting is live.")
    off, on = sorted(rules.weakened(setting.kinds, chosen)), sorted(set(chosen) - set(setting.kinds))
    if off:
        require_request(request, kind=rules.FOUR_EYES, body={"kinds": chosen})
    elif request is None:
        require_permission_for("publish", rules.FOUR_EYES, by)
    setting.kinds, setting.version = chosen, setting.version + 1
    setting.save(update_fields=["kinds", "version"])
    audit.record(
        "four_eyes.change",
        actor=by.actor,
        now=now,
        on=AuditObject("workspace", str(bound_workspace_id())),
        reason=reason,
        facts={"on": on, "off": off, "version": setting.version},
    )
    return setting


def require_request(request: ChangeRequest | None, *, kind: str, body: Any) -> None:
    """Refuse what takes a second person without a request that says exactly this and is cleared.

    What the caller holds may be old or its own: what the database says counts.
    """
    stored = ChangeRequest.objects.filter(id=request.id, kind=kind).first() if request else None
    if stored is None or not _says(stored, body) or not selectors.is_cleared(stored):
        raise ApprovalRequired


def require_may(act: str, request: ChangeRequest, by: Decider) -> None:
    """Refuse a person without the permission that an act on a request takes."""
    require_permission_for(act, request.kind, by)


def require_permission_for(act: str, kind: str, by: Decider) -> None:
    """Refuse a person without the permission that an act takes for a kind of request."""
    if not rules.may(act, kind, by.may):
        word = " and " if act == "break_glass" else " or "
        names = word.join(f"`{name}`" for name in rules.needed(act, kind))
        raise PermissionMissing(f"The permission is {names}.")


def require_reason(reason: str) -> None:
    """Refuse a change without a reason of 1 to 500 characters."""
    if not 0 < len(reason.strip()) <= MAX_REASON_LENGTH:
        problem = FieldProblem("/reason", "required", "A reason of 1 to 500 characters is required.")
        raise InvalidInput(errors=(problem,))


def known_kinds(kinds: Iterable[str]) -> list[str]:
    """Give the kinds for which four eyes can hold in one order, or refuse one that is none."""
    chosen = set(kinds)
    if not chosen <= set(rules.GUARDED):
        problem = FieldProblem("/kinds", "unknown_value", f"The kinds are: {', '.join(rules.GUARDED)}.")
        raise InvalidInput(errors=(problem,))
    return [kind for kind in rules.GUARDED if kind in chosen]


def note(
    deed: str,
    request: ChangeRequest,
    *,
    actor: Actor,
    reason: str,
    now: datetime,
    result: str = "done",
    code: str = "",
) -> None:
    """Write what was done with a request to the audit: ids and kinds, never what it says."""
    facts: dict[str, Any] = {"change": str(request.id), "replaces": request.replaces}
    if code:
        facts["code"] = code
    on = AuditObject("document", request.kind) if request.kind in KINDS else _object_of(request)
    if request.kind not in KINDS:
        facts["kind"] = request.kind
    audit.record(f"document.{deed}", actor=actor, now=now, on=on, reason=reason, result=result, facts=facts)


def _object_of(request: ChangeRequest) -> AuditObject:
    return AuditObject("change", str(request.id))


def _say(request: ChangeRequest, wish: ChangeWish, now: datetime) -> None:
    require_reason(wish.reason)
    _require_future(wish.publish_at, now)
    request.body, request.replaces, request.drop = wish.document, wish.replaces, list(wish.drop)
    request.reason, request.publish_at = audit.clean_reason(wish.reason), wish.publish_at


def _says(request: ChangeRequest, body: Any) -> bool:
    return all(request.body.get(name) == value for name, value in body.items())


def _settle(request: ChangeRequest, status: str, reason: str, by: Decider, now: datetime) -> None:
    request.status, request.settled_by_id, request.settled_at = status, by.person_id, now
    request.settled_reason = audit.clean_reason(reason)
    request.save(update_fields=["status", "settled_by", "settled_at", "settled_reason"])


def _require_future(publish_at: datetime | None, now: datetime) -> None:
    if publish_at is None:
        return
    if publish_at <= now:
        raise InvalidInput(errors=(FieldProblem("/publish_at", "too_small", "It lies in the future."),))
    if publish_at > now + MAX_AHEAD:
        raise InvalidInput(errors=(FieldProblem("/publish_at", "too_large", "It lies within a year."),))
