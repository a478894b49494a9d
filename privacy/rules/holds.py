"""What a legal hold must say (PR-16)."""

from datetime import datetime, timedelta

from workspaces.errors import InvalidInput
from workspaces.types import FieldProblem

MAX_REASON_LENGTH = 500
LONGEST = timedelta(days=30 * 365)


def require_reason(reason: str) -> str:
    """Give a reason without the blanks around it, or refuse an empty or long one."""
    if not 0 < len(reason.strip()) <= MAX_REASON_LENGTH:
        raise _refused("/reason", "required", "A reason of 1 to 500 characters is required.")
    return reason.strip()


def require_end(ends_at: datetime, *, now: datetime) -> None:
    """Refuse an end that has passed, or that is further away than 30 years."""
    if not now < ends_at <= now + LONGEST:
        code = "too_large" if ends_at > now else "too_small"
        raise _refused("/ends_at", code, "A hold ends in the future, and at most 30 years from now.")


def _refused(pointer: str, code: str, sentence: str) -> InvalidInput:
    return InvalidInput(errors=(FieldProblem(pointer, code, sentence),))
