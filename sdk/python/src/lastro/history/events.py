"""What `on_event` is told: numbers only, never a message, a name or a signature (HI-12)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from lastro.history.records import Provider
from lastro.history.windows import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowServed:
    """A window was made: what it carries, and how much is missing from its middle and why."""

    kind: ClassVar[Literal["decision_history_window"]] = "decision_history_window"
    message_count: int
    bytes: int
    trimmed: bool
    held_back: int
    expired: int
    repaired: int
    open_calls: int
    summarized_exchanges: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryMade:
    """A host's summary was taken: exchanges that it covers, those that are new in it, and its UTF-8 bytes (HI-19)."""

    kind: ClassVar[Literal["decision_history_summary"]] = "decision_history_summary"
    covers: int
    added: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsKept:
    """Items were handed to the store for one session, and their bytes; a repeated key's are not among them."""

    kind: ClassVar[Literal["decision_history_kept"]] = "decision_history_kept"
    count: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedWithoutMessages:
    """An invocation was resumed whose messages are gone; what the runtime observed is all that remains (HI-8)."""

    kind: ClassVar[Literal["resumed_without_messages"]] = "resumed_without_messages"
    observations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderContextCount:
    """A request was counted: its tokens, what is reserved, the ceiling, and whether it fits (HI-17)."""

    kind: ClassVar[Literal["provider_context_count"]] = "provider_context_count"
    provider: Provider
    count: int
    reservation: int
    window: int
    fits: bool


HistoryEvent = WindowServed | SummaryMade | ItemsKept | ResumedWithoutMessages | ProviderContextCount
OnEvent = Callable[[HistoryEvent], object]


def untold(event: HistoryEvent) -> None:
    """Tell nobody."""


def window_served(window: Window) -> WindowServed:
    """Count a window."""
    reasons = [omission.reason for omission in window.omissions]
    return WindowServed(
        message_count=window.message_count,
        bytes=window.bytes,
        trimmed=window.trimmed,
        held_back=reasons.count("held_back"),
        expired=reasons.count("expired"),
        repaired=reasons.count("repaired"),
        open_calls=len(window.open_calls),
        summarized_exchanges=window.summary.covers if window.summary else 0,
    )
