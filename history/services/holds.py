"""Letting go of what a legal hold has kept of history, once it has ended (PR-16)."""

from datetime import datetime

from django.db import transaction

from history.models import KeptItem
from history.selectors.holds import ended_sessions
from history.services.lives import drop, is_held
from workspaces.models import Hold
from workspaces.types import WorkspaceRef

BATCH = 500
SESSIONS_AT_ONCE = 20


@transaction.atomic
def let_go_of_items(hold: Hold) -> int:
    """Delete a batch of what a hold has kept of sessions; give how many. Another worker's are skipped."""
    free = KeptItem.objects.filter(hold=hold).select_for_update(skip_locked=True)
    batch = list(free.order_by("id").values_list("id", flat=True)[:BATCH])
    KeptItem.objects.filter(id__in=batch).delete()
    return len(batch)


@transaction.atomic
def let_go_of_sessions(*, workspace: WorkspaceRef, hold: Hold, now: datetime) -> int:
    """Delete a batch of the sessions that ended while a hold kept them, unless another one does; give how many."""
    rows = ended_sessions(hold).select_for_update(of=("self",), skip_locked=True).order_by("id")
    free = [session for session in rows[:SESSIONS_AT_ONCE] if not is_held(session, now=now)]
    for session in free:
        drop(workspace, session)
    return len(free)
