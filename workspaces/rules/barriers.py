"""What may still be stored after an erasure (PR-12)."""

from datetime import datetime, timedelta

from workspaces.errors import SubjectErased

QUIET_FOR = timedelta(hours=24)
"""After so long a write that does not say when it was made counts as new."""


def require_made_after(erased_at: datetime, *, written_at: datetime | None) -> None:
    """Refuse what says that it was made before an erasure."""
    if written_at is not None and written_at < erased_at:
        raise SubjectErased("It was made before the erasure.")


def require_new(erased_at: datetime, *, written_at: datetime | None, was_read: bool, now: datetime) -> None:
    """Refuse a write of what was erased, unless it was made after, or its source has seen that nothing is there."""
    require_made_after(erased_at, written_at=written_at)
    if written_at is None and not was_read and now < erased_at + QUIET_FOR:
        raise SubjectErased("Read it first, or send `written_at`.")
