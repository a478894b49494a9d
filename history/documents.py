"""What the live documents say about history: how long it is kept and how much of it (HI-4)."""

from functools import lru_cache

from history.types import Retention
from workspaces.documents import Live, LiveDocument
from workspaces.rules.documents import duration_seconds

FEATURE = "history"


def retention_of(live: Live) -> Retention:
    """Give the bounds of the workspace's `retention` document."""
    return _bounds(live["retention"])


@lru_cache(maxsize=1024)
def _bounds(document: LiveDocument) -> Retention:
    history = document.body["history"]
    return Retention(
        document=document.version,
        idle_seconds=duration_seconds(history["idle"]),
        max_age_seconds=duration_seconds(history["max_age"]),
        max_sessions=history["max_sessions"],
        max_store_bytes=history["max_store_bytes"],
        tombstone_seconds=duration_seconds(document.body["tombstones"]),
    )
