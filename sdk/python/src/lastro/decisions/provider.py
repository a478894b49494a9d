"""The decision provider: history in, window, guard, generation, a typed decision out (HI-1, HI-13 to HI-17, HI-20)."""

import inspect
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from lastro.decisions.connector import Connector
from lastro.decisions.data import observation_text
from lastro.decisions.records import Ask, Reading, Step
from lastro.history.errors import ProviderContextCountUnavailable
from lastro.history.guard import (
    Count,
    Counter,
    Fitted,
    Plan,
    ProviderContextCount,
    Request,
    TokenGuard,
    fitted,
    require_count,
    serialized,
)
from lastro.history.records import Interface, Message
from lastro.history.windows import Window

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Generate:
    """Asks for one generation."""

    request: Request


Effect = Count | Generate


@dataclass(frozen=True, slots=True)
class Windows:
    """A first window, and the one after each that does not fit."""

    first: Window
    shorter: Callable[[Window], Window | None] = lambda window: None


class DecisionProvider:
    """Asks a model for one decision at a time."""

    def __init__(
        self,
        connector: Connector,
        *,
        interface: Interface = "native",
        guard: TokenGuard | None = None,
        max_output_tokens: int | None = None,
        on_event: Callable[[Any], object] = lambda event: None,
    ) -> None:
        if guard is not None and max_output_tokens is None:
            raise ValueError("a guard reserves the longest answer: give max_output_tokens")
        self._connector = connector
        self._interface = interface
        self._guard = guard
        self._max_output_tokens = max_output_tokens
        self._on_event = on_event

    def decide(self, ask: Ask) -> Step:
        """Ask for one decision."""
        windows = Windows(window_without_history(self._connector, ask))
        reading, window = self._run(self._steps(ask, windows))
        return Step(reading.decision, window)

    async def adecide(self, ask: Ask) -> Step:
        """Do as `decide`."""
        windows = Windows(window_without_history(self._connector, ask))
        reading, window = await self._arun(self._steps(ask, windows))
        return Step(reading.decision, window)

    def _steps(self, ask: Ask, windows: Windows) -> Generator[Effect, Any, tuple[Reading, Window]]:
        """Give what a decision needs of the world, in its order: counts, then one generation."""
        fit = yield from self._fitted(ask, windows)
        answer = yield Generate(fit.request)
        return self._connector.reading(answer, ask), fit.window

    def _fitted(self, ask: Ask, windows: Windows) -> Generator[Count, int, Fitted]:
        def request_of(window: Window) -> Request:
            request = self._connector.request(window.messages, ask, max_output_tokens=self._max_output_tokens)
            serialized(request)
            return request

        if self._guard is None or self._max_output_tokens is None:
            return Fitted(windows.first, request_of(windows.first))
        plan = Plan(
            self._connector.provider, request_of, windows.shorter, self._max_output_tokens, self._on_event
        )
        return (yield from fitted(self._guard, windows.first, plan))

    def _run(self, steps: Generator[Effect, Any, T]) -> T:
        given: Any = None
        try:
            while True:
                given = self._perform(steps.send(given))
        except StopIteration as end:
            result: T = end.value
            return result

    async def _arun(self, steps: Generator[Effect, Any, T]) -> T:
        given: Any = None
        try:
            while True:
                given = await self._aperform(steps.send(given))
        except StopIteration as end:
            result: T = end.value
            return result

    def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Generate):
            return self._connector.send(effect.request)
        counter = self._counter()
        return self._connector.count(effect.request) if counter is None else _count(counter, effect.request)

    async def _aperform(self, effect: Effect) -> Any:
        if isinstance(effect, Generate):
            return await self._connector.asend(effect.request)
        counter = self._counter()
        if counter is None:
            return await self._connector.acount(effect.request)
        return await _acount(counter, effect.request)

    def _counter(self) -> Counter | None:
        return None if self._guard is None else self._guard.counter


def _count(counter: Counter, request: Request) -> int:
    try:
        tokens = counter(serialized(request))
    except Exception:  # the host's function: whatever it raises, there is no count
        tokens = -1
    if inspect.iscoroutine(tokens):
        tokens.close()
        raise ProviderContextCountUnavailable("an async counter counts in the async form only")
    return require_count(tokens)


async def _acount(counter: Counter, request: Request) -> int:
    try:
        tokens = counter(serialized(request))
        tokens = await tokens if inspect.isawaitable(tokens) else tokens
    except Exception:  # the host's function: whatever it raises, there is no count
        tokens = -1
    return require_count(tokens)


def window_without_history(connector: Connector, ask: Ask) -> Window:
    """Give what a step without history shows: what the user says, and real observations as data (HI-13)."""
    messages = (*said(connector, ask), *observed(connector, ask))
    return Window(
        messages=messages, items=("",) * len(messages), message_count=len(messages), bytes=_bytes(messages)
    )


def said(connector: Connector, ask: Ask) -> tuple[Message, ...]:
    """Give the user's input as messages of the provider."""
    return tuple(connector.user(each) if isinstance(each, str) else each for each in ask.input)


def observed(connector: Connector, ask: Ask) -> tuple[Message, ...]:
    """Give the observations as data, where no call of the model stands in front of them."""
    return (connector.user(observation_text(ask.observations)),) if ask.observations else ()


def _bytes(messages: Sequence[Message]) -> int:
    return len(serialized({"messages": list(messages)}).encode())
