"""What a store brings up to date in a head, and what a reader sees of it. Pure."""

from collections.abc import Sequence

from lastro.history.errors import DecisionHistoryIdentityMissing
from lastro.history.records import Head, is_name
from lastro.history.stores.appends import Row
from lastro.history.stores.encoding import pins_written, summary_written


def saved_head(before: Head, wanted: Head | None, rows: Sequence[Row], *, leaf: str, now: float) -> Head:
    """Give the head to store: the operation's pins, summary and names; counts, leaf and times are the store's."""
    return require_head(wanted or seen_head(before, now=now)).with_(
        leaf=leaf,
        count=before.count + len(rows),
        bytes=before.bytes + sum(len(row.body) for row in rows),
        created_at=before.created_at,
        touched_at=now,
    )


def require_head(head: Head) -> Head:
    """Refuse a conversation or subject that is no name, and pins or a summary that cannot be written."""
    if not is_name(head.conversation) or not is_name(head.subject):
        raise DecisionHistoryIdentityMissing("a conversation or a subject is text of at most 200 characters")
    pins_written(head.pins)
    summary_written(head.summary)
    return head


def seen_head(head: Head, *, now: float) -> Head:
    """Give a head without a summary whose end has come; that ends nothing else (HI-23)."""
    summary = head.summary
    if summary is None or summary.expires_at is None or summary.expires_at > now:
        return head
    return head.with_(summary=None)


def forked_head(origin: Head, path: Sequence[Row], *, now: float) -> Head:
    """Give the head of a fork: what is pinned, whom it is about, and a summary only of messages that it shares."""
    seen = seen_head(origin, now=now)
    shared = seen.summary is not None and seen.summary.through in {row.id for row in path}
    return seen.with_(
        leaf=path[-1].id,
        count=len(path),
        bytes=sum(len(row.body) for row in path),
        summary=seen.summary if shared else None,
        created_at=now,
        touched_at=now,
    )


def size_of(head: Head | None) -> int:
    """Give the bytes that a session holds against the bounds: its messages and its summary."""
    if head is None:
        return 0
    return head.bytes + len(summary_written(head.summary) or b"")
