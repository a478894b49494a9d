"""The window: what the next request carries of a session's history (HI-9 to HI-11). Pure and repeatable (X8)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lastro.history.contract import Items
from lastro.history.records import Item, Message, Provider, Summary


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a window; `max_bytes` counts compact UTF-8 JSON. Instructions and tools are outside of them (HI-9)."""

    max_messages: int = 128
    max_bytes: int = 262_144


@dataclass(frozen=True, slots=True)
class Omission:
    """An item that is missing from the middle, and why: `held_back`, `expired`, `repaired` (then by which rule)."""

    item: str
    reason: str
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Window:
    """Messages ready to send, instructions first, and the account of how they were chosen.

    `items` are the ids of the served items in order ("" for a message that was added: a summary, a repair's answer);
    `changed` those that a repair or a rule altered; `open_calls` the calls that wait for their result;
    `trimmed` says whether older exchanges stayed outside: counting them would mean to read them. `message_count` and
    `bytes` are what the bounds were held against.
    """

    messages: tuple[Message, ...]
    items: tuple[str, ...]
    message_count: int
    bytes: int
    trimmed: bool = False
    omissions: tuple[Omission, ...] = ()
    changed: tuple[str, ...] = ()
    open_calls: tuple[str, ...] = ()
    summary: Summary | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One model response with every result that answers its calls, or a plain answer with the question before it."""

    items: tuple[Item, ...] = field(default=())


def window_of(
    source: Items,
    *,
    provider: Provider,
    leaf: str,
    now: float,
    limits: Limits = Limits(),
    repair: bool = False,
    summary: Summary | None = None,
    dialect: str = "",
) -> Window:
    """Choose the window of a branch: the longest unbroken tail of complete exchanges within the bounds (HI-9 to HI-11).

    Reads backwards only as far as the window and one exchange more reach. Raises DecisionHistoryLimitExceeded where
    the latest exchange and the current observations alone pass a bound, DecisionHistoryInvalid where what is stored
    breaks a rule of the provider and `repair` is off.
    """
    raise NotImplementedError


def leaving(
    source: Items, window: Window, *, provider: Provider, leaf: str, after: str = ""
) -> Sequence[Exchange]:
    """Give the complete exchanges that are not in the window, oldest first, from behind an item on (HI-18)."""
    raise NotImplementedError
