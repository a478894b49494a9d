"""What a decision is given: items ahead of a session's leaf, that are stored with its answer or not at all."""

from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import takewhile

from lastro.history.contract import Items
from lastro.history.formats import is_instruction, opens_turn
from lastro.history.records import Item, NewItem, Provider
from lastro.history.windows import PathIndex, TurnIndex


@dataclass(frozen=True, slots=True)
class Ahead:
    """The items of a session, with others ahead of `leaf` that are not stored yet."""

    source: Items
    items: tuple[Item, ...]
    leaf: str
    provider: Provider

    def backwards(self, leaf: str) -> Iterator[Item]:
        """Give the items on the path from a leaf to the root, newest first."""
        own = self._before(leaf, with_it=True)
        yield from reversed(own)
        start = self.leaf if own else leaf
        if start:
            yield from self.source.backwards(start)

    def instructions(self) -> Sequence[Item]:
        """Give the system and developer messages that stand first (X4)."""
        stored = tuple(self.source.instructions())
        if self.leaf != (stored[-1].id if stored else ""):
            return stored
        return (*stored, *takewhile(lambda item: is_instruction(self.provider, item.message), self.items))

    def on_path(self, ids: Collection[str], leaf: str) -> Set[str]:
        """Give those of these items that are between a leaf and the root."""
        own = {item.id for item in self._before(leaf, with_it=True)}
        start = self.leaf if own else leaf
        stored = [id for id in ids if not self._is_own(id)]
        there = self.source.on_path(stored, start) if isinstance(self.source, PathIndex) else set(stored)
        return own | there

    def opener(self, before: str) -> Item | None:
        """Give the nearest item before another on its path that opens a turn."""
        own = self._before(before, with_it=False)
        if not own and isinstance(self.source, TurnIndex) and not self._is_own(before):
            return self.source.opener(before)
        found = (item for item in self._behind(before) if opens_turn(self.provider, item.message))
        return next(found, None)

    def _behind(self, id: str) -> Iterator[Item]:
        return (item for item in self.backwards(id) if item.id != id)

    def _is_own(self, id: str) -> bool:
        return any(item.id == id for item in self.items)

    def _before(self, id: str, *, with_it: bool) -> tuple[Item, ...]:
        ids = [item.id for item in self.items]
        return self.items[: ids.index(id) + with_it] if id in ids else ()


def ahead_of(
    source: Items, items: Sequence[NewItem], *, leaf: str, provider: Provider, now: float, after: int
) -> Ahead:
    """Hang new items, which have their ids, behind a leaf; `after` is the position of the last stored one."""
    hung: list[Item] = []
    for position, item in enumerate(items, start=after + 1):
        hung.append(
            Item(
                position=position,
                id=item.id,
                parent=hung[-1].id if hung else leaf,
                message=item.message,
                kind=item.kind,
                provisional=item.provisional,
                recorded_at=now,
                expires_at=item.expires_at,
            )
        )
    return Ahead(source, tuple(hung), leaf, provider)
