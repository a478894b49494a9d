"""Requests for erasure as people and callers see them (PR-9, PR-16, PR-17)."""

from datetime import date, datetime, timedelta
from typing import Literal
from uuid import UUID

import msgspec
from django.db.models import Count, Min, Q, QuerySet, Sum

from agentstate.models import KeptVersion, State
from agentstate.selectors import erasures as states
from assembly.models import Graph
from assembly.selectors import erasures as graphs
from assembly.selectors.metadata import totals_of
from history.models import KeptItem, Session
from history.selectors import erasures as sessions
from privacy.models import ErasureRequest
from privacy.selectors.naming import scopes_alone
from privacy.types import DryRun, Resolved, Target
from workspaces import barriers, encryption
from workspaces.models import Erasure, Handle, HeldKey, Hold
from workspaces.scopes import scope_of
from workspaces.selectors.profiles import handles_named, known_handle, profiles
from workspaces.types import Actor, WorkspaceRef

CLOSE_DAYS = 7
AGES = (0, 8, 16, 31)
"""In days, where each age of open requests begins."""


class Age(msgspec.Struct, frozen=True):
    """The open requests of one age: how many, and how many of them are past their deadline."""

    count: int
    late: int


class Covered(msgspec.Struct, frozen=True):
    """What an erasure is about in each app."""

    states: QuerySet[State]
    sessions: QuerySet[Session]
    graphs: QuerySet[Graph]


def resolved(workspace: WorkspaceRef, target: Target) -> Resolved:
    """Find what a target names. Raises InvalidInput for an object that is not `type:namespace:id`."""
    if target.kind == "profile":
        return _profile(target.profile_id)
    if target.kind == "handle":
        return _handle(_named_handle(workspace, target))
    scope = scope_of(workspace, kind=target.kind, id=target.scope_id)
    return Resolved(scope_hash=scope.hash)


def requests() -> QuerySet[ErasureRequest]:
    """List the requests of the bound workspace."""
    return ErasureRequest.objects.prefetch_related("steps")


def open_requests() -> QuerySet[ErasureRequest]:
    """List those that have not ended."""
    return ErasureRequest.objects.filter(ended_at__isnull=True)


def ended_requests() -> QuerySet[ErasureRequest]:
    """List those that have ended."""
    return ErasureRequest.objects.filter(ended_at__isnull=False)


def close_to_due(today: date) -> QuerySet[ErasureRequest]:
    """List open requests whose legal deadline is near or past (PR-17)."""
    return open_requests().filter(due_on__lte=close_day(today))


def open_by_age(today: date) -> list[Age]:
    """Count the open requests that were asked up to 7, 15, 30 and more days ago, and which of them are late."""
    counts: dict[str, Count] = {}
    for number, (youngest, oldest) in enumerate(zip(AGES, (*AGES[1:], None), strict=True)):
        asked = Q(requested_at__date__lte=today - timedelta(days=youngest))
        if oldest is not None:
            asked &= Q(requested_at__date__gt=today - timedelta(days=oldest))
        counts[f"count_{number}"] = Count("id", filter=asked)
        counts[f"late_{number}"] = Count("id", filter=asked & Q(due_on__lt=today))
    found = open_requests().aggregate(**counts)
    return [Age(found[f"count_{number}"], found[f"late_{number}"]) for number in range(len(AGES))]


def close_day(today: date) -> date:
    """Give the last day whose deadline counts as near."""
    return today + timedelta(days=CLOSE_DAYS)


def due_word(request: ErasureRequest, today: date) -> str:
    """Say of an open request whether its deadline has passed or is near: late, due_soon, or nothing."""
    if not request.is_open or request.due_on > close_day(today):
        return ""
    return "late" if request.due_on < today else "due_soon"


def blocking_holds(request: ErasureRequest, *, now: datetime) -> QuerySet[Hold]:
    """List the holds that keep an erasure from beginning (PR-16).

    One that has ended is among them until what it kept is gone too: no receipt is given while a copy is left.
    """
    found = _covered(request, now=now)
    people = {found_id for found_id in (request.profile_id,) if found_id is not None}
    handles = Q(id__in=found.states.filter(handle_id__isnull=False).values("handle_id"))
    handles |= Q(id__in=found.sessions.filter(handle_id__isnull=False).values("handle_id"))
    people |= set(Handle.objects.filter(handles).values_list("profile_id", flat=True))
    people |= set(graphs.named_in(found.graphs).values_list("handle__profile_id", flat=True))
    scopes = {bytes(request.scope_hash)} if request.scope_hash else set()
    named = (
        found.states.values_list("scope_hash"),
        found.sessions.values_list("conversation_hash"),
        found.graphs.values_list("conversation_hash"),
    )
    for rows in named:
        scopes |= {bytes(scope) for (scope,) in rows.distinct() if scope is not None}
    on_it = barriers.holding(profile_ids=people, scope_hashes=scopes)
    return barriers.unsettled_holds().filter(on_it | _keeping(request))


def blocked_by(request: ErasureRequest, *, now: datetime) -> Literal["approval", "hold"] | None:
    """Say what a waiting request waits for: an approval, a hold, or nothing (PR-9)."""
    if request.status in ("received", "verified"):
        return "approval"
    is_waiting = request.status == "approved" and request.erasure_id is None
    return "hold" if is_waiting and blocking_holds(request, now=now).exists() else None


def dry_run(request: ErasureRequest, *, now: datetime) -> DryRun:
    """Count what an erasure would remove."""
    found = _covered(request, now=now)
    of_states = found.states.aggregate(
        count=Count("id"), bytes=Sum("body_bytes", default=0), earliest=Min("created_at")
    )
    of_sessions = found.sessions.aggregate(
        count=Count("id"),
        messages=Sum("item_count", default=0),
        bytes=Sum("stored_bytes", default=0),
        earliest=Min("created_at"),
    )
    of_graphs = totals_of(found.graphs)
    holds = tuple(blocking_holds(request, now=now).values_list("id", flat=True))
    return DryRun(
        states=of_states["count"],
        sessions=of_sessions["count"],
        messages=of_sessions["messages"],
        graphs=of_graphs.graphs,
        records=of_graphs.records,
        bytes=of_states["bytes"] + of_sessions["bytes"] + of_graphs.bytes,
        handles=len(request.handle_ids),
        profiles=1 if request.profile_id and is_whole_profile(request) else 0,
        held_by=holds,
        earliest=min(
            filter(None, (of_states["earliest"], of_sessions["earliest"], of_graphs.earliest)), default=None
        ),
    )


def handle_named(workspace: WorkspaceRef, text: str, *, type: str = "", namespace: str = "") -> Handle | None:
    """Give the one handle that a text names, in any spelling; none for a pseudonym or where several kinds fit."""
    found = list(handles_named(workspace, text, type=type or None, namespace=namespace or None)[:2])
    return found[0] if len(found) == 1 else None


def planned(workspace: WorkspaceRef, target: Target) -> ErasureRequest:
    """Give the request that a target would be, unsaved, to count what it would remove."""
    found = resolved(workspace, target)
    return ErasureRequest(
        target=target.kind,
        profile_id=found.profile_id,
        handle_ids=list(found.handle_ids),
        scope_hash=found.scope_hash,
        hash_key_id=workspace.hash_key_id,
    )


def planned_scope(workspace: WorkspaceRef, kind: str, scope_hash: bytes) -> ErasureRequest:
    """Give the same of a conversation, task or object that is known by its keyed hash."""
    return ErasureRequest(target=kind, scope_hash=scope_hash, hash_key_id=workspace.hash_key_id)


def is_whole_profile(request: ErasureRequest) -> bool:
    """Tell whether the person goes with their handles: it names all that they have (PR-10)."""
    if request.profile_id is None:
        return False
    others = Handle.objects.filter(profile_id=request.profile_id).exclude(id__in=request.handle_ids)
    return not others.exists()


def overdue(today: date) -> QuerySet[ErasureRequest]:
    """List open requests whose legal deadline has passed (PR-17)."""
    return open_requests().filter(due_on__lt=today)


def is_author(request: ErasureRequest, actor: Actor) -> bool:
    """Tell whether somebody asked for it themselves; a person who asked by a token is the same in the console."""
    people = {"person", "token"}
    if request.asked_by_kind in people and actor.kind in people:
        return request.asked_by == actor.name
    return (request.asked_by_kind, request.asked_by_id) == (actor.kind, actor.id)


def pseudonym_of_actor(workspace: WorkspaceRef, kind: str, id: str) -> str:
    """Name somebody in a receipt without their name: the same person gets the same word (PR-14)."""
    return f"{kind}:{encryption.keyed_hash(workspace, 'receipt-actor', kind, id).hex()[:20]}"


def _keeping(request: ErasureRequest) -> Q:
    """Describe the holds that have kept something that an erasure is about, though no live state is left of it."""
    keys = HeldKey.objects.filter(key_id__in=request.handle_ids).values("hold_id")
    if request.scope_hash is None:
        return Q(id__in=keys)
    versions = KeptVersion.objects.filter(scope_hash=request.scope_hash).values("hold_id")
    items = KeptItem.objects.filter(conversation_hash=request.scope_hash).values("hold_id")
    return Q(id__in=keys) | Q(id__in=versions) | Q(id__in=items)


def _covered(request: ErasureRequest, *, now: datetime) -> Covered:
    erasure = Erasure(handle_ids=request.handle_ids, scope_hash=request.scope_hash, began_at=now)
    alone = scopes_alone(request.handle_ids)
    return Covered(
        states.covered(erasure, alone=alone),
        sessions.covered(erasure, alone=alone),
        graphs.covered(erasure, alone=alone),
    )


def _profile(profile_id: UUID | None) -> Resolved:
    profile = profiles().filter(id=profile_id).first() if profile_id else None
    if profile is None:
        return Resolved()
    handles = tuple(handle.id for handle in profile.handles.all())
    return Resolved(profile_id=profile.id, handle_ids=handles)


def _named_handle(workspace: WorkspaceRef, target: Target) -> Handle | None:
    if target.handle is not None:
        return known_handle(workspace, target.handle)
    return Handle.objects.filter(id=target.handle_id, erasure_id=None).first() if target.handle_id else None


def _handle(handle: Handle | None) -> Resolved:
    if handle is None:
        return Resolved()
    return Resolved(profile_id=handle.profile_id, handle_ids=(handle.id,))
