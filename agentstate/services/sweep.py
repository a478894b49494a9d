"""What has expired leaves what is stored, in bounded batches, safe with many workers (WM-21, PR-20)."""

import logging
from datetime import datetime, timedelta

import msgspec
from django.db import transaction

from agentstate import access, documents, encryption
from agentstate.documents import Declared
from agentstate.models import State
from agentstate.selectors.lives import due_at, kept_fields, valid_until
from agentstate.selectors.sweeps import due_names, due_states
from agentstate.services.lives import entomb
from workspaces import coherence
from workspaces.documents import hold
from workspaces.errors import KeyDestroyed, Tampered
from workspaces.hotstore import Name
from workspaces.models import Tombstone
from workspaces.rules import json
from workspaces.types import WorkspaceRef

log = logging.getLogger("lastro.agentstate")

BATCH = 200
LOOK_AGAIN_AT_DAMAGE = timedelta(hours=1)


class Swept(msgspec.Struct, frozen=True):
    """How many rows a batch looked at, and what it removed."""

    looked_at: int = 0
    states: int = 0
    fields: int = 0
    tombstones: int = 0
    damaged: int = 0

    def __add__(self, other: "Swept") -> "Swept":
        return Swept(
            *(
                a + b
                for a, b in zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
            )
        )


@transaction.atomic
def sweep_states(*, workspace: WorkspaceRef, now: datetime) -> Swept:
    """Settle a batch of the bound workspace's rows that are due or were written under older object types.

    Nothing here changes a version (WM-9). Rows that another worker or writer holds are skipped.
    """
    hold()
    rows = list(due_states(now).select_for_update(skip_locked=True)[:BATCH])
    swept = Swept(looked_at=len(rows))
    for row in rows:
        # A writer that has the lock of the state waits for the row: it is not waited for.
        if coherence.try_lock(_hot_name(workspace, row)):
            swept += _settle_alone(workspace, row, documents.declared_for(row.agent), now=now)
    return swept


@transaction.atomic
def sweep_names(*, now: datetime) -> int:
    """Remove a batch of the tombstones that have lived as long as the oldest backup may; give how many (PR-12)."""
    due = due_names(now).select_for_update(skip_locked=True).order_by("due_at")
    found = list(due.values_list("id", flat=True)[:BATCH])
    Tombstone.objects.filter(id__in=found).delete()
    return len(found)


def _settle_alone(workspace: WorkspaceRef, row: State, declared: Declared, *, now: datetime) -> Swept:
    """Settle a row; one that does not verify is named in the log and looked at again later, and stops no other."""
    try:
        with transaction.atomic():
            return _settle(workspace, row, declared, now=now)
    except Tampered:
        log.error("state.damaged", extra={"workspace": str(workspace.id), "state": str(row.id)})
        later = now + LOOK_AGAIN_AT_DAMAGE
        State.objects.filter(id=row.id).update(due_at=later, types_document=declared.document)
        return Swept(damaged=1)


def _settle(workspace: WorkspaceRef, row: State, declared: Declared, *, now: datetime) -> Swept:
    if row.life != State.Life.LIVE:
        return _settle_tombstone(workspace, row, declared, now=now)
    if now >= valid_until(row, declared):
        coherence.changing_locked(_hot_name(workspace, row))
        entomb(workspace, row, into=State.Life.EXPIRED, declared=declared, now=now)
        row.save()
        return Swept(states=1)
    return _settle_fields(workspace, row, declared, now=now)


def _hot_name(workspace: WorkspaceRef, row: State) -> Name:
    return access.hot_name(workspace, bytes(row.scope_hash), row.agent)


def _settle_tombstone(workspace: WorkspaceRef, row: State, declared: Declared, *, now: datetime) -> Swept:
    if row.due_at <= now:
        coherence.changing_locked(_hot_name(workspace, row))
        row.delete()
        return Swept(tombstones=1)
    row.types_document = declared.document
    row.save(update_fields=["types_document"])
    return Swept()


def _settle_fields(workspace: WorkspaceRef, row: State, declared: Declared, *, now: datetime) -> Swept:
    """Take the fields out that expired or were dropped, and seal the rest again at the same version."""
    kept = kept_fields(row, declared, now=now)
    gone = set(row.held) - set(kept)
    if gone:
        coherence.changing_locked(_hot_name(workspace, row))
        try:
            body, key = encryption.open_body(workspace, row)
        except KeyDestroyed:
            entomb(workspace, row, into=State.Life.EXPIRED, declared=declared, now=now)
            row.save()
            return Swept(states=1)
        plain = json.compact({name: value for name, value in body.items() if name not in gone})
        encryption.seal_body(workspace, row, plain, key)
        row.body_bytes = len(plain)
        row.held = msgspec.to_builtins(kept)
    row.types_document = declared.document
    row.due_at = due_at(row, kept, declared)
    row.save()
    return Swept(fields=len(gone))
