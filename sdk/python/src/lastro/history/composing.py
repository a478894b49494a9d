"""The window of one branch under a host's settings, with a summary of what left where the host makes one."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass

from lastro.history.ahead import ahead_of
from lastro.history.contract import Items
from lastro.history.errors import DecisionHistoryLimitExceeded
from lastro.history.events import SummaryMade, window_served
from lastro.history.formats import FORMATS
from lastro.history.messages import size_of
from lastro.history.records import Item, Message, NewItem, Provider, Summary
from lastro.history.settings import Settings, SummaryRequest
from lastro.history.steps import Steps
from lastro.history.summaries import projected, require_summary, summary_after, summary_message
from lastro.history.windows import Exchange, Limits, Window, leaving, window_of


class Nothing:
    """The items of a session that is not there yet."""

    def backwards(self, leaf: str) -> Iterator[Item]:
        """Give none."""
        return iter(())

    def instructions(self) -> Sequence[Item]:
        """Give none."""
        return ()


@dataclass(slots=True, kw_only=True)
class Composer:
    """Makes the windows of one branch; `summary` is the one that the last window needs."""

    source: Items
    provider: Provider
    leaf: str
    now: float
    settings: Settings
    summary: Summary | None = None
    given: frozenset[str] = frozenset()
    """What the decision is given, which is shown whole or not at all (X5)."""

    def put_ahead(self, items: Sequence[NewItem], *, after: int) -> None:
        """Show items ahead of the leaf that are not stored yet; `after` is the position of the last stored one."""
        self.source = ahead_of(
            self.source, items, leaf=self.leaf, provider=self.provider, now=self.now, after=after
        )
        self.leaf = items[-1].id
        self.given = frozenset(item.id for item in items)

    def window(self) -> Steps[Window]:
        """Make the window within the settings' bounds, and the summary that it needs (HI-18, HI-19)."""
        return self._told(self.settings.limits)

    def as_it_stands(self, limits: Limits | None = None) -> Window:
        """Make a window with the summary that is there, if any; the host's code is not called."""
        window = self._chosen(limits or self.settings.limits, self.summary)
        self.settings.on_event(window_served(window))
        return window

    def shorter(self, window: Window) -> Steps[Window | None]:
        """Let one old exchange leave a window; None where nothing more may leave (HI-15)."""
        limits = Limits(window.message_count - 1, self.settings.limits.max_bytes)
        try:
            return (yield from self._told(limits))
        except DecisionHistoryLimitExceeded:
            return None

    def _told(self, limits: Limits) -> Steps[Window]:
        window = yield from self._summarized(limits)
        self.settings.on_event(window_served(window))
        return window

    def _summarized(self, limits: Limits) -> Steps[Window]:
        """Summarize what leaves until the summary itself has room; without room for any, serve none."""
        window = self._chosen(limits, self.summary)
        if window.through in self.given:
            raise self._too_small(limits, window)
        room = 0
        while self.settings.summarize and window.trimmed and window.summary is None:
            room = max(room + 1, self._room())
            plain = self._leaving_room(limits, room)
            if plain is None or not plain.through:
                return window
            made = yield from self._extended(plain)
            if not made:
                return window
            window = self._chosen(limits, self.summary)
        return window

    def _too_small(self, limits: Limits, window: Window) -> DecisionHistoryLimitExceeded:
        """Name the bound that shows only a part of what is given, and what is needed at least."""
        needed = window.message_count + 1
        if needed > limits.max_messages:
            return DecisionHistoryLimitExceeded(
                bound="max_messages", needed=max(needed, len(self.given)), allowed=limits.max_messages
            )
        return DecisionHistoryLimitExceeded(
            bound="max_bytes", needed=limits.max_bytes + 1, allowed=limits.max_bytes
        )

    def _leaving_room(self, limits: Limits, room: int) -> Window | None:
        try:
            return self._chosen(Limits(limits.max_messages - 1, limits.max_bytes - room), None)
        except DecisionHistoryLimitExceeded:
            return None

    def _room(self) -> int:
        return size_of(summary_message(self.summary, FORMATS[self.provider])) + 1 if self.summary else 0

    def _extended(self, window: Window) -> Steps[bool]:
        """Let the host's text cover what left since its last one; say whether there is a summary of all of it."""
        before = self.summary
        after = before.through if before else ""
        gone = leaving(self.source, window, provider=self.provider, leaf=self.leaf, after=after, now=self.now)
        if not gone and before is None:
            return False
        text = (yield from self._text(gone)) if gone or before is None else before.text
        limit = self.settings.max_summary_bytes
        self.summary = summary_after(
            text,
            gone,
            through=window.through,
            previous=before,
            max_bytes=limit,
            expires_at=earliest(before, gone),
        )
        return True

    def _text(self, gone: Sequence[Exchange]) -> Steps[str]:
        request = SummaryRequest(
            previous_summary=self.summary.text if self.summary else None,
            turns=self._turns(gone),
            max_bytes=self.settings.max_summary_bytes,
        )
        text: str = require_summary(
            (yield lambda: self.settings.summarize and self.settings.summarize(request)),
            max_bytes=request.max_bytes,
        )
        covers = (self.summary.covers if self.summary else 0) + len(gone)
        self.settings.on_event(SummaryMade(covers=covers, added=len(gone), bytes=len(text.encode())))
        return text

    def _turns(self, gone: Sequence[Exchange]) -> tuple[tuple[Message, ...], ...]:
        if self.settings.content_mode == "opaque_refs":
            return tuple(tuple(turn) for turn in projected(gone, provider=self.provider))
        return tuple(tuple(deepcopy(item.message) for item in exchange.items) for exchange in gone)

    def _chosen(self, limits: Limits, summary: Summary | None) -> Window:
        return window_of(
            self.source,
            provider=self.provider,
            leaf=self.leaf,
            now=self.now,
            limits=limits,
            repair=self.settings.repair,
            summary=summary,
            dialect=self.settings.dialect,
        )


def earliest(before: Summary | None, gone: Sequence[Exchange]) -> float | None:
    """Give the end of a summary: the first end of what it was made of, since it may say what that said (HI-23)."""
    ends = [item.expires_at for exchange in gone for item in exchange.items]
    known = [end for end in (*ends, before.expires_at if before else None) if end is not None]
    return min(known, default=None)
