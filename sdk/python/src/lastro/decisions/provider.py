"""The decision provider: history in, window, guard, generation, a typed decision out (HI-1, HI-13 to HI-17, HI-20)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lastro.decisions.connector import Connector
from lastro.decisions.counting import acounts_by, counts_by
from lastro.decisions.data import decision_text, observation_text
from lastro.decisions.records import Ask, Reading, Step
from lastro.history.contract import View
from lastro.history.drafting import Turn
from lastro.history.events import OnEvent
from lastro.history.guard import Fitted, Plan, Request, TokenGuard, fitted, serialized
from lastro.history.history import History
from lastro.history.records import Interface, NewItem, Outcome, Pins
from lastro.history.sessions import Session
from lastro.history.steps import Steps, ataken, taken
from lastro.history.windows import Window

NO_SESSION = "none"
"""Names what is kept nowhere."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a form of the provider sends and counts: at once, or by something to await."""

    send: Callable[[Request], Any]
    count: Callable[[Request], Any]


class DecisionProvider:
    """Asks a model for one decision at a time, and keeps the messages between them.

    `history` None keeps them in RAM, False nowhere (HI-13). `interface` is `native` (the model proposes calls, or
    answers) or `structured` (an object by `Ask.answer`). With a `guard` the whole request is counted before each
    generation, and `max_output_tokens` is needed. `on_event` is the history's, where nothing else is said.
    `provider.session(...)` is `History.session`: an id, or `run_id`, `invocation_id` and `agent_ref` (HI-1).
    """

    def __init__(
        self,
        connector: Connector,
        *,
        history: History | Literal[False] | None = None,
        interface: Interface = "native",
        guard: TokenGuard | None = None,
        max_output_tokens: int | None = None,
        on_event: OnEvent | None = None,
    ) -> None:
        if guard is not None and max_output_tokens is None:
            raise ValueError("a guard reserves the longest answer: give max_output_tokens")
        self.history = History(history) if history is False else history or History()
        self.session = self.history.session
        self._connector = connector
        self._guard = guard
        self._max_output_tokens = max_output_tokens
        self._on_event = on_event or self.history.settings.on_event
        self._pins = Pins(connector.provider, connector.model, interface, self.history.settings.content_mode)

    def decide(self, ask: Ask, session: Session | None = None, *, leaf: str = "") -> Step:
        """Ask for one decision in a session; all of the step is kept, or nothing of it (HI-3).

        Input and observations are stored with the answer: after an error the same step can be asked again. `leaf`
        decides on a branch. Errors: the refusals of history and guard; AgentDecisionProviderSchemaViolation for an
        answer without a valid decision, AgentDecisionProviderUnavailable where none came (HI-20).
        """
        self._require_interface(ask)
        own = session or self._unnamed()
        way = Way(self._connector.send, counts_by(self._guard, self._connector.count))
        return own.decide(
            self._pins,
            lambda turn: taken(self._decided(ask, turn, way)),
            leaf=leaf,
            observations=len(ask.observations),
            before=lambda view: self._given(ask, view),
        )

    async def adecide(self, ask: Ask, session: Session | None = None, *, leaf: str = "") -> Step:
        """Do as `decide`."""
        self._require_interface(ask)
        own = session or self._unnamed()
        way = Way(self._connector.asend, acounts_by(self._guard, self._connector.acount))
        return await own.adecide(
            self._pins,
            lambda turn: ataken(self._decided(ask, turn, way)),
            leaf=leaf,
            observations=len(ask.observations),
            before=lambda view: self._given(ask, view),
        )

    def _unnamed(self) -> Session:
        """Give a session without a name, which only a history that keeps nothing has (HI-1)."""
        return self.history.session("" if self.history.settings.keeps else NO_SESSION)

    def _require_interface(self, ask: Ask) -> None:
        if (ask.answer is not None) != (self._pins.interface == "structured"):
            raise ValueError("Ask.answer goes with the structured interface, and only with it")

    def _decided(self, ask: Ask, turn: Turn, way: Way) -> Steps[Outcome[Step]]:
        """Count until the request fits, generate once, and keep what the content mode keeps."""
        fit = yield from self._fitted(ask, turn, way)
        answer = yield lambda: way.send(fit.request)
        reading = self._connector.reading(answer, ask)
        return Outcome(Step(reading.decision, fit.window), self._kept(reading))

    def _fitted(self, ask: Ask, turn: Turn, way: Way) -> Steps[Fitted]:
        def request_of(window: Window) -> Request:
            tokens = self._max_output_tokens
            request = self._connector.request(window.messages, ask, max_output_tokens=tokens)
            serialized(request)
            return request

        if self._guard is None or self._max_output_tokens is None:
            return Fitted(turn.window, request_of(turn.window))
        plan = Plan(
            provider=self._connector.provider,
            request_of=request_of,
            count=way.count,
            shorter=turn.composer.shorter,
            max_output_tokens=self._max_output_tokens,
            on_event=self._on_event,
        )
        return (yield from fitted(self._guard, turn.window, plan))

    def _kept(self, reading: Reading) -> tuple[NewItem, ...]:
        if self._pins.content_mode == "opaque_refs":
            return (NewItem(self._connector.assistant(decision_text(reading.decision))),)
        return tuple(NewItem(message) for message in reading.messages)

    def _given(self, ask: Ask, view: View | None) -> Sequence[NewItem]:
        """Give the observations, then what the user says."""
        said = (self._connector.user(each) if isinstance(each, str) else each for each in ask.input)
        return (*self._observed(ask, view), *map(NewItem, said))

    def _observed(self, ask: Ask, view: View | None) -> Sequence[NewItem]:
        """Give observations as results of the calls that asked for them; without those messages, as data (HI-13)."""
        if not ask.observations:
            return ()
        if view is None or self._pins.content_mode == "opaque_refs" or self._pins.interface == "structured":
            return (NewItem(self._connector.user(observation_text(ask.observations))),)
        return tuple(
            NewItem(message, kind="observation", provisional=provisional)
            for provisional in (False, True)
            if (group := [each for each in ask.observations if each.provisional is provisional])
            for message in self._connector.results(group)
        )
