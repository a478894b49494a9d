"""Decisions over Gemini `generateContent` and the google-genai package (`lastro[google-genai]`)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar, Literal

from google.genai import Client
from google.genai.errors import APIError, UnknownApiResponseError

from lastro.decisions.connector import merged, without_instructions
from lastro.decisions.reading import Heard, decided, is_object, member, objects, violation
from lastro.decisions.records import Ask, Observation, Reading, Tool
from lastro.decisions.transport import Failures, acounted, asent, counted, require_direct, sent
from lastro.history.errors import ProviderContextCountUnavailable
from lastro.history.guard import Request, require_count
from lastro.history.records import Message

_STOPPED: Mapping[Any, str] = {"MAX_TOKENS": "truncated", "MALFORMED_FUNCTION_CALL": "malformed_call"}
_PLACEHOLDER = [{"role": "user", "parts": [{"text": "-"}]}]
"""What the package is given; the request itself goes over it whole, so that no byte of a signature changes."""


@dataclass(frozen=True, slots=True)
class Gemini:
    """The Gemini API with explicit contents; signatures return in the very part that they came in.

    `client` serves both forms. `options` are more members of the request. `retries` are the package's own, none by
    default. `counts_here` vouches for counting at another endpoint than Google's.
    """

    model: str
    _: KW_ONLY
    client: Client
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    retries: int = 0
    counts_here: bool = False

    provider: ClassVar[Literal["gemini.contents"]] = "gemini.contents"
    host: ClassVar[str] = "generativelanguage.googleapis.com"

    def request(self, messages: Sequence[Message], ask: Ask, *, max_output_tokens: int | None) -> Request:
        """Give the body of a generation."""
        leading, rest = without_instructions(messages)
        generation = {
            **self.options.get("generationConfig", {}),
            **({} if max_output_tokens is None else {"maxOutputTokens": max_output_tokens}),
            **_format(ask),
        }
        own = {
            "contents": rest,
            "systemInstruction": _system(ask, leading),
            "tools": [{"functionDeclarations": [_tool(tool) for tool in ask.tools]}] if ask.tools else None,
            "generationConfig": generation or None,
        }
        return merged(self.options, own, lists=("tools",))

    def reading(self, answer: Any, ask: Ask) -> Reading:
        """Give the decision of a candidate and its content to keep."""
        if member(answer, "promptFeedback", "blockReason"):
            raise violation("filtered")
        if not isinstance(member(answer, "candidates"), list):
            raise violation("unexpected_shape")
        parts = objects(member(answer, "candidates", 0, "content", "parts") or [])
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        texts = [str(part.get("text", "")) for part in parts if not part.get("thought")]
        heard = Heard("".join(texts), tuple(_named(objects(calls))), _stopped(answer))
        return Reading(decided(heard, ask), (member(answer, "candidates", 0, "content"),))

    def user(self, text: str) -> Message:
        """Give a user's content."""
        return {"role": "user", "parts": [{"text": text}]}

    def assistant(self, text: str) -> Message:
        """Give a content in the model's place."""
        return {"role": "model", "parts": [{"text": text}]}

    def results(self, observations: Sequence[Observation]) -> Sequence[Message]:
        """Give the results of a round in one content, as the API wants them (G1)."""
        ordered = sorted(observations, key=_place)
        return [{"role": "user", "parts": [{"functionResponse": _result(each)} for each in ordered]}]

    def _given(self, body: Request) -> dict[str, Any]:
        http = {"extra_body": body, "retry_options": {"attempts": self.retries + 1}}
        return {"model": self.model, "contents": _PLACEHOLDER, "config": {"http_options": http}}

    def _generation(self, request: Request) -> dict[str, Any]:
        given = self._given(request)
        given["config"] |= {
            "should_return_http_response": True,
            "automatic_function_calling": {"disable": True},
        }
        return given

    def _counting(self, request: Request) -> dict[str, Any]:
        client: Any = self.client
        if client.vertexai and not self.counts_here:
            raise ProviderContextCountUnavailable("Vertex needs an adapter to be counted")
        # The package tells its address nowhere else.
        url = client._api_client._http_options.base_url  # noqa: SLF001
        require_direct(url, host=self.host, vouched=self.counts_here)
        whole = {"model": f"models/{self.model.removeprefix('models/')}", **request}
        return self._given({"contents": [], "generateContentRequest": whole})

    def send(self, request: Request) -> Any:
        """Generate once."""
        models: Any = self.client.models
        given = self._generation(request)
        return sent(lambda: str(models.generate_content(**given).sdk_http_response.body), failures())

    async def asend(self, request: Request) -> Any:
        """Do as `send`."""
        models: Any = self.client.aio.models
        given = self._generation(request)

        async def call() -> str:
            answer: Any = await models.generate_content(**given)
            return str(answer.sdk_http_response.body)

        return await asent(call, failures())

    def count(self, request: Request) -> int:
        """Count the whole request at the endpoint for tokens."""
        models: Any = self.client.models
        given = self._counting(request)
        answer = counted(lambda: models.count_tokens(**given), failures())
        return require_count(getattr(answer, "total_tokens", None))

    async def acount(self, request: Request) -> int:
        """Do as `count`."""
        models: Any = self.client.aio.models
        given = self._counting(request)
        answer = await acounted(lambda: models.count_tokens(**given), failures())
        return require_count(getattr(answer, "total_tokens", None))


@cache
def failures() -> Failures:
    """Give what the package lets through: its own error, and those of whichever HTTP library it found."""
    found: list[Any] = [APIError, UnknownApiResponseError, OSError, json.JSONDecodeError]
    for library, name in (("httpx", "HTTPError"), ("httpx2", "HTTPError"), ("aiohttp", "ClientError")):
        if find_spec(library) is not None:
            found.append(getattr(import_module(library), name))
    return tuple(found)


def _system(ask: Ask, leading: Sequence[Message]) -> dict[str, Any] | None:
    """Put what the host says before the instructions that the session keeps (X4)."""
    own = [{"text": ask.instructions}] if ask.instructions else []
    parts = own + [part for message in leading for part in objects(message.get("parts"))]
    return {"parts": parts} if parts else None


def _tool(tool: Tool) -> dict[str, Any]:
    shown = {"name": tool.name, "description": tool.description}
    return {**shown, "parametersJsonSchema": tool.parameters}


def _format(ask: Ask) -> dict[str, Any]:
    if ask.answer is None:
        return {}
    return {"responseMimeType": "application/json", "responseJsonSchema": ask.answer.schema}


def _named(calls: Sequence[Message]) -> list[tuple[Any, Any, Any]]:
    """Name the calls: a model that gives no ids is answered by name, and its calls are told apart by their place."""
    return [
        (call.get("id") or f"{call.get('name')}#{place + 1}", call.get("name"), _arguments(call.get("args")))
        for place, call in enumerate(calls)
    ]


def _arguments(given: Any) -> Any:
    if given is None:
        return {}
    return [] if isinstance(given, str) else given


def _result(observation: Observation) -> dict[str, Any]:
    output = observation.output
    response = output if is_object(output) else {"output": output}
    answered = {"name": observation.name, "response": {"error": output} if observation.is_error else response}
    return answered if _place(observation) else {"id": observation.call_id, **answered}


def _place(observation: Observation) -> int:
    """Give the place of a call that came without an id, counted from one; 0 for the others."""
    name, _, place = observation.call_id.rpartition("#")
    return int(place) if name == observation.name and place.isdecimal() else 0


def _stopped(answer: Any) -> str:
    reason = member(answer, "candidates", 0, "finishReason")
    if reason in (None, "STOP", "FINISH_REASON_UNSPECIFIED"):
        return ""
    return _STOPPED.get(reason, "filtered")
