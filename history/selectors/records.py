"""Another framework's records in a session, which only their own source lists (HI-25)."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from history import access, encryption
from history.models import Item, Session
from history.selectors.items import as_row, is_expired, stored_item, value_of
from history.selectors.sessions import end_of, served_session
from history.types import Place, Retention, StoredItem
from lastro.history.stores.appends import removes
from workspaces.types import Key

CHUNK = 100


def list_records(
    *, place: Place, before: int | None, limit: int, retention: Retention, now: datetime
) -> tuple[tuple[StoredItem, ...], int | None]:
    """Give a page of the records that no removal took, newest first, and before which position the next one begins.

    While a decision runs it shows what was there before. Raises HistoryNotFound.
    """
    session, key = served_session(place, retention, now=now)
    left = _left(place, session, key, before=before, now=now)
    page = tuple(islice(left, limit + 1))
    following = page[limit - 1].position if len(page) > limit else None
    return page[:limit], following


def _left(
    place: Place, session: Session, key: Key, *, before: int | None, now: datetime
) -> Iterator[StoredItem]:
    _, up_to = end_of(session, is_mine=False)
    rows = access.items_of(session).filter(position__lte=up_to)
    floor, gone = _removed(place, list(rows.filter(kind=Item.Kind.REMOVAL)), key)
    records = rows.filter(kind=Item.Kind.OPAQUE, position__gt=floor).order_by("-position")
    if before is not None:
        records = records.filter(position__lt=before)
    for row in records.iterator(chunk_size=CHUNK):
        opened = encryption.open_item(place.workspace, row, key)
        if opened.id not in gone and not is_expired(row, now=now):
            yield stored_item(value_of(row, opened))


def _removed(place: Place, removals: list[Item], key: Key) -> tuple[int, set[str]]:
    """Give the position up to which all is gone, and the ids that are gone beside."""
    floor, gone = 0, set[str]()
    for removal in removals:
        value = value_of(removal, encryption.open_item(place.workspace, removal, key))
        names = removes(as_row(value))
        if names is None:
            floor = max(floor, removal.position)
        gone.update(names or ())
    return floor, gone
