"""The moment from which an erasure holds: reads answer as if nothing had been there, in every store (PR-11)."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
from django.db import transaction
from django.db.models import QuerySet

from agentstate.models import State
from agentstate.services import erasures as states
from assembly.models import Graph
from assembly.selectors.erasures import covered as covered_graphs
from assembly.selectors.erasures import named_in
from assembly.services import erasures as graphs
from history.models import Session
from history.services import erasures as sessions
from privacy.models import ErasureRequest, ErasureStep
from privacy.rules import erasures as rules
from privacy.selectors.erasures import blocking_holds, is_whole_profile
from privacy.selectors.naming import scopes_alone
from privacy.services import closing
from privacy.services.packages import end_packages
from workspaces import access, documents, encryption
from workspaces.barriers import lock_holds
from workspaces.models import Erasure, Handle, Profile, Tombstone
from workspaces.rules.documents import duration_seconds
from workspaces.types import WorkspaceRef

Status = ErasureRequest.Status


class Marked(msgspec.Struct, frozen=True):
    """How many things of each app an erasure has marked."""

    states: int
    sessions: int
    records: int


@transaction.atomic
def begin(
    *, workspace: WorkspaceRef, request: ErasureRequest, now: datetime, is_held_back: bool = True
) -> bool:
    """Begin an approved erasure, unless a hold keeps what it covers; tell whether it begins (PR-11, PR-16).

    1. Mark the handles, the person, the states, the sessions and what goes of graphs, leave tombstones of their names
       (PR-12), and end the packages that hold any of it, in this transaction.
    2. When that has committed, bar their keys in the other database and in the hot store: from then on nothing of it
       is read, also not from a copy that a process or the hot store still has.
    A crash between the two leaves an approved request that has begun, which a worker takes up (`stand`).
    """
    if request.target == ErasureRequest.Target.WORKSPACE:
        return closing.begin(workspace=workspace, request=request, now=now)
    # The name of its scope may have moved since it was read (PL-12).
    request.refresh_from_db(fields=["scope_hash", "hash_key_id"], from_queryset=_requests_to_change())
    lock_holds()
    if is_held_back and blocking_holds(request, now=now).exists():
        return False
    whole = is_whole_profile(request)
    erasure = Erasure.objects.create(
        id=request.id,
        profile_ids=[request.profile_id] if whole else [],
        handle_ids=request.handle_ids,
        scope_hash=request.scope_hash,
        began_at=now,
    )
    encryption.make_key(
        workspace, key_id=erasure.id, purpose="erasure", under=encryption.workspace_key(workspace), now=now
    )
    Handle.objects.filter(id__in=erasure.handle_ids).update(erasure_id=erasure.id)
    Profile.objects.filter(id__in=erasure.profile_ids).update(erasure_id=erasure.id)
    alone = scopes_alone(erasure.handle_ids)
    of_graphs = _named_in_graphs(erasure, alone)
    marked = Marked(
        states.mark(erasure, alone=alone),
        sessions.mark(erasure, alone=alone),
        graphs.mark(workspace, erasure, alone=alone),
    )
    erasure.named_profile_ids = sorted(_named(request) | of_graphs)
    erasure.save(update_fields=["named_profile_ids"])
    end_packages(workspace=workspace, profile_ids=erasure.named_profile_ids, now=now)
    _leave_tombstones(request, erasure, alone)
    _plan(request, marked)
    request.erasure = erasure
    request.save(update_fields=["erasure"])
    transaction.on_commit(partial(stand, workspace=workspace, request_id=request.id))
    return True


def _requests_to_change() -> QuerySet[ErasureRequest]:
    return ErasureRequest.objects.select_for_update()


def stand(*, workspace: WorkspaceRef, request_id: UUID) -> None:
    """Bar every key of what an erasure covers; after this no store gives any of it (PR-11). Repeating it is safe."""
    with access.bound(workspace.id):
        request = ErasureRequest.objects.select_related("erasure").get(id=request_id)
        erasure = request.erasure
        if erasure is None or request.status not in (Status.APPROVED, Status.RUNNING):
            return
        beside = (key for model in (State, Session, Graph) for key in _keys_beside(erasure, model))
        keys = [*erasure.handle_ids, *beside]
        encryption.bar_keys(workspace, *keys, by=erasure.id)
        ErasureRequest.objects.filter(id=request.id, status=Status.APPROVED).update(status=Status.RUNNING)


@transaction.atomic
def mark_again(workspace: WorkspaceRef, erasure: Erasure) -> Marked:
    """Mark in every app what was being written while the erasure began, and is covered by it."""
    # The name of its scope may have moved since it was read (PL-12).
    erasure = Erasure.objects.select_for_update().get(id=erasure.id)
    alone = scopes_alone(erasure.handle_ids)
    return Marked(
        states.mark(erasure, alone=alone, is_again=True),
        sessions.mark(erasure, alone=alone, is_again=True),
        graphs.mark(workspace, erasure, alone=alone, is_again=True),
    )


def _keys_beside(erasure: Erasure, model: type[State] | type[Session] | type[Graph]) -> Iterable[UUID]:
    """List the data keys of what is marked that no key of an erased handle wraps."""
    rows: QuerySet[Any] = model.objects.filter(erasure_id=erasure.id, data_key_id__isnull=False)
    if erasure.handle_ids:
        rows = rows.exclude(handle_id__in=erasure.handle_ids)
    return rows.values_list("data_key_id", flat=True)


def _leave_tombstones(request: ErasureRequest, erasure: Erasure, scopes: Mapping[bytes, UUID]) -> None:
    until = erasure.began_at + timedelta(seconds=_tombstone_seconds())
    handles = Handle.objects.filter(id__in=erasure.handle_ids).values_list("hash", "hash_key_id")
    names = [("handle", bytes(name), key) for name, key in handles]
    names += [("scope", name, key) for name, key in scopes.items()]
    if erasure.scope_hash is not None:
        names.append(("scope", bytes(erasure.scope_hash), request.hash_key_id))
    rows = [
        Tombstone(kind=kind, hash=name, hash_key_id=key, erased_at=erasure.began_at, due_at=until)
        for kind, name, key in names
    ]
    Tombstone.objects.bulk_create(
        rows,
        update_conflicts=True,
        update_fields=["erased_at", "due_at", "hash_key_id"],
        unique_fields=["workspace", "kind", "hash"],
    )


def _named_in_graphs(erasure: Erasure, alone: Collection[bytes]) -> set[UUID]:
    """List whom the graphs name of which something goes: also who stays, since their packages hold it too."""
    people = named_in(covered_graphs(erasure, alone=alone))
    return set(people.values_list("handle__profile_id", flat=True))


def _named(request: ErasureRequest) -> set[UUID]:
    """List everybody whom a state or a session of the erasure names."""
    named = {request.profile_id} if request.profile_id else set()
    for model in (State, Session):
        rows: QuerySet[Any] = model.objects.filter(erasure_id=request.id, handle_id__isnull=False)
        handles = Handle.objects.filter(id__in=rows.values("handle_id"))
        named |= set(handles.values_list("profile_id", flat=True))
    return named


def _plan(request: ErasureRequest, marked: Marked) -> None:
    expected = {
        "working_memory": marked.states,
        "history": marked.sessions,
        "graph": marked.records,
        "people": len(request.handle_ids),
    }
    ErasureStep.objects.bulk_create(
        [
            ErasureStep(request=request, position=position, name=name, expected=expected.get(name, 0))
            for position, name in enumerate(rules.STEPS)
        ],
        ignore_conflicts=True,
    )


def _tombstone_seconds() -> int:
    return duration_seconds(documents.live("retention")["retention"].body["tombstones"])
