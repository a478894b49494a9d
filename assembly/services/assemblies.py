"""Assembling a context: what was found, what was decided of it, and the record of both (CA-9 to CA-20)."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from django.db import transaction

from assembly import access
from assembly.documents import bounds_of, policy_for
from assembly.errors import answered
from assembly.models import ContextAssembly, PolicyDecision
from assembly.rules.assemblies import is_sampled, require_as_of
from assembly.selectors.again import again_if_resealed
from assembly.selectors.answers import asked_of, items_as_data, shown_of, trace_of
from assembly.selectors.contents import Contents
from assembly.selectors.graphs import SeenGraph, served_graph
from assembly.selectors.records import known_rows
from assembly.selectors.snapshots import require_named, snapshot_of
from assembly.types import (
    AssembledContext,
    AssemblyWish,
    Bounds,
    Milliseconds,
    PolicyValue,
    SizeValue,
    TraceLine,
)
from lastro.assembly.assembler import assemble
from lastro.assembly.policy import Policy
from lastro.assembly.records import Participant, Reference
from lastro.assembly.rendering.messages import messages_for
from lastro.assembly.results import Assembly
from lastro.assembly.snapshot import Snapshot
from workspaces.documents import Live
from workspaces.errors import NotFound
from workspaces.services import usage
from workspaces.types import Caller, WorkspaceRef

Clock = Callable[[], float]
"""Gives seconds that only grow: how long something took is a difference of two."""


ATTEMPTS = 3
"""How often it is decided again, where an erasure takes meanwhile what was found."""


class _Gone(Exception):
    """Something that was found is not there any more."""


class _Decided(msgspec.Struct, frozen=True):
    """An assembly, the snapshot that it is of, the records that it named, and how long each took."""

    seen: SeenGraph
    snapshot: Snapshot
    assembly: Assembly
    named: frozenset[Reference]
    query_ms: float
    policy_ms: float


def assemble_context(
    *, caller: Caller, wish: AssemblyWish, live: Live, now: datetime, clock: Clock
) -> AssembledContext:
    """Assemble a context for one model request, and keep the record of it (CA-9, CA-16).

    What goes into the model is the answer's alone: the record holds names, counts and reasons (CA-20). What an erasure
    takes while it is decided is in neither: then it is decided again (PR-11).
    Raises NotFound, UnknownReference, PolicyUnknown, CheckpointMissing, ContextBudgetExceeded, InvalidInput.
    """
    require_as_of(wish.request.as_of, now=now)
    policy, bounds = policy_for(live, name=wish.policy, version=wish.policy_version), bounds_of(live)
    for _ in range(ATTEMPTS):
        with suppress(_Gone):
            return _assembled(caller, wish, policy, bounds, now=now, clock=clock)
    raise NotFound


def _assembled(
    caller: Caller, wish: AssemblyWish, policy: Policy, bounds: Bounds, *, now: datetime, clock: Clock
) -> AssembledContext:
    decided = _decide(caller.workspace, wish, policy, bounds, now=now, clock=clock)
    begun = clock()
    items, messages = items_as_data(decided.assembly), _messages(wish, decided)
    took = Milliseconds(decided.query_ms, decided.policy_ms, _since(begun, clock))
    trace = trace_of(decided.assembly)
    is_kept = wish.is_traced or is_sampled(decided.assembly.digest, policy.trace_sample)
    kept = _keep(caller, wish, decided, bounds, took, trace if is_kept else None, now=now)
    _count(caller.workspace, decided.assembly, now=now)
    return AssembledContext(
        assembly_id=kept,
        policy=PolicyValue(policy.name, policy.version),
        assembler=decided.assembly.assembler,
        position=decided.assembly.position,
        as_of=wish.request.as_of,
        digest=decided.assembly.digest,
        items=items,
        omitted={str(reason): count for reason, count in decided.assembly.omitted.items()},
        branch_exclusions=decided.assembly.branch_exclusions,
        considered=decided.assembly.considered,
        naive=SizeValue(decided.assembly.naive.tokens, decided.assembly.naive.bytes),
        assembled=SizeValue(decided.assembly.assembled.tokens, decided.assembly.assembled.bytes),
        milliseconds=took,
        messages=messages,
        trace=trace if wish.is_traced else None,
    )


@again_if_resealed
def _decide(
    workspace: WorkspaceRef,
    wish: AssemblyWish,
    policy: Policy,
    bounds: Bounds,
    *,
    now: datetime,
    clock: Clock,
) -> _Decided:
    begun, request = clock(), wish.request
    seen = served_graph(workspace, request.conversation, bounds, now=now)
    rows = require_named(seen, request)
    snapshot = snapshot_of(seen, request, policy, rows, now=now)
    query_ms, found = _since(begun, clock), clock()
    contents = Contents(seen, now=now)
    with answered():
        assembly = assemble(request, snapshot, policy, read=contents.read, fetch=contents.fetch)
    return _Decided(seen, snapshot, assembly, _named(rows, snapshot), query_ms, _since(found, clock))


def _named(rows: Iterable[Reference], snapshot: Snapshot) -> frozenset[Reference]:
    """Give what an assembly tells of: what was asked by name, what was found, and who speaks."""
    speakers = (Reference(Participant.wire, name) for name in snapshot.participants)
    return frozenset((*rows, *speakers, *(one.reference for one in snapshot.candidates)))


def _count(workspace: WorkspaceRef, assembly: Assembly, *, now: datetime) -> None:
    naive, assembled = assembly.naive.tokens, assembly.assembled.tokens
    usage.count_assembly(workspace.id, naive_tokens=naive, assembled_tokens=assembled, now=now)


def _messages(wish: AssemblyWish, decided: _Decided) -> tuple[dict[str, object], ...] | None:
    if wish.render is None:
        return None
    participants = decided.snapshot.participants
    return tuple(messages_for(wish.render, decided.assembly, wish.request, participants=participants))


def _since(begun: float, clock: Clock) -> float:
    return round((clock() - begun) * 1_000, 3)


@transaction.atomic
def _keep(
    caller: Caller,
    wish: AssemblyWish,
    decided: _Decided,
    bounds: Bounds,
    took: Milliseconds,
    trace: tuple[TraceLine, ...] | None,
    *,
    now: datetime,
) -> UUID:
    """Keep the record of an assembly. The graph stays locked: none may be left behind by what is erased now."""
    if access.live_graph(wish.request.conversation, is_locked=True) != decided.seen.row:
        raise NotFound
    there = known_rows(decided.named)
    if any(name not in there for name in decided.named):
        raise _Gone
    row = _row(caller, wish, decided, bounds, took, now=now)
    if trace is not None:
        row.trace = msgspec.to_builtins(trace)
        row.trace_expires_at = now + timedelta(seconds=bounds.assemblies["trace"])
    row.save(force_insert=True)
    PolicyDecision.objects.bulk_create(_decisions(row, decided.assembly))
    return row.id


def _row(
    caller: Caller,
    wish: AssemblyWish,
    decided: _Decided,
    bounds: Bounds,
    took: Milliseconds,
    *,
    now: datetime,
) -> ContextAssembly:
    request, assembly = wish.request, decided.assembly
    assert caller.source_id is not None  # noqa: S101  (only the keys of sources get here)
    return ContextAssembly(
        graph=decided.seen.row,
        source_id=caller.source_id,
        policy=assembly.policy,
        policy_version=assembly.policy_version,
        assembler=assembly.assembler,
        position=assembly.position,
        as_of=request.as_of,
        branch=request.branch,
        participant=request.participant,
        kind=request.kind,
        route=request.route,
        request=asked_of(request),
        selected=shown_of(assembly),
        omitted=dict(assembly.omitted),
        branch_exclusions=assembly.branch_exclusions,
        considered=assembly.considered,
        naive_tokens=assembly.naive.tokens,
        naive_bytes=assembly.naive.bytes,
        assembled_tokens=assembly.assembled.tokens,
        assembled_bytes=assembly.assembled.bytes,
        query_ms=took.query,
        policy_ms=took.policy,
        rendering_ms=took.rendering,
        digest=assembly.digest,
        created_at=now,
        expires_at=now + timedelta(seconds=bounds.assemblies["summary"]),
    )


def _decisions(row: ContextAssembly, assembly: Assembly) -> list[PolicyDecision]:
    return [
        PolicyDecision(
            assembly=row,
            rule=one.rule,
            policy=one.policy,
            version=one.version,
            outcome=one.outcome,
            references=[[reference.type, reference.id] for reference in one.references],
        )
        for one in assembly.policy_decisions
    ]
