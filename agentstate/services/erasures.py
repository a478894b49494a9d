"""Erasing working memory: marked at the approval, then removed in batches or by a writer that comes first (PR-10)."""

from collections.abc import Collection
from contextlib import suppress
from datetime import datetime

from django.db import IntegrityError, OperationalError, transaction
from django.db.models import Q

from agentstate import access, documents
from agentstate.models import ErasedRead, State
from agentstate.selectors.erasures import covered
from agentstate.services.lives import entomb
from agentstate.types import StateRow
from workspaces import barriers, coherence
from workspaces.hotstore import Name
from workspaces.models import Erasure
from workspaces.rules import barriers as rules
from workspaces.types import Caller, Key, WorkspaceRef

BATCH = 100
KIND = "agent_states"


@transaction.atomic
def mark(erasure: Erasure, *, alone: Collection[bytes], is_again: bool = False) -> int:
    """Mark what an erasure covers, so that nothing else comes to it; give how many states (PR-11).

    Marking again comes to what was being written at the first time, and leaves alone what began after it.
    """
    rows = covered(erasure, alone=alone).filter(erasure_id=None)
    if is_again:
        rows = rows.filter(Q(handle_id__in=erasure.handle_ids) | Q(created_at__lte=erasure.began_at))
    found = list(rows.select_for_update(of=("self",)).values_list("id", flat=True))
    State.objects.filter(id__in=found).update(erasure_id=erasure.id)
    return len(found)


@transaction.atomic
def erase_batch(*, workspace: WorkspaceRef, erasure: Erasure, key: Key) -> int:
    """Turn marked states into tombstones, each noted with its digest; give how many are still marked (PR-13)."""
    marked = State.objects.filter(erasure_id=erasure.id)
    for row in marked.select_for_update(skip_locked=True).order_by("id")[:BATCH]:
        # A writer that has the lock of the state erases it itself.
        if coherence.try_lock(_hot_name(workspace, row)):
            coherence.changing_locked(_hot_name(workspace, row))
            _erase(workspace, erasure, row, key)
    return marked.count()


def finish(workspace: WorkspaceRef, row: StateRow | None) -> bool:
    """Erase a state, whose lock is held, where an erasure has marked it and not come to it yet; tell whether it was."""
    marked = State.objects.filter(id=row.id, erasure_id__isnull=False).first() if row else None
    if marked is None:
        return False
    erasure = Erasure.objects.get(id__in=[marked.erasure_id])
    _erase(workspace, erasure, marked, barriers.digest_key(workspace, erasure))
    return True


def require_new(row: StateRow, caller: Caller, *, written_at: datetime | None, now: datetime) -> None:
    """Refuse a write of an erased state that is older than the erasure, or may be (PR-12). Raises SubjectErased."""
    reads = ErasedRead.objects.filter(state_id=row.id, source_id__in=[caller.source_id])
    was_read = written_at is None and reads.filter(read_at__gte=row.updated_at).exists()
    rules.require_new(row.updated_at, written_at=written_at, was_read=was_read, now=now)


def note_read(row: StateRow, caller: Caller, *, now: datetime) -> None:
    """Note that a source was told that an erased state is not there (PR-12); a database that is away notes nothing."""
    if caller.source_id is None:
        return
    read = ErasedRead(state_id=row.id, source_id=caller.source_id, read_at=now)
    with suppress(OperationalError, IntegrityError):
        # The hot store may know a tombstone that the sweep has taken.
        if State.objects.filter(id=row.id).exists():
            ErasedRead.objects.bulk_create(
                [read], update_conflicts=True, update_fields=["read_at"], unique_fields=["state", "source"]
            )


def _erase(workspace: WorkspaceRef, erasure: Erasure, row: State, key: Key) -> None:
    parts = (row.id.bytes, row.version.to_bytes(8, "big"), bytes(row.body or b""))
    barriers.note_erased(erasure, KIND, row.id, *parts, key=key)
    declared = documents.declared_for(row.agent)
    entomb(workspace, row, into=State.Life.ERASED, declared=declared, now=erasure.began_at)
    row.updated_at, row.erasure_id = erasure.began_at, None
    row.save()


def _hot_name(workspace: WorkspaceRef, row: State) -> Name:
    return access.hot_name(workspace, bytes(row.scope_hash), row.agent)
