"""Noting when each scheduled task ran last (PL-11)."""

from datetime import datetime

from workspaces.models import ScheduledRun


def note_run(
    *, name: str, sent_at: datetime | None, began_at: datetime, is_done: bool, now: datetime
) -> None:
    """Note that a scheduled task has ended, well or not; it stands in the row of its name."""
    values = {"sent_at": sent_at, "began_at": began_at, "ended_at": now, "is_done": is_done}
    if is_done:
        values["done_at"] = now
    ScheduledRun.objects.update_or_create(name=name, defaults=values)
