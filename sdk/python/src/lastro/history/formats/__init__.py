"""One module per provider format: its calls, results, instructions and turns, and how a summary looks in it."""

from collections.abc import Mapping

from lastro.history.errors import DecisionHistoryIdentityMissing
from lastro.history.formats.aisdk import AISDK
from lastro.history.formats.anthropic import Anthropic
from lastro.history.formats.gemini import Gemini
from lastro.history.formats.openai_chat import OpenAIChat
from lastro.history.formats.openai_responses import OpenAIResponses
from lastro.history.formats.shapes import Call, Format, Reading, Result
from lastro.history.records import Message, Provider

__all__ = [
    "FORMATS",
    "Call",
    "Format",
    "Reading",
    "Result",
    "calls_of",
    "is_instruction",
    "not_executed",
    "opens_turn",
    "require_provider",
    "results_of",
]

FORMATS: Mapping[Provider, Format] = {
    form.provider: form for form in (OpenAIChat(), OpenAIResponses(), Anthropic(), Gemini(), AISDK())
}


def require_provider(provider: object) -> None:
    """Refuse the name of a provider whose messages nobody here can read (HI-1)."""
    if not isinstance(provider, str) or provider not in FORMATS:
        raise DecisionHistoryIdentityMissing("no such provider")


def is_instruction(provider: Provider, message: Message) -> bool:
    """Say whether a message is one of the system or developer, which stay first (X4)."""
    return FORMATS[provider].read(message).role == "instruction"


def opens_turn(provider: Provider, message: Message) -> bool:
    """Say whether a message is user input that opens a turn: one that brings results does not."""
    return FORMATS[provider].read(message).role == "input" and FORMATS[provider].filled(message) is not None


def calls_of(provider: Provider, message: Message) -> tuple[Call, ...]:
    """Give the calls of a message that wait for a result of the runtime."""
    return FORMATS[provider].read(message).calls


def results_of(provider: Provider, message: Message) -> tuple[Result, ...]:
    """Give the results that a message brings."""
    return FORMATS[provider].read(message).results


def not_executed(provider: Provider, call: Call) -> Message:
    """Write the result of a call that was not executed, marked as such; it is stored as `not_executed`."""
    return FORMATS[provider].not_executed(call)
