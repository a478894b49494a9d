"""What an append stores: which items are new, where they hang, and what they are called. Pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast, get_args

from lastro.history.errors import DecisionHistoryConflict, DecisionHistoryMessageInvalid
from lastro.history.records import Item, Kind, Message, NewItem, is_name
from lastro.history.stores.encoding import canonical, decoded, encoded, is_time

BESIDE: frozenset[Kind] = frozenset(("opaque", "removal"))
"""Kinds that are no part of the tree of messages (HI-25)."""

KINDS = frozenset(get_args(Kind))


@dataclass(frozen=True, slots=True)
class Row:
    """An item as it is stored. `leading`: an instruction, which stands first in a window (X4).

    `branches`: it does not follow the item that was the leaf when it came.
    """

    position: int
    id: str
    parent: str
    kind: Kind
    key: str
    provisional: bool
    recorded_at: float
    expires_at: float | None
    leading: bool
    body: bytes = field(repr=False)
    branches: bool = False

    def item(self) -> Item:
        """Give the item, detached."""
        return Item(
            position=self.position,
            id=self.id,
            parent=self.parent,
            message=decoded(self.body),
            kind=self.kind,
            key=self.key,
            provisional=self.provisional,
            recorded_at=self.recorded_at,
            expires_at=self.expires_at,
        )

    def is_expired(self, now: float) -> bool:
        """Say whether its own end has come (HI-23)."""
        return self.expires_at is not None and self.expires_at <= now


class Rows(Protocol):
    """What an append asks of the session that it extends."""

    def row(self, id: str) -> Row | None:
        """Give an item by its id."""
        ...

    def keyed(self, key: str) -> Sequence[Row]:
        """Give the items of a dedupe key in their order."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session stands: the last position that was given out, and the leaf."""

    last: int
    leaf: str


class Append:
    """One append to one session: refuses before anything is stored, and gives rows."""

    def __init__(self, rows: Rows, place: Place, *, now: float, new_id: Callable[[], str]) -> None:
        self._rows = rows
        self._place = place
        self._now = now
        self._new_id = new_id
        self._added: dict[str, Row] = {}

    def add(self, items: Sequence[NewItem]) -> tuple[tuple[Row, ...], Place]:
        """Give the rows to store and the place behind them.

        Raises DecisionHistoryMessageInvalid and DecisionHistoryConflict; what a key stored before is left out.
        """
        bodies = [body_of(item, pointer=f"/append/{index}") for index, item in enumerate(items)]
        repeated = self._repeated(items)
        for index, (item, body) in enumerate(zip(items, bodies, strict=True)):
            if item.key not in repeated:
                self._add(item, body, pointer=f"/append/{index}")
        return tuple(self._added.values()), self._place

    def _repeated(self, items: Sequence[NewItem]) -> frozenset[str]:
        keys = dict.fromkeys(item.key for item in items if item.key)
        return frozenset(key for key in keys if self._is_repeated(key, items))

    def _is_repeated(self, key: str, items: Iterable[NewItem]) -> bool:
        before = self._rows.keyed(key)
        if before and not is_same([item for item in items if item.key == key], before):
            raise DecisionHistoryConflict("the key was used for other messages")
        return bool(before)

    def _add(self, item: NewItem, body: bytes, *, pointer: str) -> None:
        parent = self._parent_of(item, pointer=pointer)
        row = self._row_of(item, body, parent=parent, id=self._id_of(item, pointer=pointer))
        self._added[row.id] = row
        self._place = Place(row.position, self._place.leaf if row.kind in BESIDE else row.id)

    def _row_of(self, item: NewItem, body: bytes, *, parent: Row | None, id: str) -> Row:
        return Row(
            position=self._place.last + 1,
            id=id,
            parent="" if parent is None else parent.id,
            kind=item.kind,
            key=item.key,
            provisional=item.provisional,
            recorded_at=self._now if item.recorded_at is None else item.recorded_at,
            expires_at=item.expires_at,
            leading=is_instruction(item),
            body=body,
            branches=item.kind not in BESIDE and ("" if parent is None else parent.id) != self._place.leaf,
        )

    def _id_of(self, item: NewItem, *, pointer: str) -> str:
        id = item.id or self._new_id()
        if self._find(id) is not None:
            raise DecisionHistoryMessageInvalid(pointer=f"{pointer}/id", reason="is used already")
        return id

    def _parent_of(self, item: NewItem, *, pointer: str) -> Row | None:
        """Find what an item follows: where it says nothing, the leaf for messages and nothing for the others."""
        id = item.parent or ("" if item.kind in BESIDE else self._place.leaf)
        parent = self._find(id) if id else None
        if id and (parent is None or parent.kind in BESIDE):
            raise DecisionHistoryMessageInvalid(pointer=f"{pointer}/parent", reason="names no message here")
        return parent

    def _find(self, id: str) -> Row | None:
        return self._added.get(id) or self._rows.row(id)


def body_of(item: NewItem, *, pointer: str) -> bytes:
    """Give an item's message as it is stored; refuse an item that cannot be kept (DecisionHistoryMessageInvalid)."""
    require_members(item, pointer=pointer)
    body = encoded(item.message, pointer=f"{pointer}/message")
    if item.kind == "removal" and not is_removal(item.message):
        raise DecisionHistoryMessageInvalid(pointer=f"{pointer}/message", reason="names nothing to remove")
    return body


def require_members(item: NewItem, *, pointer: str) -> None:
    """Refuse what stands around the message and cannot be kept."""
    sound = {
        "id": is_name(item.id),
        "parent": is_name(item.parent),
        "key": is_name(item.key),
        "kind": is_name(item.kind) and item.kind in KINDS,
        "provisional": item.provisional in (False, True),
        "recorded_at": item.recorded_at is None or is_time(item.recorded_at),
        "expires_at": item.expires_at is None or is_time(item.expires_at),
    }
    for name, fits in sound.items():
        if not fits:
            raise DecisionHistoryMessageInvalid(pointer=f"{pointer}/{name}", reason="cannot be kept")


def removal(ids: Sequence[str] | None = None) -> NewItem:
    """Give the record that says which opaque items are gone: those named, or all that are there (HI-25)."""
    return NewItem({"removes": "all" if ids is None else list(ids)}, kind="removal")


def is_removal(message: Message) -> bool:
    """Say whether a message is such a record's."""
    names: Any = message.get("removes")
    return names == "all" or (isinstance(names, list) and all(map(is_name, cast("list[object]", names))))


def is_same(items: Sequence[NewItem], rows: Sequence[Row]) -> bool:
    """Say whether a repeated append brings what is stored."""
    brought = [(item.kind, canonical(item.message)) for item in items]
    return brought == [(row.kind, canonical(decoded(row.body))) for row in rows]


def is_instruction(item: NewItem) -> bool:
    """Say whether it is a system or developer message; every provider's format says so by `role`."""
    return item.kind == "message" and item.message.get("role") in ("system", "developer")


def removes(removal: Row) -> Sequence[str] | None:
    """Give the ids that a removal names, None where it takes all that was there."""
    names: Any = decoded(removal.body)["removes"]
    return None if names == "all" else names


def without_removed(newest_first: Iterable[Row]) -> Iterator[Row]:
    """Give the opaque items that no removal took, of opaque items and removals from the newest on (HI-25)."""
    removed: set[str] = set()
    for row in newest_first:
        if row.kind == "removal":
            names = removes(row)
            if names is None:
                return
            removed.update(names)
        elif row.id not in removed:
            yield row


def present(rows: Sequence[Row], *, now: float) -> tuple[Item, ...]:
    """Give what a reader of the whole session sees: nothing expired and nothing removed."""
    beside = [row for row in reversed(rows) if row.kind in BESIDE]
    opaque = {row.id for row in without_removed(beside)}
    return tuple(
        row.item() for row in rows if not row.is_expired(now) and (row.kind != "opaque" or row.id in opaque)
    )


def fork_rows(path: Sequence[Row]) -> tuple[Row, ...]:
    """Give the rows of a new session from a path, root first."""
    return tuple(
        replace(row, position=position, branches=False) for position, row in enumerate(path, start=1)
    )
