"""Decision providers over the fake providers' HTTP, with every package's own client, in both forms."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

import anthropic
import openai
from google.genai import Client
from loopback import Loopback

from lastro.decisions import Ask, DecisionProvider, Observation, ProposedCalls, Step, Tool
from lastro.decisions.anthropic_messages import AnthropicMessages
from lastro.decisions.gemini import Gemini
from lastro.decisions.openai_chat import OpenAIChat
from lastro.decisions.openai_responses import OpenAIResponses
from lastro.history.guard import TokenGuard
from lastro.history.sessions import Session

PROVIDERS = ("openai.responses", "openai.chat", "anthropic.messages", "gemini.contents")
Form = Literal["sync", "async"]
FORMS: tuple[Form, ...] = ("sync", "async")
COUNTING = ("openai.responses", "anthropic.messages", "gemini.contents")
CANARY = "CANARY-1f0c"
PATIENT_SECONDS, HASTY_SECONDS = 30.0, 0.5
"""Only who waits for an answer that never comes is hasty: a busy machine takes its time with the others."""

LOOK = Tool(
    name="look",
    description="Looks a thing up.",
    parameters={"type": "object", "properties": {"thing": {"type": "string"}}, "required": ["thing"]},
)
BOOK = Tool(name="book", parameters={"type": "object", "properties": {"room": {"type": "integer"}}})
TOOLS = (LOOK, BOOK)


def both(package: ModuleType, sync: Any, other: Any, url: str, seconds: float) -> dict[str, Any]:
    """Give a package's clients for an address, each over the package's own HTTP client.

    Without certificates, whose reading is most of what a client costs, and which plain HTTP has no use for.
    """
    way: dict[str, Any] = {"api_key": "k", "base_url": url, "timeout": seconds}
    return {
        "client": sync(http_client=package.DefaultHttpxClient(verify=False), **way),
        "async_client": other(http_client=package.DefaultAsyncHttpxClient(verify=False), **way),
    }


def responses(
    loopback: Loopback, *, model: str = "gpt-loopback", seconds: float = PATIENT_SECONDS, **more: Any
) -> OpenAIResponses:
    """Give the Responses API of the loopback."""
    clients = both(openai, openai.OpenAI, openai.AsyncOpenAI, f"{loopback.url}/v1", seconds)
    return OpenAIResponses(model, **{**clients, "counts_here": True, **more})


def chat(
    loopback: Loopback, *, model: str = "gpt-loopback", seconds: float = PATIENT_SECONDS, **more: Any
) -> OpenAIChat:
    """Give the Chat Completions API of the loopback."""
    clients = both(openai, openai.OpenAI, openai.AsyncOpenAI, f"{loopback.url}/v1", seconds)
    return OpenAIChat(model, **{**clients, **more})


def claude(
    loopback: Loopback, *, model: str = "claude-loopback", seconds: float = PATIENT_SECONDS, **more: Any
) -> AnthropicMessages:
    """Give the Messages API of the loopback."""
    clients = both(anthropic, anthropic.Anthropic, anthropic.AsyncAnthropic, loopback.url, seconds)
    return AnthropicMessages(model, **{**clients, "counts_here": True, **more})


def gemini(
    loopback: Loopback, *, model: str = "gemini-3-loopback", seconds: float = PATIENT_SECONDS, **more: Any
) -> Gemini:
    """Give the Gemini API of the loopback."""
    plain = {"client_args": {"verify": False}, "async_client_args": {"verify": False}}
    http: Any = {"base_url": loopback.url, "timeout": int(seconds * 1000), **plain}
    return Gemini(model, **{"client": Client(api_key="k", http_options=http), "counts_here": True, **more})


MAKE: dict[str, Callable[..., Any]] = {
    "openai.responses": responses,
    "openai.chat": chat,
    "anthropic.messages": claude,
    "gemini.contents": gemini,
}


@dataclass
class Agent:
    """An agent's runtime over one provider: it asks, executes, and reports what it observed."""

    provider: DecisionProvider
    loopback: Loopback
    runner: asyncio.Runner | None = None

    def step(self, ask: Ask, session: Session | None = None) -> Step:
        """Take one step in the form of this agent."""
        if self.runner is not None:
            return self.runner.run(self.provider.adecide(ask, session))
        return self.provider.decide(ask, session)


@contextmanager
def agent(
    name: str, *, form: Form = "sync", connector: Any = None, is_hasty: bool = False, **settings: Any
) -> Iterator[Agent]:
    """Give an agent with a provider of its own; `connector` are more members of the connector."""
    with Loopback() as loopback:
        seconds = HASTY_SECONDS if is_hasty else PATIENT_SECONDS
        made = MAKE[name](loopback, seconds=seconds, **(connector or {}))
        if settings.get("guard") == "counter":
            settings["guard"] = TokenGuard(context_window_tokens=100_000, counter=len)
        provider = DecisionProvider(made, **settings)
        if form == "sync":
            yield Agent(provider, loopback)
            return
        with asyncio.Runner() as runner:
            yield Agent(provider, loopback, runner)


def observed(step: Step, **outputs: Any) -> tuple[Observation, ...]:
    """Report what the runtime observed of the calls that a step proposed; by the function's name, or "seen"."""
    assert isinstance(step.decision, ProposedCalls)
    return tuple(
        Observation(call_id=call.call_id, name=call.name, output=outputs.get(call.name, f"seen {place}"))
        for place, call in enumerate(step.decision.calls)
    )


def sent_messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the conversation of a request, whatever its provider calls it."""
    found: list[dict[str, Any]] = body.get("contents") or body.get("input") or body.get("messages") or []
    return found


def answered_messages(provider: str, answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the messages of an answer as the next request has to bring them back."""
    if provider == "openai.responses":
        return list(answer["output"])
    if provider == "openai.chat":
        return [answer["choices"][0]["message"]]
    if provider == "anthropic.messages":
        return [{"role": "assistant", "content": answer["content"]}]
    return [answer["candidates"][0]["content"]]


def as_sent(messages: list[dict[str, Any]]) -> str:
    """Give messages as text, to compare them to the byte."""
    return json.dumps(messages, sort_keys=True)
