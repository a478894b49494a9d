"""Legal holds: placed and lifted by people, settled when they have ended, exported for who must read them (PR-16)."""

from collections.abc import Iterator
from datetime import datetime
from itertools import chain
from uuid import UUID

import msgspec
from django.db import transaction

from agentstate.selectors.holds import held_states, held_versions, kept_versions
from agentstate.services.holds import let_go
from assembly.selectors.whole import count_held as count_held_records
from assembly.selectors.whole import held_records
from history.selectors.holds import count_held, held_messages, kept_items
from history.services.holds import let_go_of_items, let_go_of_sessions
from privacy.errors import NotPossibleNow
from privacy.rules import holds as rules
from privacy.selectors import holds as selectors
from privacy.selectors.naming import scopes_of_hold
from privacy.types import Target
from workspaces import access, audit, rehashing
from workspaces.barriers import hold_people, lock_holds
from workspaces.models import HeldKey, Hold
from workspaces.scopes import scope_of
from workspaces.selectors.profiles import profiles
from workspaces.types import Actor, AuditObject, WorkspaceRef

SERVER = Actor(kind="system", id="holds", name="holds")
BATCH = 1000


class HoldWish(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be held, why, and until when: a person by their profile, or a conversation or task by its id."""

    target: Target
    reason: str
    ends_at: datetime


@transaction.atomic
def place_hold(
    *, workspace: WorkspaceRef, wish: HoldWish, person_id: UUID | None, actor: Actor, now: datetime
) -> Hold:
    """Place a legal hold (PR-16): from its commit on nothing of what it is on is erased, and every version that is
    overwritten, deleted or expires is kept, encrypted, until the hold has ended.

    Reads and writes stay as they are. Raises InvalidInput, NotFound for a profile that is not there, NotPossibleNow
    where an erasure of it has begun.
    """
    reason = rules.require_reason(wish.reason)
    rules.require_end(wish.ends_at, now=now)
    hold_people()
    rehashing.require_current(workspace)
    hold = Hold(
        **_on(workspace, wish.target),
        reason=audit.clean_reason(reason),
        placed_by_id=person_id,
        placed_at=now,
        ends_at=wish.ends_at,
    )
    facts = {"target": wish.target.kind, "ends_at": wish.ends_at.isoformat(timespec="seconds")}
    audit.record("hold.place", actor=actor, now=now, on=_object(hold), reason=reason, facts=facts)
    lock_holds()
    if selectors.is_being_erased(hold):
        raise NotPossibleNow("An erasure of it has begun.")
    hold.save(force_insert=True)
    return hold


@transaction.atomic
def lift_hold(*, hold_id: UUID, reason: str, person_id: UUID | None, actor: Actor, now: datetime) -> Hold:
    """Lift a hold before its end, with a reason (PR-16). What it kept goes soon after, and erasures that waited go on.

    Raises InvalidInput, NotFound, NotPossibleNow for one that has ended.
    """
    reason = rules.require_reason(reason)
    hold = access.one(Hold.objects.select_for_update(), id=hold_id)
    if selectors.status_of(hold, now=now) != "standing":
        raise NotPossibleNow("The hold has ended.")
    hold.lifted_at, hold.lifted_by_id, hold.lift_reason = now, person_id, audit.clean_reason(reason)
    hold.save(update_fields=["lifted_at", "lifted_by", "lift_reason"])
    audit.record("hold.lift", actor=actor, now=now, on=_object(hold), reason=reason)
    return hold


def settle_holds(*, workspace: WorkspaceRef, now: datetime) -> int:
    """Let go of what the bound workspace's ended holds have kept, in bounded batches; give how many were settled.

    The versions, messages and sessions go first and then the notes that keep their keys, so that a crash between leaves
    a key too many and nothing without its key. Keys that nothing needs any more go with the next run of the retired
    ones.
    """
    return sum(_settle(workspace, hold, now=now) for hold in selectors.to_settle(now))


def export_hold(
    *, workspace: WorkspaceRef, hold_id: UUID, actor: Actor, now: datetime
) -> tuple[int, Iterator[bytes]]:
    """Give what a hold has kept and holds, one JSON object a line, decrypted; the export is audited first (PR-16).

    Gives how many versions, messages and records of graphs there are, and their lines, among which the payloads of
    records have their own. Raises NotFound; the lines raise KeyDestroyed or Tampered.
    """
    with transaction.atomic():
        hold = access.one(Hold, id=hold_id)
        scopes = scopes_of_hold(hold)
        versions = kept_versions(hold).count() + held_states(hold, scopes).count()
        messages = count_held(hold, scopes)
        records = count_held_records(hold, scopes)
        facts = {"versions": versions, "messages": messages, "records": records}
        audit.record("hold.export", actor=actor, now=now, on=_object(hold), facts=facts)
    found = chain(
        held_versions(workspace, hold, scopes),
        held_messages(workspace, hold, scopes),
        held_records(workspace, hold, scopes, now=now),
    )
    return versions + messages + records, (msgspec.json.encode(record) + b"\n" for record in found)


def _on(workspace: WorkspaceRef, target: Target) -> dict[str, object]:
    if target.kind == "profile":
        return {"profile_id": access.one(profiles(), id=target.profile_id).id}
    scope = scope_of(workspace, kind=target.kind, id=target.scope_id)
    return {"scope_kind": scope.kind, "scope_hash": scope.hash, "hash_key_id": scope.hash_key_id}


def _settle(workspace: WorkspaceRef, hold: Hold, *, now: datetime) -> bool:
    while let_go(hold) or let_go_of_items(hold):
        pass
    while let_go_of_sessions(workspace=workspace, hold=hold, now=now):
        pass
    while _release_keys(hold):
        pass
    return _end(hold.id, now=now)


@transaction.atomic
def _release_keys(hold: Hold) -> int:
    free = HeldKey.objects.filter(hold=hold).select_for_update(skip_locked=True)
    batch = list(free.order_by("id").values_list("id", flat=True)[:BATCH])
    HeldKey.objects.filter(id__in=batch).delete()
    return len(batch)


@transaction.atomic
def _end(hold_id: UUID, *, now: datetime) -> bool:
    """Note that a hold is settled, once; what another worker has not finished yet is looked at again."""
    free = Hold.objects.select_for_update(skip_locked=True)
    hold = free.filter(id=hold_id, settled_at__isnull=True).first()
    if hold is None or kept_versions(hold).exists() or kept_items(hold).exists():
        return False
    hold.settled_at = now
    hold.save(update_fields=["settled_at"])
    how = "lifted" if hold.lifted_at else "ended"
    audit.record("hold.end", actor=SERVER, now=now, on=_object(hold), facts={"how": how})
    return True


def _object(hold: Hold) -> AuditObject:
    return AuditObject("hold", str(hold.id))
