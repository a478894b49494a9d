"""When a record ends, by its retention class (CA-21)."""

from datetime import datetime, timedelta

from assembly.types import Bounds
from lastro.assembly.records import ToolArtifact, ToolMemory


def expiry_of(
    *, kind: str, visibility: str, state: str, recorded_at: datetime | None, bounds: Bounds, now: datetime
) -> datetime | None:
    """Give when an artifact or a memory ends, counted from its own time but never from the future; others: none.

    `state` is of an artifact its status and of a memory its freshness class. What only the audit sees has a class of
    its own.
    """
    if kind == ToolArtifact.wire:
        how = "succeeded" if state == "succeeded" else "failed"
        seconds = bounds.artifacts["audit" if visibility == "audit" else how]
    elif kind == ToolMemory.wire:
        seconds = bounds.memories[state]
    else:
        return None
    return min(recorded_at or now, now) + timedelta(seconds=seconds)
