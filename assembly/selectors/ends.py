"""When what is kept is over: by the retention under which it was stored or the live one, the sooner (CA-21, PR-20)."""

from datetime import datetime

from assembly.models import GraphRecord
from assembly.rules.retention import expiry_of
from assembly.types import Bounds


def end_of(row: GraphRecord, bounds: Bounds, *, now: datetime) -> datetime | None:
    """Give when a record ends, none for one that ends with its graph; a longer retention gives no more time."""
    if row.expires_at is None:
        return None
    by_now = expiry_of(
        kind=row.kind,
        visibility=row.visibility,
        state=row.state,
        recorded_at=row.recorded_at,
        bounds=bounds,
        now=now,
    )
    return min(row.expires_at, by_now or row.expires_at)


def is_over(row: GraphRecord, bounds: Bounds, *, now: datetime) -> bool:
    """Tell whether a record has reached its end, swept or not."""
    end = end_of(row, bounds, now=now)
    return end is not None and end <= now
