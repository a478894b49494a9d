"""Decisions over the OpenAI Responses API and its package (`lastro[openai]`)."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

from openai import APIError, AsyncOpenAI, OpenAI

from lastro.decisions.connector import merged
from lastro.decisions.reading import Heard, decided, member, objects, text_of, violation
from lastro.decisions.records import Ask, Observation, Reading, Tool
from lastro.decisions.transport import (
    Failure,
    acounted,
    asent,
    code_of,
    count_in,
    counted,
    own_client,
    require_direct,
    sent,
    unavailable,
)
from lastro.history.guard import Request
from lastro.history.records import Message

_COUNTED = frozenset(
    (
        *("model", "input", "instructions", "tools", "tool_choice", "text", "reasoning", "truncation"),
        *("parallel_tool_calls", "personality"),
    )
)
_STOPPED: Mapping[str, str] = {"max_output_tokens": "truncated", "content_filter": "filtered"}
_CALLS = ("custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call")
_DEFAULTS: Mapping[str, Any] = {"store": False, "include": ["reasoning.encrypted_content"]}


@dataclass(frozen=True, slots=True)
class OpenAIResponses:
    """The Responses API with explicit items: nothing is kept at the provider, reasoning comes back encrypted.

    `client` serves the sync form, `async_client` the async one. `options` are more members of the request. `retries`
    are the package's own, none by default. `counts_here` vouches for counting at another endpoint than OpenAI's.
    """

    model: str
    _: KW_ONLY
    client: OpenAI | None = None
    async_client: AsyncOpenAI | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    retries: int = 0
    counts_here: bool = False

    provider: ClassVar[Literal["openai.responses"]] = "openai.responses"
    host: ClassVar[str] = "api.openai.com"

    def request(self, messages: Sequence[Message], ask: Ask, *, max_output_tokens: int | None) -> Request:
        """Give the body of a generation."""
        own = {
            "model": self.model,
            "input": list(messages),
            "instructions": ask.instructions or None,
            "tools": [_tool(tool) for tool in ask.tools] or None,
            "text": _format(ask),
            "max_output_tokens": max_output_tokens,
        }
        return merged({**_DEFAULTS, **self.options}, own, lists=("tools",))

    def reading(self, answer: Any, ask: Ask) -> Reading:
        """Give the decision of a response and its items to keep."""
        if member(answer, "status") == "failed":
            raise unavailable(Failure(code_of("failed", member(answer, "error", "code"))))
        output = objects(member(answer, "output"))
        if any(item.get("type") in _CALLS for item in output):
            raise violation("unsupported_call")
        calls = [item for item in output if item.get("type") == "function_call"]
        heard = Heard(
            "".join(_texts(output)),
            tuple((call.get("call_id"), call.get("name"), call.get("arguments") or "") for call in calls),
            _stopped(answer, output),
        )
        return Reading(decided(heard, ask), tuple(output))

    def user(self, text: str) -> Message:
        """Give a user's message."""
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}

    def assistant(self, text: str) -> Message:
        """Give a message in the assistant's place."""
        return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}

    def results(self, observations: Sequence[Observation]) -> Sequence[Message]:
        """Give one item a result."""
        return [
            {"type": "function_call_output", "call_id": each.call_id, "output": text_of(each.output)}
            for each in observations
        ]

    def send(self, request: Request) -> Any:
        """Generate once."""
        client: Any = own_client(self.client, self.retries)
        return sent(
            lambda: client.responses.with_raw_response.create(extra_body=request).http_response.text,
            (APIError,),
        )

    async def asend(self, request: Request) -> Any:
        """Do as `send`."""
        client: Any = own_client(self.async_client, self.retries)

        async def call() -> str:
            answer: Any = await client.responses.with_raw_response.create(extra_body=request)
            text: str = answer.http_response.text
            return text

        return await asent(call, (APIError,))

    def count(self, request: Request) -> int:
        """Count at the endpoint for input tokens."""
        client: Any = own_client(self.client, self.retries)
        require_direct(client.base_url, host=self.host, vouched=self.counts_here)
        body = _countable(request)
        counting: Any = client.responses.input_tokens.with_raw_response
        answer = counted(lambda: counting.count(extra_body=body), (APIError,))
        return count_in(answer.http_response.text, "input_tokens")

    async def acount(self, request: Request) -> int:
        """Do as `count`."""
        client: Any = own_client(self.async_client, self.retries)
        require_direct(client.base_url, host=self.host, vouched=self.counts_here)
        body = _countable(request)
        counting: Any = client.responses.input_tokens.with_raw_response
        answer = await acounted(lambda: counting.count(extra_body=body), (APIError,))
        return count_in(answer.http_response.text, "input_tokens")


def _countable(request: Request) -> Request:
    """Leave out what the counting endpoint does not know: it reaches no model."""
    return {name: value for name, value in request.items() if name in _COUNTED}


def _tool(tool: Tool) -> dict[str, Any]:
    shown = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", **shown, "strict": False}


def _format(ask: Ask) -> dict[str, Any] | None:
    if ask.answer is None:
        return None
    shape = {"name": ask.answer.name, "schema": ask.answer.schema, "strict": ask.answer.strict}
    return {"format": {"type": "json_schema", **shape}}


def _texts(output: Sequence[Message]) -> list[str]:
    parts = [
        part for item in output if item.get("type") == "message" for part in objects(item.get("content"))
    ]
    return [str(part.get("text", "")) for part in parts if part.get("type") == "output_text"]


def _stopped(answer: Any, output: Sequence[Message]) -> str:
    if member(answer, "status") != "completed":
        return _STOPPED.get(str(member(answer, "incomplete_details", "reason")), "incomplete")
    parts = [
        part for item in output if item.get("type") == "message" for part in objects(item.get("content"))
    ]
    return "refused" if any(part.get("type") == "refusal" for part in parts) else ""
