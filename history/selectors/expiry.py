"""Which messages are served no more, though their session is (HI-23)."""

from collections.abc import Mapping
from datetime import datetime
from typing import cast

from history.models import Item, Session
from history.selectors.items import SessionItems, position_of
from lastro.history.records import Provider
from lastro.history.windows import Limits, window_of
from workspaces.types import Key, WorkspaceRef

_EVERYTHING = Limits(max_messages=2**31, max_bytes=2**40)


def expired_positions(
    workspace: WorkspaceRef, session: Session, messages: Mapping[int, Item], key: Key, *, now: datetime
) -> list[int]:
    """List the messages that have expired, with the exchanges that they belong to (HI-23)."""
    found = {at for at, row in messages.items() if row.expires_at is not None and row.expires_at <= now}
    if not found or not session.provider:
        return sorted(found)
    leaves = messages.keys() - {row.parent for row in messages.values()}
    for leaf in leaves:
        found |= _left_out(workspace, session, leaf, key, now=now) & messages.keys()
    return sorted(found)


def _left_out(workspace: WorkspaceRef, session: Session, leaf: int, key: Key, *, now: datetime) -> set[int]:
    """Ask the window of a whole branch what it leaves out as expired: the rest of it is a conversation without that."""
    items = SessionItems(workspace, session, key, leaf=leaf, up_to=session.last_position)
    window = window_of(
        items,
        provider=cast(Provider, session.provider),
        leaf=items.leaf_name(),
        now=now.timestamp(),
        limits=_EVERYTHING,
        repair=True,
    )
    names = [left.item for left in window.omissions if left.reason == "expired"]
    return {at for name in names if (at := position_of(session, key, name)) is not None}
