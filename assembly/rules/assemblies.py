"""What is decided about one assembly before and after its policy decides (CA-9, CA-16)."""

from datetime import datetime, timedelta

from workspaces.errors import InvalidInput
from workspaces.types import FieldProblem

AHEAD = timedelta(minutes=5)
"""How far a host's clock may go before the server's."""


def require_as_of(as_of: datetime, *, now: datetime) -> None:
    """Refuse a moment that has not come: nobody knows yet what will be stale then. Raises InvalidInput."""
    if as_of > now + AHEAD:
        problem = FieldProblem("/as_of", "in_the_future", "This is at most five minutes ahead of the server.")
        raise InvalidInput(errors=(problem,))


def is_sampled(digest: str, share: float) -> bool:
    """Tell whether a policy's sampling keeps a trace: the digest decides, so that the same is decided again."""
    return int(digest[:8], 16) < share * 2**32
