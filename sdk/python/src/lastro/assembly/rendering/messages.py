"""Ready messages for a provider (CA-19)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from lastro.assembly.records import Participant
from lastro.assembly.rendering import anthropic, gemini, openai_chat, openai_responses
from lastro.assembly.rendering.turns import Turn, turns_of
from lastro.assembly.results import Assembly
from lastro.assembly.snapshot import AssemblyRequest

Format = Literal["openai.chat", "openai.responses", "anthropic.messages", "gemini.contents"]

_WRITERS: Mapping[Format, Callable[[Sequence[Turn]], list[dict[str, Any]]]] = {
    "openai.chat": openai_chat.messages_of,
    "openai.responses": openai_responses.messages_of,
    "anthropic.messages": anthropic.messages_of,
    "gemini.contents": gemini.messages_of,
}


def messages_for(
    provider: Format,
    assembly: Assembly,
    request: AssemblyRequest,
    *,
    participants: Mapping[str, Participant],
) -> list[dict[str, Any]]:
    """Write an assembled context as a provider's messages: its pairing rules hold, memories are the user's data.

    Instructions and tools are the host's: nothing here is of the role system or developer.
    """
    return _WRITERS[provider](turns_of(assembly, request, participants=participants))
