"""The bounds of a workspace's whole history (HI-4)."""

from datetime import datetime

from history import access
from history.models import Session
from history.rules.sessions import MAX_RETAINED_BYTES, require_room
from history.services import lives
from history.types import Retention
from workspaces import locks
from workspaces.types import WorkspaceRef

BATCH = 100
# How many appends may be under way at once, each as large as a session may be, before the count is taken alone.
_AT_ONCE = 32


def require_capacity(
    workspace: WorkspaceRef, retention: Retention, *, sessions: int = 0, added_bytes: int = 0, now: datetime
) -> None:
    """Refuse what the workspace has no room for, after what has expired made room. Raises HistoryLimitExceeded.

    Far from a bound nobody waits; near it one request at a time asks, so that two together cannot pass it.
    """
    kept, kept_bytes = access.usage()
    if _is_near(retention, kept, kept_bytes):
        locks.lock(locks.number(b"history-capacity"))
        _make_room(workspace, retention, sessions=sessions, added_bytes=added_bytes, now=now)
        kept, kept_bytes = access.usage()
    if sessions:
        require_room("max_sessions", needed=kept + sessions, allowed=retention.max_sessions)
    if added_bytes:
        require_room("max_store_bytes", needed=kept_bytes + added_bytes, allowed=retention.max_store_bytes)


def _is_near(retention: Retention, sessions: int, kept_bytes: int) -> bool:
    return (
        sessions + _AT_ONCE > retention.max_sessions
        or kept_bytes + _AT_ONCE * MAX_RETAINED_BYTES > retention.max_store_bytes
    )


def _make_room(
    workspace: WorkspaceRef, retention: Retention, *, sessions: int, added_bytes: int, now: datetime
) -> None:
    kept, kept_bytes = access.usage()
    if kept + sessions <= retention.max_sessions and kept_bytes + added_bytes <= retention.max_store_bytes:
        return
    expired = access.live_sessions().filter(due_at__lte=now).order_by("due_at")
    for session in expired.select_for_update(of=("self",), skip_locked=True)[:BATCH]:
        lives.end(workspace, session, into=Session.Life.EXPIRED, now=now)
