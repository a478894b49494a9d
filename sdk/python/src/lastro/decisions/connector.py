"""What a provider's module gives: requests, answers, results in its words, and the way to it."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Protocol

from lastro.decisions.records import Ask, Observation, Reading
from lastro.history.guard import Request
from lastro.history.records import Message, Provider


class Connector(Protocol):
    """One provider's API over its own package.

    The pure part never does I/O; `send` and `count` (and their async forms) call the package once, without retries
    unless the host asked for some. Errors of `send`: AgentDecisionProviderUnavailable,
    AgentDecisionProviderSchemaViolation; of `count`: ProviderContextCountUnavailable.
    """

    @property
    def provider(self) -> Provider:
        """Name the format of its messages."""
        ...

    @property
    def model(self) -> str:
        """Name the model."""
        ...

    def request(self, messages: Sequence[Message], ask: Ask, *, max_output_tokens: int | None) -> Request:
        """Give the body of a generation."""
        ...

    def reading(self, answer: Any, ask: Ask) -> Reading:
        """Give the decision of an answer and the messages to keep; raises AgentDecisionProviderSchemaViolation."""
        ...

    def user(self, text: str) -> Message:
        """Give a user's message."""
        ...

    def assistant(self, text: str) -> Message:
        """Give a message in the assistant's place."""
        ...

    def results(self, observations: Sequence[Observation]) -> Sequence[Message]:
        """Give the results of calls, as the provider wants those of one round."""
        ...

    def send(self, request: Request) -> Any:
        """Generate once."""
        ...

    async def asend(self, request: Request) -> Any:
        """Do as `send`."""
        ...

    def count(self, request: Request) -> int:
        """Count a request at the provider's counting endpoint."""
        ...

    async def acount(self, request: Request) -> int:
        """Do as `count`."""
        ...


def merged(options: Mapping[str, Any], own: Mapping[str, Any], *, lists: Sequence[str] = ()) -> Request:
    """Put what a step says over the host's options; the named lists are joined, and nothing is sent as null."""
    both = {**options, **{name: value for name, value in own.items() if value is not None}}
    for name in lists:
        if options.get(name) and own.get(name):
            both[name] = [*options[name], *own[name]]
    return both


def without_instructions(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """Take off the instructions that lead a window, for a provider that has an own place for them (X4)."""
    leading = list(takewhile(lambda message: message.get("role") in ("system", "developer"), messages))
    return leading, list(messages[len(leading) :])
