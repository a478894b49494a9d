"""Decisions over the OpenAI Chat Completions API and its package (`lastro[openai]`)."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

from openai import APIError, AsyncOpenAI, OpenAI

from lastro.decisions.connector import merged
from lastro.decisions.reading import Heard, decided, is_object, member, objects, text_of, violation
from lastro.decisions.records import Ask, Observation, Reading, Tool
from lastro.decisions.transport import asent, own_client, sent
from lastro.history.errors import ProviderContextCountUnavailable
from lastro.history.guard import Request
from lastro.history.records import Message

_STOPPED: Mapping[Any, str] = {"length": "truncated", "content_filter": "filtered"}


@dataclass(frozen=True, slots=True)
class OpenAIChat:
    """Chat Completions, also of the many servers that speak it.

    `client` serves the sync form, `async_client` the async one. `options` are more members of the request. `retries`
    are the package's own, none by default. The API has no counting endpoint: a guard needs a counter of the host's.
    """

    model: str
    _: KW_ONLY
    client: OpenAI | None = None
    async_client: AsyncOpenAI | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    retries: int = 0

    provider: ClassVar[Literal["openai.chat"]] = "openai.chat"

    def request(self, messages: Sequence[Message], ask: Ask, *, max_output_tokens: int | None) -> Request:
        """Give the body of a generation."""
        leading = [{"role": "system", "content": ask.instructions}] if ask.instructions else []
        own = {
            "model": self.model,
            "messages": [*leading, *messages],
            "tools": [_tool(tool) for tool in ask.tools] or None,
            "response_format": _format(ask),
            "max_completion_tokens": max_output_tokens,
        }
        return merged(self.options, own, lists=("tools",))

    def reading(self, answer: Any, ask: Ask) -> Reading:
        """Give the decision of a completion and its message to keep."""
        message = member(answer, "choices", 0, "message")
        if not is_object(message):
            raise violation("unexpected_shape")
        calls = objects(message.get("tool_calls") or [])
        if any(call.get("type", "function") != "function" for call in calls):
            raise violation("unsupported_call")
        heard = Heard(
            _text(message),
            tuple(
                (
                    call.get("id"),
                    member(call, "function", "name"),
                    member(call, "function", "arguments") or "",
                )
                for call in calls
            ),
            _stopped(answer, message),
        )
        return Reading(decided(heard, ask), (message,))

    def user(self, text: str) -> Message:
        """Give a user's message."""
        return {"role": "user", "content": text}

    def assistant(self, text: str) -> Message:
        """Give a message in the assistant's place."""
        return {"role": "assistant", "content": text}

    def results(self, observations: Sequence[Observation]) -> Sequence[Message]:
        """Give one message a result."""
        return [
            {"role": "tool", "tool_call_id": each.call_id, "content": text_of(each.output)}
            for each in observations
        ]

    def send(self, request: Request) -> Any:
        """Generate once."""
        client: Any = own_client(self.client, self.retries)
        given: dict[str, Any] = {"model": self.model, "messages": [], "extra_body": request}
        return sent(
            lambda: client.chat.completions.with_raw_response.create(**given).http_response.text, (APIError,)
        )

    async def asend(self, request: Request) -> Any:
        """Do as `send`."""
        client: Any = own_client(self.async_client, self.retries)

        async def call() -> str:
            given: dict[str, Any] = {"model": self.model, "messages": [], "extra_body": request}
            answer: Any = await client.chat.completions.with_raw_response.create(**given)
            text: str = answer.http_response.text
            return text

        return await asent(call, (APIError,))

    def count(self, request: Request) -> int:
        """Refuse: there is no endpoint to count at."""
        raise ProviderContextCountUnavailable("Chat Completions has no counting endpoint: give a counter")

    async def acount(self, request: Request) -> int:
        """Do as `count`."""
        return self.count(request)


def _tool(tool: Tool) -> dict[str, Any]:
    shown = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": shown}


def _format(ask: Ask) -> dict[str, Any] | None:
    if ask.answer is None:
        return None
    shape = {"name": ask.answer.name, "schema": ask.answer.schema, "strict": ask.answer.strict}
    return {"type": "json_schema", "json_schema": shape}


def _text(message: Any) -> str:
    content = member(message, "content")
    return content if isinstance(content, str) else ""


def _stopped(answer: Any, message: Any) -> str:
    if member(message, "refusal"):
        return "refused"
    return _STOPPED.get(member(answer, "choices", 0, "finish_reason"), "")
