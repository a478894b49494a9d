"""What each call of a session gives to its store: what is appended, and the head. No I/O of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, get_args

from lastro.history.calls import OpenCalls
from lastro.history.composing import Composer, Nothing
from lastro.history.contract import View
from lastro.history.errors import (
    DecisionHistoryIdentityMissing,
    DecisionHistoryMessageInvalid,
    DecisionHistoryMismatch,
    DecisionHistoryNotFound,
)
from lastro.history.events import ItemsKept, ResumedWithoutMessages
from lastro.history.formats import not_executed, require_provider
from lastro.history.messages import require_list
from lastro.history.records import Head, Interface, Message, NewItem, Outcome, Pins, Provider, is_name
from lastro.history.settings import Settings
from lastro.history.steps import Steps, ataken, taken
from lastro.history.stores.appends import body_of
from lastro.history.stores.bounds import require
from lastro.history.windows import Limits, Window

T = TypeVar("T")
Answer = Outcome[Any] | Sequence[Message | NewItem]
"""What an operation gives: the messages of its decision, or an outcome that has a result beside them."""

Before = Callable[[View | None], Sequence[NewItem]]
"""What a decision is given: items that its window shows already, and that are stored with its answer or not at all."""


def nothing(_: View | None) -> Sequence[NewItem]:
    """Give a decision nothing beside what is stored."""
    return ()


@dataclass(frozen=True, slots=True)
class Turn:
    """What a decision starts from: its window, and a way to shorten it before anything is generated (HI-15)."""

    window: Window
    head: Head | None
    composer: Composer

    def shorter(self, window: Window) -> Window | None:
        """Let one old exchange leave; None where nothing more may leave."""
        return taken(self.composer.shorter(window))

    async def ashorter(self, window: Window) -> Window | None:
        """Do as `shorter`, where `summarize` has to be awaited."""
        return await ataken(self.composer.shorter(window))


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision as its caller asks for it."""

    pins: Pins
    operation: Callable[[Turn], Any]
    leaf: str = ""
    observations: int = 0
    before: Before = nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The rules of one session: whom it is about, what is pinned, and what may be stored."""

    settings: Settings
    conversation: str = ""
    subject: str = field(default="", repr=False)
    provider: Provider | None = None
    resumed: bool = False

    def appended(
        self, view: View | None, messages: Sequence[Message | NewItem], *, key: str = ""
    ) -> Outcome[tuple[str, ...]]:
        """Append messages; a key that is known gives what it gave (HI-21)."""
        require_key(key)
        items = self._items(messages, key=key)
        before = view.known(key) if view is not None and key else ()
        ids = tuple(item.id for item in before or items)
        return self._kept(view, ids, items, is_new=not before)

    def observed(
        self, view: View | None, results: Sequence[Message], *, key: str = "", provisional: bool = False
    ) -> Outcome[tuple[str, ...]]:
        """Append results of open calls (HI-13); of a resume without messages nothing can be kept (HI-8)."""
        if not self.settings.keeps:
            return Outcome(())
        if view is None and self.resumed:
            self.settings.on_event(ResumedWithoutMessages(observations=len(results)))
            return Outcome(())
        if view is None:
            raise DecisionHistoryNotFound
        require_key(key)
        results = require_list(results, "/append")
        items = [NewItem(result, kind="observation", provisional=provisional) for result in results]
        for place, item in enumerate(items):
            body_of(item, pointer=f"/append/{place}")
        if not (key and view.known(key)):
            self._open_calls(view).answered_by(results)
        return self.appended(view, items, key=key)

    def unexecuted(
        self, view: View | None, call_ids: Sequence[str], *, key: str = ""
    ) -> Outcome[tuple[str, ...]]:
        """Append, for open calls, the record that they were not executed."""
        if not self.settings.keeps:
            return Outcome(())
        if view is None:
            raise DecisionHistoryNotFound
        require_key(key)
        call_ids = require_calls(call_ids)
        if key and (before := view.known(key)):
            return Outcome(tuple(item.id for item in before))
        open_calls = self._open_calls(view)
        messages = [not_executed(open_calls.provider, call) for call in open_calls.named(call_ids)]
        return self.appended(view, [NewItem(message, kind="not_executed") for message in messages], key=key)

    def windowed(self, view: View | None, leaf: str, limits: Limits | None) -> Outcome[Window]:
        """Make a window and store nothing."""
        provider = self.provider or "openai.chat" if view is None else self._provider(view.head)
        return Outcome(self._composer(view, provider, leaf).as_it_stands(limits))

    def decided(self, view: View | None, decision: Decision) -> Steps[Outcome[Any]]:
        """Make the window, let the operation decide on it, and append what it gives (HI-1)."""
        head = self._pinned(self._head(view), decision.pins)
        if view is None and self.resumed:
            self.settings.on_event(ResumedWithoutMessages(observations=decision.observations))
        before = self._items(decision.before(view))
        composer = self._composer(view, decision.pins.provider, decision.leaf)
        self._put_ahead(composer, view, before)
        window = yield from composer.window()
        turn = Turn(window, view.head if view is not None else None, composer)
        answer: Answer = yield lambda: decision.operation(turn)
        head = head.with_(summary=composer.summary)
        return self._answered(view, head, answer, leaf=decision.leaf, before=before)

    def _put_ahead(self, composer: Composer, view: View | None, before: Sequence[NewItem]) -> None:
        """Let the window show what the decision is given; a result is one of an open call (HI-13)."""
        for place, item in enumerate(before):
            body_of(item, pointer=f"/before/{place}")
        results = [item.message for item in before if item.kind == "observation"]
        if results and view is not None:
            OpenCalls(view, composer.provider, composer.leaf).answered_by(results)
        if before:
            stored = view.head.count if view is not None else 0
            composer.put_ahead(before, after=stored)

    def _answered(
        self, view: View | None, head: Head, answer: Answer, *, leaf: str, before: tuple[NewItem, ...]
    ) -> Outcome[Any]:
        given = answer.append if isinstance(answer, Outcome) else answer
        answered = self._items(given)
        ids = tuple(item.id for item in answered)
        result = answer.result if isinstance(answer, Outcome) else ids
        return self._kept(view, result, branched((*before, *answered), leaf), head=head)

    def _kept(
        self,
        view: View | None,
        result: T,
        items: tuple[NewItem, ...],
        *,
        head: Head | None = None,
        is_new: bool = True,
    ) -> Outcome[T]:
        """Give the outcome, within this history's own bound, and tell of it."""
        if is_new and items:
            self._require_room(view, items)
        return Outcome(result, items, head or self._named(view))

    def _require_room(self, view: View | None, items: Sequence[NewItem]) -> None:
        size = sum(len(body_of(item, pointer=f"/append/{place}")) for place, item in enumerate(items))
        held = 0 if view is None else view.head.bytes
        if self.settings.max_retained_bytes is not None:
            require("max_retained_bytes", needed=held + size, allowed=self.settings.max_retained_bytes)
        self.settings.on_event(ItemsKept(count=len(items), bytes=size))

    def _items(self, messages: Sequence[Message | NewItem], *, key: str = "") -> tuple[NewItem, ...]:
        listed = require_list(messages, "/append")
        items = (message if isinstance(message, NewItem) else NewItem(message) for message in listed)
        return tuple(
            replace(item, id=item.id or self.settings.new_id(), key=key or item.key) for item in items
        )

    def _head(self, view: View | None) -> Head:
        """Give the head with the session's conversation and subject, which stay what they are once named (HI-22)."""
        head = Head() if view is None else view.head
        for name, given in (("conversation", self.conversation), ("subject", self.subject)):
            before = getattr(head, name)
            if given and before and given != before:
                raise DecisionHistoryMismatch(f"the session has another {name}")
            head = head.with_(**{name: given or before})
        return head

    def _named(self, view: View | None) -> Head | None:
        head = self._head(view)
        return None if view is not None and head == view.head else head

    def _pinned(self, head: Head, pins: Pins) -> Head:
        if pins.content_mode != self.settings.content_mode:
            raise DecisionHistoryMismatch("content_mode is not this history's")
        require_pins(pins)
        before = head.pins or pins
        for name in ("provider", "model", "interface", "content_mode"):
            if getattr(before, name) != getattr(pins, name):
                raise DecisionHistoryMismatch(f"{name} was pinned at the first decision")
        return head.with_(pins=pins)

    def _provider(self, head: Head) -> Provider:
        provider = head.pins.provider if head.pins is not None else self.provider
        if provider is None:
            raise DecisionHistoryIdentityMissing("no decision has pinned a provider yet; name one")
        return provider

    def _open_calls(self, view: View) -> OpenCalls:
        return OpenCalls(view, self._provider(view.head), view.head.leaf)

    def _composer(self, view: View | None, provider: Provider, leaf: str) -> Composer:
        if not is_name(leaf):
            raise DecisionHistoryNotFound
        if leaf and next(iter(view.backwards(leaf)) if view is not None else iter(()), None) is None:
            raise DecisionHistoryNotFound
        head = Head() if view is None else view.head
        return Composer(
            source=view or Nothing(),
            provider=provider,
            leaf=leaf or head.leaf,
            now=self.settings.clock(),
            settings=self.settings,
            summary=head.summary,
        )


def require_key(key: object) -> None:
    """Refuse a dedupe key that cannot be kept (HI-21)."""
    if not is_name(key):
        raise DecisionHistoryMessageInvalid(pointer="/key", reason="cannot be kept")


def require_calls(call_ids: Sequence[str]) -> tuple[str, ...]:
    """Give the ids of calls; what is no id is DecisionHistoryMessageInvalid."""
    listed = require_list(call_ids, "/calls")
    for place, name in enumerate(listed):
        if not is_name(name):
            raise DecisionHistoryMessageInvalid(pointer=f"/calls/{place}", reason="no id of a call")
    return listed


def require_pins(pins: Pins) -> None:
    """Refuse pins of which one is none; nothing is pinned then (HI-1)."""
    require_provider(pins.provider)
    if not is_name(pins.model) or pins.interface not in get_args(Interface):
        raise DecisionHistoryIdentityMissing(
            "a model is text of at most 200 characters, an interface is known"
        )


def branched(items: tuple[NewItem, ...], leaf: str) -> tuple[NewItem, ...]:
    """Let the first item follow the leaf that was decided on."""
    if not leaf or not items or items[0].parent:
        return items
    return (replace(items[0], parent=leaf), *items[1:])
