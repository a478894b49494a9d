"""Decisions by a host's own generator that gives nothing but a typed object (HI-13)."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

from lastro.decisions.reading import Heard, decided, text_of, violation
from lastro.decisions.records import Ask, Observation, Reading
from lastro.history.errors import ProviderContextCountUnavailable
from lastro.history.guard import Request
from lastro.history.records import Message


@dataclass(frozen=True, slots=True)
class TypedGenerator:
    """A generator of objects, for the structured interface: the object is kept, and no metadata that it does not show.

    `generate` (and `agenerate` for the async form) takes a request with `model`, `messages` in the form of Chat
    Completions, and `response_format` with the schema, and gives the object. What it raises is raised to the caller:
    AgentDecisionProviderUnavailable where its provider could not be had. A guard needs a counter of the host's.
    """

    model: str
    _: KW_ONLY
    generate: Callable[[Request], Any] | None = None
    agenerate: Callable[[Request], Awaitable[Any]] | None = None

    provider: ClassVar[Literal["openai.chat"]] = "openai.chat"

    def request(self, messages: Sequence[Message], ask: Ask, *, max_output_tokens: int | None) -> Request:
        """Give what the generator is asked."""
        leading: list[Message] = [{"role": "system", "content": ask.instructions}] if ask.instructions else []
        request: Request = {"model": self.model, "messages": [*leading, *messages]}
        if ask.answer is not None:
            request["response_format"] = {"type": "json_schema", "json_schema": {"schema": ask.answer.schema}}
        if max_output_tokens is not None:
            request["max_completion_tokens"] = max_output_tokens
        return request

    def reading(self, answer: Any, ask: Ask) -> Reading:
        """Give the decision of an object, and a message of it to keep."""
        text = _json(answer)
        return Reading(decided(Heard(text), ask), (self.assistant(text),))

    def user(self, text: str) -> Message:
        """Give a user's message."""
        return {"role": "user", "content": text}

    def assistant(self, text: str) -> Message:
        """Give a message in the assistant's place."""
        return {"role": "assistant", "content": text}

    def results(self, observations: Sequence[Observation]) -> Sequence[Message]:
        """Give one message a result; a generator of objects makes no calls, so that none is asked for."""
        return [
            {"role": "tool", "tool_call_id": each.call_id, "content": text_of(each.output)}
            for each in observations
        ]

    def send(self, request: Request) -> Any:
        """Generate once."""
        if self.generate is None:
            raise TypeError("give generate= for the sync form")
        return self.generate(request)

    async def asend(self, request: Request) -> Any:
        """Do as `send`."""
        if self.agenerate is None:
            raise TypeError("give agenerate= for the async form")
        return await self.agenerate(request)

    def count(self, request: Request) -> int:
        """Refuse: only the host knows how its generator counts."""
        raise ProviderContextCountUnavailable("a generator of the host's needs a counter of the host's")

    async def acount(self, request: Request) -> int:
        """Do as `count`."""
        return self.count(request)


def _json(answer: Any) -> str:
    try:
        return json.dumps(answer, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        pass
    # Outside of the handler: its words may quote the object.
    raise violation("malformed_json")
