"""What is checked: a request's messages, and what is known of the history that they were taken from."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule, at the index of a served message (-1: of the whole); `detail` never holds content."""

    rule: str
    index: int
    detail: str


class Bounds(Protocol):
    """Bounds of a window."""

    @property
    def max_messages(self) -> int:
        """Give the most messages."""
        ...

    @property
    def max_bytes(self) -> int:
        """Give the most bytes of their compact UTF-8 JSON."""
        ...


@dataclass(frozen=True, slots=True)
class Account:
    """Which stored messages a window serves.

    `sources` gives for each served message its place among the stored ones, None for one that was added; `changed` are
    places of served messages marked as changed; `omitted` are places of stored ones that are accounted for.
    """

    sources: Sequence[int | None] | None = None
    changed: Set[int] = field(default_factory=frozenset[int])
    omitted: Set[int] = field(default_factory=frozenset[int])


@dataclass(frozen=True, repr=False)
class Subject:
    """Served messages, instructions first, and what is known of where they come from."""

    served: Sequence[Message]
    stored: Sequence[Message] | None
    account: Account
    limits: Bounds | None
    instructions: int
    tools: bool | None

    @property
    def sources(self) -> Sequence[int | None] | None:
        """Give for each served message which stored one it is."""
        return self.account.sources

    @property
    def spoken(self) -> Sequence[tuple[int, Message]]:
        """Give the messages behind the instructions, with their indices."""
        return list(enumerate(self.served))[self.instructions :]

    @property
    def pairs(self) -> Iterator[tuple[int, Message, Message]]:
        """Give index, served and stored message, where it is known which one was stored."""
        if self.stored is not None and self.sources is not None:
            for index, (message, source) in enumerate(zip(self.served, self.sources, strict=True)):
                if source is not None:
                    yield index, message, self.stored[source]


def blocks(message: Message, name: str = "content") -> list[Message]:
    """Give the objects in an array of a message."""
    value = message.get(name)
    found = cast("Sequence[object]", value) if isinstance(value, list) else ()
    return [cast(Message, block) for block in found if isinstance(block, dict)]


def typed(message: Message, *kinds: str) -> list[Message]:
    """Give the blocks of a content that have one of these types."""
    return [block for block in blocks(message) if block.get("type") in kinds]


def role_of(message: Message | None) -> object:
    """Give the role, None where there is no message."""
    return message.get("role") if message is not None else None
