"""The items of a session, read backwards in pages, and the window over them (HI-9, HI-21)."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import cast

import msgspec
from django.db.models import Q, QuerySet

from history import access, encryption
from history.models import Item, Session
from history.types import StoredItem
from lastro.history.records import Item as ItemValue
from lastro.history.records import Kind, NewItem
from lastro.history.stores.appends import Row
from lastro.history.stores.appends import without_removed as unremoved
from lastro.history.stores.encoding import decoded, written
from workspaces.types import Key, WorkspaceRef

FIRST_PAGE, LARGEST_PAGE = 16, 256
BESIDE = (Item.Kind.OPAQUE, Item.Kind.REMOVAL)


class SessionItems:
    """The items of one session up to a position, as the pure window code reads them: only as far as it asks."""

    def __init__(self, workspace: WorkspaceRef, session: Session, key: Key, *, leaf: int, up_to: int) -> None:
        self._workspace, self._session, self._key = workspace, session, key
        self._leaf, self._up_to = leaf, up_to

    def backwards(self, leaf: str) -> Iterator[ItemValue]:
        """Give the items from a leaf to the root, newest first."""
        return map(self._value, self._path(self._position(leaf)))

    def instructions(self) -> Sequence[ItemValue]:
        """Give the system and developer messages of the path, which stand first (X4)."""
        return [self._value(row) for row in self.leading_rows()]

    def leading_rows(self) -> list[Item]:
        """Give the rows of those, unopened."""
        rows = list(
            self._rows()
            .filter(is_leading=True, is_swept=False, position__lte=self._leaf)
            .order_by("position")
        )
        if rows and self._session.is_branched:
            path = self._positions_of_path()
            rows = [row for row in rows if row.position in path]
        return rows

    def leaf_name(self) -> str:
        """Give the id of the leaf, empty where nothing is there."""
        found = access.items_of(self._session).filter(position=self._leaf).first() if self._leaf else None
        return encryption.open_item(self._workspace, found, self._key).id if found else ""

    def rows_of_path(self) -> Iterator[Item]:
        """Give the rows from the leaf to the root, newest first, unopened."""
        return self._path(self._leaf)

    def _value(self, row: Item) -> ItemValue:
        return value_of(row, encryption.open_item(self._workspace, row, self._key))

    def _rows(self) -> QuerySet[Item]:
        return access.items_of(self._session).filter(position__lte=self._up_to).exclude(kind__in=BESIDE)

    def _path(self, at: int) -> Iterator[Item]:
        """Follow the parents, page by page: what lies between two of the path on another branch is passed over.

        A page is a range of positions: behind a limit the database may sort the whole session first.
        """
        size = FIRST_PAGE
        while at:
            page = self._rows().filter(position__lte=at, position__gt=at - size).order_by("-position")
            begun_at = at
            for row in page:
                if row.position == at:
                    at = row.parent
                    if not row.is_swept:
                        yield row
            if at == begun_at:
                return
            size = min(size * 2, LARGEST_PAGE)

    def _positions_of_path(self) -> set[int]:
        parents = dict(self._rows().values_list("position", "parent"))
        path, at = set(), self._leaf
        while at in parents:
            path.add(at)
            at = parents[at]
        return path

    def _position(self, leaf: str) -> int:
        found = position_of(self._session, self._key, leaf) if leaf else 0
        return found if found and found <= self._up_to else 0


class IndexedItems(SessionItems):
    """The items of a session that is pinned to a provider: where turns open stands beside each message."""

    def opener(self, before: str) -> ItemValue | None:
        """Give the nearest item before another on its path that opens a turn."""
        position = self._position(before)
        rows = self._rows().filter(opens_turn=True, position__lt=position).order_by("-position")
        if self._session.is_branched:
            path = self._positions_of_path()
            rows = rows.filter(position__in=[at for at in path if at < position])
        row = rows.first()
        return self._value(row) if row is not None else None


class StoredRows:
    """The items of a session that an append names, found in two statements whatever the session holds."""

    def __init__(self, workspace: WorkspaceRef, session: Session, key: Key, items: Sequence[NewItem]) -> None:
        self._workspace, self._key = workspace, key
        names = {name for item in items for name in (item.id, item.parent) if name}
        found = access.items_of(session)
        rows = list(found.filter(Q(position=session.leaf) | Q(name_mac__in=self._macs(names))))
        self._rows = {row.id: row for row in map(self._row, rows)}
        self.leaf = next((row.id for row in self._rows.values() if row.position == session.leaf), "")
        keys = {item.key for item in items if item.key}
        macs = [encryption.dedupe_mac(key, name) for name in keys]
        keyed = found.filter(key_mac__in=macs).order_by("position") if keys else ()
        self._keyed = [self._row(row) for row in keyed]

    def row(self, id: str) -> Row | None:
        """Give an item by its id."""
        return self._rows.get(id)

    def keyed(self, key: str) -> Sequence[Row]:
        """Give the items of a dedupe key in their order."""
        return [row for row in self._keyed if row.key == key]

    def position(self, id: str) -> int:
        """Give the position of an item that was named, 0 for none."""
        found = self._rows.get(id)
        return found.position if found else 0

    def positions(self, items: Sequence[NewItem], added: Sequence[Row]) -> tuple[int, ...]:
        """Give the place of each item of a request: where it was stored now, or at its key's first use."""
        repeated = {row.key: iter(self.keyed(row.key)) for row in self._keyed}
        fresh = iter(added)
        return tuple(next(repeated.get(item.key, fresh)).position for item in items)

    def _row(self, row: Item) -> Row:
        opened = encryption.open_item(self._workspace, row, self._key)
        return as_row(value_of(row, opened), leading=row.is_leading)

    def _macs(self, names: set[str]) -> list[bytes]:
        return [encryption.name_mac(self._key, name) for name in names]


def opened_items(
    workspace: WorkspaceRef, session: Session, key: Key, *, now: datetime
) -> tuple[StoredItem, ...]:
    """Give what a reader of the whole session sees: nothing expired and nothing removed (HI-6, HI-25)."""
    rows = list(access.items_of(session).filter(is_swept=False).order_by("position"))
    records = [row for row in rows if row.kind in BESIDE]
    opaque = {row.position for row in unremoved_records(workspace, records, key, now=now)}
    seen = [
        row
        for row in rows
        if not is_expired(row, now=now) and (row.kind != Item.Kind.OPAQUE or row.position in opaque)
    ]
    return tuple(stored_item(value_of(row, encryption.open_item(workspace, row, key))) for row in seen)


def unremoved_records(
    workspace: WorkspaceRef, records: Sequence[Item], key: Key, *, now: datetime
) -> list[Item]:
    """Give the opaque items that neither expired nor were removed, newest first (HI-25)."""
    rows = {row.position: row for row in records}
    values = (value_of(row, encryption.open_item(workspace, row, key)) for row in reversed(records))
    left = [rows[row.position] for row in unremoved(map(as_row, values))]
    return [row for row in left if not is_expired(row, now=now)]


def is_expired(row: Item, *, now: datetime) -> bool:
    """Tell whether an item's own end has come (HI-23)."""
    return row.expires_at is not None and row.expires_at <= now


def position_of(session: Session, key: Key, name: str) -> int | None:
    """Give the position of the item with an id; none where the session has no such item."""
    rows = access.items_of(session).filter(name_mac=encryption.name_mac(key, name))
    return rows.values_list("position", flat=True).first()


def value_of(row: Item, opened: encryption.Opened) -> ItemValue:
    """Give an item as the pure code knows it."""
    return ItemValue(
        position=row.position,
        id=opened.id,
        parent=opened.parent,
        message=decoded(bytes(opened.message)),
        kind=cast(Kind, row.kind),
        key=opened.key,
        provisional=row.is_provisional,
        recorded_at=row.recorded_at.timestamp(),
        expires_at=row.expires_at.timestamp() if row.expires_at else None,
    )


def stored_item(value: ItemValue) -> StoredItem:
    """Give an item as it travels."""
    until = value.expires_at
    return StoredItem(
        position=value.position,
        id=value.id,
        parent=value.parent,
        kind=value.kind,
        message=msgspec.Raw(written(value.message)),
        key=value.key,
        provisional=value.provisional,
        recorded_at=datetime.fromtimestamp(value.recorded_at, UTC),
        expires_at=datetime.fromtimestamp(until, UTC) if until is not None else None,
    )


def as_row(value: ItemValue, *, leading: bool = False) -> Row:
    """Give an item as the SDK's own stores keep it, for the rules that they share."""
    return Row(
        position=value.position,
        id=value.id,
        parent=value.parent,
        kind=value.kind,
        key=value.key,
        provisional=value.provisional,
        recorded_at=value.recorded_at,
        expires_at=value.expires_at,
        leading=leading,
        body=written(value.message),
    )
