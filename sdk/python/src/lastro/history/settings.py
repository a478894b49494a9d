"""The settings that every session of one history shares, as its host gave them once."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from lastro.history.contract import HistoryStore
from lastro.history.events import OnEvent, untold
from lastro.history.records import ContentMode, Message
from lastro.history.stores.reserving import new_id
from lastro.history.windows import Limits


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What a host's `summarize` gets: its last text, the exchanges that left since, and the bytes it may give (HI-18).

    A turn is the messages of one exchange, in their order; in `opaque_refs` they are projected.
    """

    previous_summary: str | None = field(repr=False)
    turns: tuple[tuple[Message, ...], ...] = field(repr=False)
    max_bytes: int


Summarize = Callable[[SummaryRequest], str | Awaitable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where sessions are kept, how their windows are made, and who is told.

    `max_retained_bytes` bounds one session below what its store allows.
    """

    store: HistoryStore
    keeps: bool = True
    limits: Limits = field(default_factory=Limits)
    max_retained_bytes: int | None = None
    content_mode: ContentMode = "inline"
    repair: bool = False
    dialect: str = ""
    summarize: Summarize | None = None
    max_summary_bytes: int = 4096
    on_event: OnEvent = untold
    clock: Callable[[], float] = time.time
    new_id: Callable[[], str] = new_id

    def __post_init__(self) -> None:
        """Refuse a bound that is none, by a ValueError, before anything is kept under it."""
        bounds: tuple[object, ...] = (self.max_retained_bytes or 0, self.max_summary_bytes)
        if not all(type(bound) is int for bound in bounds):
            raise ValueError("a bound is a whole number")
