"""By when a request of a person must be answered, by the workspace's regime (PR-17)."""

from calendar import monthrange
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import partial

import msgspec


class Deadline(msgspec.Struct, frozen=True):
    """How long a regime gives for a request, and once more with a reason; none where it may not be extended."""

    first: Callable[[date], date]
    extended: Callable[[date], date] | None = None


def _months(start: date, *, months: int) -> date:
    """Count calendar months; a day that the last one does not have is its last day."""
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    return date(year, month + 1, min(start.day, monthrange(year, month + 1)[1]))


def _days(start: date, *, days: int) -> date:
    return start + timedelta(days=days)


# GDPR, article 12(3). LGPD, article 19 II for access; erasure has no figure of its own and is held to the same.
# CCPA regulations, section 7021 (b).
REGIMES: Mapping[str, Deadline] = {
    "GDPR": Deadline(partial(_months, months=1), partial(_months, months=3)),
    "LGPD": Deadline(partial(_days, days=15)),
    "CCPA": Deadline(partial(_days, days=45), partial(_days, days=90)),
}


def due_on(regime: str, asked_on: date) -> date:
    """Give the last day on which a request may be answered."""
    return REGIMES[regime].first(asked_on)


def extended_due_on(regime: str, asked_on: date) -> date | None:
    """Give the last day after an extension, or none where the regime knows no extension."""
    longer = REGIMES[regime].extended
    return longer(asked_on) if longer else None
