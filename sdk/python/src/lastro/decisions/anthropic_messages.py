"""Decisions over the Anthropic Messages API and its package (`lastro[anthropic]`)."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

from anthropic import Anthropic, APIError, AsyncAnthropic

from lastro.decisions.connector import merged, without_instructions
from lastro.decisions.reading import Heard, decided, member, objects, text_of
from lastro.decisions.records import Ask, Observation, Reading, Tool
from lastro.decisions.transport import acounted, asent, count_in, counted, own_client, require_direct, sent
from lastro.history.guard import Request
from lastro.history.records import Message

_COUNTED = frozenset(
    ("model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control")
)
_STOPPED: Mapping[Any, str] = {
    "max_tokens": "truncated",
    "model_context_window_exceeded": "truncated",
    "refusal": "refused",
    "pause_turn": "incomplete",
}
MAX_TOKENS = 4096
"""Of an answer, where the host says nothing: the API wants a number."""


@dataclass(frozen=True, slots=True)
class AnthropicMessages:
    """The Messages API; thinking and its signatures come back as they came.

    `client` serves the sync form, `async_client` the async one. `options` are more members of the request. `retries`
    are the package's own, none by default. `counts_here` vouches for counting at another endpoint than Anthropic's.
    """

    model: str
    _: KW_ONLY
    client: Anthropic | None = None
    async_client: AsyncAnthropic | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    retries: int = 0
    counts_here: bool = False

    provider: ClassVar[Literal["anthropic.messages"]] = "anthropic.messages"
    host: ClassVar[str] = "api.anthropic.com"

    def request(self, messages: Sequence[Message], ask: Ask, *, max_output_tokens: int | None) -> Request:
        """Give the body of a generation."""
        leading, rest = without_instructions(messages)
        own = {
            "model": self.model,
            "max_tokens": max_output_tokens or self.options.get("max_tokens", MAX_TOKENS),
            "messages": rest,
            "system": _system(ask, leading),
            "tools": [_tool(tool) for tool in ask.tools] or None,
            "output_config": self._format(ask),
        }
        return merged(self.options, own, lists=("tools",))

    def _format(self, ask: Ask) -> dict[str, Any] | None:
        if ask.answer is None:
            return None
        shape = {"format": {"type": "json_schema", "schema": ask.answer.schema}}
        return {**self.options.get("output_config", {}), **shape}

    def reading(self, answer: Any, ask: Ask) -> Reading:
        """Give the decision of a message and the message to keep."""
        content = objects(member(answer, "content"))
        calls = [block for block in content if block.get("type") == "tool_use"]
        texts = [str(block.get("text", "")) for block in content if block.get("type") == "text"]
        heard = Heard(
            "".join(texts),
            tuple((call.get("id"), call.get("name"), _arguments(call.get("input"))) for call in calls),
            _STOPPED.get(member(answer, "stop_reason"), ""),
        )
        return Reading(decided(heard, ask), ({"role": "assistant", "content": content},))

    def user(self, text: str) -> Message:
        """Give a user's message."""
        return {"role": "user", "content": [{"type": "text", "text": text}]}

    def assistant(self, text: str) -> Message:
        """Give a message in the assistant's place."""
        return {"role": "assistant", "content": [{"type": "text", "text": text}]}

    def results(self, observations: Sequence[Observation]) -> Sequence[Message]:
        """Give the results of a round in one message, as the API wants them (A2)."""
        return [{"role": "user", "content": [_result(each) for each in observations]}]

    def send(self, request: Request) -> Any:
        """Generate once."""
        client: Any = own_client(self.client, self.retries)
        given: dict[str, Any] = {"model": self.model, "max_tokens": 1, "messages": [], "extra_body": request}
        return sent(lambda: client.messages.with_raw_response.create(**given).http_response.text, (APIError,))

    async def asend(self, request: Request) -> Any:
        """Do as `send`."""
        client: Any = own_client(self.async_client, self.retries)

        async def call() -> str:
            given: dict[str, Any] = {
                "model": self.model,
                "max_tokens": 1,
                "messages": [],
                "extra_body": request,
            }
            answer: Any = await client.messages.with_raw_response.create(**given)
            text: str = answer.http_response.text
            return text

        return await asent(call, (APIError,))

    def count(self, request: Request) -> int:
        """Count at the endpoint for tokens of messages."""
        client: Any = own_client(self.client, self.retries)
        require_direct(client.base_url, host=self.host, vouched=self.counts_here)
        given: dict[str, Any] = {"model": self.model, "messages": [], "extra_body": _countable(request)}
        counting: Any = client.messages.with_raw_response
        answer = counted(lambda: counting.count_tokens(**given), (APIError,))
        return count_in(answer.http_response.text, "input_tokens")

    async def acount(self, request: Request) -> int:
        """Do as `count`."""
        client: Any = own_client(self.async_client, self.retries)
        require_direct(client.base_url, host=self.host, vouched=self.counts_here)
        given: dict[str, Any] = {"model": self.model, "messages": [], "extra_body": _countable(request)}
        counting: Any = client.messages.with_raw_response
        answer = await acounted(lambda: counting.count_tokens(**given), (APIError,))
        return count_in(answer.http_response.text, "input_tokens")


def _system(ask: Ask, leading: Sequence[Message]) -> str | list[dict[str, Any]] | None:
    """Put what the host says before the instructions that the session keeps (X4)."""
    if not leading:
        return ask.instructions or None
    own = [{"type": "text", "text": ask.instructions}] if ask.instructions else []
    return own + [block for message in leading for block in blocks(message.get("content"))]


def blocks(content: Any) -> list[dict[str, Any]]:
    """Give a content as blocks; text may stand for one."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)


def _countable(request: Request) -> Request:
    """Leave out what the counting endpoint does not know: it reaches no model."""
    return {name: value for name, value in request.items() if name in _COUNTED}


def _tool(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _arguments(given: Any) -> Any:
    # Text in the place of an object is no arguments: without this it would be read as JSON, as OpenAI's is.
    return [] if isinstance(given, str) else given


def _result(observation: Observation) -> dict[str, Any]:
    block = {
        "type": "tool_result",
        "tool_use_id": observation.call_id,
        "content": text_of(observation.output),
    }
    return {**block, "is_error": True} if observation.is_error else block
