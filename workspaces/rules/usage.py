"""What is counted, and into which hours and days (CO-10)."""

from datetime import UTC, datetime, time, timedelta, tzinfo

REQUEST, REFUSAL = "request", "refusal"
WRITE, STATE, NOT_STORED = "write", "state", "not_stored"
TOKENS, NAIVE, ASSEMBLED = "tokens", "naive", "assembled"
MAX_NAME_LENGTH = 256
KEPT = timedelta(days=92)
"""How long the numbers of an hour are kept."""
SPANS = {"24h": 24, "7d": 7, "30d": 30}
"""How many hours or days a range has; the last one is the present one."""

_HOUR = 3600


def hour_of(moment: datetime) -> int:
    """Number the hour of UTC that a moment lies in."""
    return int(moment.timestamp()) // _HOUR


def start_of(hour: int) -> datetime:
    """Give the beginning of a numbered hour."""
    return datetime.fromtimestamp(hour * _HOUR, UTC)


def status_class(status: int) -> str:
    """Name the class of an HTTP status."""
    return f"{status // 100}xx"


def is_hourly(span: str) -> bool:
    """Tell whether a range is shown hour by hour, and not day by day."""
    return span == "24h"


def starts(span: str, *, now: datetime, zone: tzinfo) -> list[datetime]:
    """List the beginnings of the hours of UTC, or of the days of a zone, that a range has; the oldest first."""
    count = SPANS[span]
    if is_hourly(span):
        last = hour_of(now)
        return [start_of(hour).astimezone(zone) for hour in range(last - count + 1, last + 1)]
    today = now.astimezone(zone).date()
    days = (today - timedelta(days=back) for back in reversed(range(count)))
    return [datetime.combine(day, time.min, zone) for day in days]
