"""A branch of messages in memory, as a window reads it; it counts what is read."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from lastro.history.formats import is_instruction, opens_turn
from lastro.history.records import Item, Message, NewItem, Provider


@dataclass
class Branch:
    """Items of a session, in a tree."""

    provider: Provider
    items: list[Item] = field(default_factory=list)
    read: int = 0

    @classmethod
    def of(cls, provider: Provider, messages: Iterable[Message], **members: Any) -> "Branch":
        branch = cls(provider)
        for message in messages:
            branch.add(message, **members)
        return branch

    @property
    def leaf(self) -> str:
        return self.items[-1].id if self.items else ""

    def add(self, message: Message, **members: Any) -> Item:
        new = NewItem(message, **members)
        item = Item(
            position=len(self.items) + 1,
            id=new.id or f"i{len(self.items)}",
            parent=new.parent or self.leaf,
            message=message,
            kind=new.kind,
            provisional=new.provisional,
            recorded_at=new.recorded_at or 0.0,
            expires_at=new.expires_at,
        )
        self.items.append(item)
        return item

    def path(self, leaf: str) -> Iterator[Item]:
        by_id = {item.id: item for item in self.items}
        while leaf:
            item = by_id[leaf]
            yield item
            leaf = item.parent

    def backwards(self, leaf: str) -> Iterator[Item]:
        for item in self.path(leaf):
            self.read += 1
            yield item

    def instructions(self) -> Sequence[Item]:
        return [item for item in self.items if is_instruction(self.provider, item.message)]


class IndexedBranch(Branch):
    """A branch whose turns can be found without reading them."""

    def opener(self, before: str) -> Item | None:
        path = self.path(before)
        next(path)
        return next((item for item in path if opens_turn(self.provider, item.message)), None)
