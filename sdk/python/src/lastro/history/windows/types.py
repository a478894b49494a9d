"""What a window is asked for, and what it answers: messages ready to send, and the account of how they were chosen."""

from collections.abc import Collection, Set
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from lastro.history.records import Item, Message, Summary

Reason = Literal["held_back", "expired", "repaired", "empty", "superseded", "left_with_call", "repeated"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a window; `max_bytes` counts compact UTF-8 JSON. Instructions and tools are outside of them (HI-9)."""

    max_messages: int = 128
    max_bytes: int = 262_144

    def __post_init__(self) -> None:
        """Refuse a bound that is no whole number, by a ValueError."""
        if type(self.max_messages) is not int or type(self.max_bytes) is not int:
            raise ValueError("a bound is a whole number")


@dataclass(frozen=True, slots=True)
class Omission:
    """An item that is missing from the middle, and why (X2).

    `held_back`: its call waits for a result; `expired`: it, or a part of its exchange, has expired; `repaired`: it
    broke `rule`; `empty`: it said nothing; `superseded`: a later result of the same call is served in its place;
    `left_with_call`: its call is older than the window; `repeated`: the same item is served already.
    """

    item: str
    reason: Reason
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Window:
    """Messages ready to send, instructions first, and the account of how they were chosen.

    `items` are the ids of the served items in order ("" for a message that was added: the summary; the first id where
    one message was made of several); `changed` those that are not served as they are stored (a part left out, several
    results joined, a repeated id renamed); `open_calls` the calls that wait for their final result;
    `trimmed` says whether older exchanges stayed outside (counting them would mean to read them), and `through` is the
    last item before the tail, up to which a summary must cover ("" where nothing is outside). `message_count` and
    `bytes` are what the bounds were held against. `summary_refused` says why a given summary is not served:
    `expired`, `empty`, `nothing_left`, `covers_other`, `no_room`.
    """

    messages: tuple[Message, ...] = field(repr=False)
    items: tuple[str, ...]
    message_count: int
    bytes: int
    trimmed: bool = False
    omissions: tuple[Omission, ...] = ()
    changed: tuple[str, ...] = ()
    open_calls: tuple[str, ...] = ()
    summary: Summary | None = None
    summary_refused: str = ""
    through: str = ""


@runtime_checkable
class PathIndex(Protocol):
    """A source whose instructions are those of all branches; a window asks it which are on its own path (X12)."""

    def on_path(self, ids: Collection[str], leaf: str) -> Set[str]:
        """Give those of these items that are between a leaf and the root."""
        ...


@runtime_checkable
class TurnIndex(Protocol):
    """A source of items that finds the start of a turn without reading the turn; a window asks where there is one."""

    def opener(self, before: str) -> Item | None:
        """Give the nearest item before another on its path that opens a turn (`formats.opens_turn`)."""
        ...
