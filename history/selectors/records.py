"""Lists of a session's items, page by page: its opaque records, a path, its instructions, what a key stored (HI-25)."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice

from history import access, encryption
from history.models import Item, Session
from history.selectors.again import again_if_resealed
from history.selectors.expiry import expired_positions
from history.selectors.items import (
    BESIDE,
    SessionItems,
    as_row,
    is_expired,
    position_of,
    stored_item,
    value_of,
)
from history.selectors.sessions import end_of, head_of, is_held_by, require_idle, served_session
from history.types import ItemPage, ListWish, Place, Retention, StoredItem
from lastro.history.stores.appends import removes
from workspaces.types import Key

CHUNK = 100


@again_if_resealed
def list_items(*, place: Place, wish: ListWish, retention: Retention, now: datetime) -> ItemPage:
    """Give a page of items. Raises HistoryNotFound, and HistoryBusy where the head is asked for.

    Opaque records and paths go from the newest to the oldest, the others in their order. What has expired is left out,
    with the exchange that it belongs to. While a decision runs only its holder sees what it appended.
    """
    session, key = served_session(place, retention, now=now)
    head = None
    if wish.with_head:
        require_idle(session)
        head = head_of(place.workspace, session, key, retention, now=now)
    listing = _Listing(place, session, key, wish, now=now)
    page = tuple(islice(listing.rows(), wish.limit + 1))
    following = page[wish.limit].position if len(page) > wish.limit else None
    items = tuple(listing.shown(row) for row in page[: wish.limit])
    return ItemPage(items, following, head)


class _Listing:
    """One list of one session."""

    def __init__(self, place: Place, session: Session, key: Key, wish: ListWish, *, now: datetime) -> None:
        self._place, self._session, self._key, self._wish, self._now = place, session, key, wish, now
        self._cursor = wish.cursor or 0
        self._leaf, self._up_to = end_of(session, is_mine=is_held_by(session, wish.holds))

    def rows(self) -> Iterator[Item]:
        """Give the rows of the list from the cursor on."""
        match self._wish.of:
            case "opaque":
                yield from self._opaque()
            case "path":
                start = self._cursor or self._start()
                yield from self._unexpired(self._items(min(start, self._up_to)).rows_of_path())
            case "instructions":
                leading = self._items(self._start()).leading_rows()
                yield from self._unexpired(row for row in leading if row.position >= self._cursor)
            case "key":
                yield from self._unexpired(self._keyed())

    def shown(self, row: Item) -> StoredItem:
        """Open a row."""
        return stored_item(value_of(row, encryption.open_item(self._place.workspace, row, self._key)))

    def _items(self, leaf: int) -> SessionItems:
        return SessionItems(self._place.workspace, self._session, self._key, leaf=leaf, up_to=self._up_to)

    def _start(self) -> int:
        if not self._wish.leaf:
            return self._leaf
        position = position_of(self._session, self._key, self._wish.leaf) or 0
        return position if position <= self._up_to else 0

    def _keyed(self) -> Iterator[Item]:
        rows = access.items_of(self._session).filter(position__lte=self._up_to, is_swept=False)
        rows = rows.filter(key_mac=encryption.dedupe_mac(self._key, self._wish.key))
        yield from rows.filter(position__gte=self._cursor).order_by("position")

    def _opaque(self) -> Iterator[Item]:
        rows = access.items_of(self._session).filter(position__lte=self._up_to)
        floor, gone = self._removed(rows.filter(kind=Item.Kind.REMOVAL))
        records = rows.filter(kind=Item.Kind.OPAQUE, position__gt=floor).order_by("-position")
        if self._cursor:
            records = records.filter(position__lte=self._cursor)
        for row in records.iterator(chunk_size=CHUNK):
            if bytes(row.name_mac) not in gone and not is_expired(row, now=self._now):
                yield row

    def _removed(self, removals: Iterable[Item]) -> tuple[int, set[bytes]]:
        """Give the position up to which all is gone, and the ids that are gone beside, as they are stored."""
        floor, gone = 0, set[bytes]()
        for removal in removals:
            value = value_of(removal, encryption.open_item(self._place.workspace, removal, self._key))
            names = removes(as_row(value))
            if names is None:
                floor = max(floor, removal.position)
            gone.update(encryption.name_mac(self._key, name) for name in names or ())
        return floor, gone

    def _unexpired(self, rows: Iterable[Item]) -> Iterator[Item]:
        gone = self._expired()
        return (row for row in rows if row.position not in gone)

    def _expired(self) -> frozenset[int]:
        """List what has expired, which nearly no session has anything of: then nothing else is read."""
        rows = access.items_of(self._session).filter(is_swept=False).exclude(kind__in=BESIDE)
        if not rows.filter(expires_at__lte=self._now).exists():
            return frozenset()
        messages = {row.position: row for row in rows}
        found = expired_positions(self._place.workspace, self._session, messages, self._key, now=self._now)
        return frozenset(found)
