"""What the live documents say about the runtime graph: its policies, and how long what is kept (CA-9, CA-21)."""

from collections.abc import Mapping
from functools import lru_cache

from assembly.types import Bounds
from workspaces.documents import Live, LiveDocument
from workspaces.rules.documents import duration_seconds

FEATURE = "context"


def bounds_of(live: Live) -> Bounds:
    """Give the bounds of the workspace's `retention` document."""
    return _bounds(live["retention"])


@lru_cache(maxsize=1024)
def _bounds(document: LiveDocument) -> Bounds:
    artifacts = _seconds(document.body["artifacts"])
    memories = _seconds(document.body["memories"])
    return Bounds(
        document=document.version,
        artifacts=artifacts,
        memories=memories,
        assemblies=_seconds(document.body["assemblies"]),
        tombstone_seconds=duration_seconds(document.body["tombstones"]),
        graph_seconds=max(*artifacts.values(), *memories.values()),
    )


def _seconds(durations: Mapping[str, str]) -> dict[str, int]:
    return {name: duration_seconds(duration) for name, duration in durations.items()}
