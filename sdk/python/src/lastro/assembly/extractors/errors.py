"""Errors: a contract for those that a retry may mend, a memory for those that none will (CA-4, CA-12).

A failure with a contract is recovery state and is shown as such until it is resolved: a memory would say it twice.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

from lastro.assembly.extractors.recorded import Kind, Recorded, remembered
from lastro.assembly.records import Failure, RetryContract, ToolMemory

RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504})
LONGEST_WAIT = timedelta(days=1)
FAILURE = Kind(noun="error", freshness="session", context="recovery")


def failure_of(status: int, *, code: str = "", message: str = "") -> Failure:
    """Give the error of an HTTP answer; whether a retry makes sense is what its status says."""
    return Failure(code=code or f"http_{status}", message=message, retryable=status in RETRYABLE)


def retry_contract(
    *,
    tool: str,
    status: int,
    headers: Mapping[str, str],
    now: datetime,
    attempts_left: int,
    idempotency_key: str | None = None,
) -> RetryContract | None:
    """Give what a retry of an HTTP call needs, None where none makes sense: not before `Retry-After`, a day at most."""
    if status not in RETRYABLE or attempts_left < 1:
        return None
    named = {name.lower(): value for name, value in headers.items()}
    return RetryContract(
        tool=tool,
        not_before=_not_before(named.get("retry-after", ""), now),
        attempts_left=attempts_left,
        idempotency_key=idempotency_key,
    )


def final_failure(recorded: Recorded) -> ToolMemory | None:
    """Remember a failure that no retry mends, so that it is not tried again."""
    artifact = recorded.artifact
    error = artifact.error
    if artifact.status != "failed" or error is None or error.retryable or artifact.retry is not None:
        return None
    return remembered(
        recorded,
        FAILURE,
        f"failed: {error.code}{': ' + error.message if error.message else ''}; a retry does not help",
        locators=[],
        about=f"{artifact.tool} failed",
    )


def _not_before(value: str, now: datetime) -> datetime | None:
    if value.isascii() and value.isdigit():
        return now + min(timedelta(seconds=int(value[:9])), LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError):
        return None
    return min(moment, now + LONGEST_WAIT) if moment.tzinfo else None
