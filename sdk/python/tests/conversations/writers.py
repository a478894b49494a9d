"""How each provider writes what happens in a conversation; every text, id and signature is made up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lastro.history.records import Message, Provider


@dataclass(frozen=True)
class Made:
    """A call that a model made."""

    id: str
    name: str


class Writer:
    """Writes messages of one provider."""

    provider: Provider
    together = False
    """Several results may stand in one message."""

    def instruction(self, text: str) -> Message | None:
        return {"role": "system", "content": text}

    def user(self, text: str) -> Message:
        return {"role": "user", "content": text}

    def response(self, text: str, calls: Sequence[Made], *, opaque: str, number: int) -> list[Message]:
        raise NotImplementedError

    def results(self, results: Sequence[tuple[Made, str]], *, extra: str = "") -> list[Message]:
        raise NotImplementedError


class ChatWriter(Writer):
    provider: Provider = "openai.chat"

    def response(self, text: str, calls: Sequence[Made], *, opaque: str, number: int) -> list[Message]:
        message: Message = {"role": "assistant", "content": text or None, "vendor": {"seed": number}}
        if opaque:
            message["reasoning_content"] = opaque
        if calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": "{}"}}
                for call in calls
            ]
        return [message]

    def results(self, results: Sequence[tuple[Made, str]], *, extra: str = "") -> list[Message]:
        return [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in results]


class ResponsesWriter(Writer):
    provider: Provider = "openai.responses"

    def user(self, text: str) -> Message:
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}

    def response(self, text: str, calls: Sequence[Made], *, opaque: str, number: int) -> list[Message]:
        items: list[Message] = []
        if opaque:
            items.append(
                {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": opaque}
            )
        if text or not calls:
            part = {"type": "output_text", "text": text, "annotations": []}
            items.append({"type": "message", "role": "assistant", "id": f"msg_{number}", "content": [part]})
        for place, call in enumerate(calls):
            kind, given = (
                ("custom_tool_call", "input") if call.name == "write" else ("function_call", "arguments")
            )
            items.append(
                {
                    "type": kind,
                    "id": f"fc_{number}_{place}",
                    "call_id": call.id,
                    "name": call.name,
                    given: "{}",
                }
            )
        return items

    def results(self, results: Sequence[tuple[Made, str]], *, extra: str = "") -> list[Message]:
        kinds = {True: "custom_tool_call_output", False: "function_call_output"}
        return [
            {"type": kinds[call.name == "write"], "call_id": call.id, "output": text}
            for call, text in results
        ]


class AnthropicWriter(Writer):
    provider: Provider = "anthropic.messages"
    together = True

    def instruction(self, text: str) -> Message | None:
        return None

    def user(self, text: str) -> Message:
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K"}}
        return {
            "role": "user",
            "content": [{"type": "text", "text": text}, *([image] if "image" in text else [])],
        }

    def response(self, text: str, calls: Sequence[Made], *, opaque: str, number: int) -> list[Message]:
        blocks: list[Message] = []
        if opaque:
            blocks += [
                {"type": "thinking", "thinking": "...", "signature": opaque},
                {"type": "redacted_thinking", "data": opaque},
            ]
        if text or not calls:
            blocks.append({"type": "text", "text": text})
        blocks += [{"type": "tool_use", "id": call.id, "name": call.name, "input": {}} for call in calls]
        return [{"role": "assistant", "content": blocks}]

    def results(self, results: Sequence[tuple[Made, str]], *, extra: str = "") -> list[Message]:
        blocks: list[Message] = [
            {"type": "tool_result", "tool_use_id": call.id, "content": text} for call, text in results
        ]
        if extra:
            blocks.append({"type": "text", "text": extra})
        return [{"role": "user", "content": blocks}]


class GeminiWriter(Writer):
    provider: Provider = "gemini.contents"
    together = True

    def __init__(self, *, named: bool = True) -> None:
        self.named = named

    def _id(self, call: Made) -> dict[str, Any]:
        return {"id": call.id} if self.named else {}

    def instruction(self, text: str) -> Message | None:
        return None

    def user(self, text: str) -> Message:
        return {"role": "user", "parts": [{"text": text}]}

    def response(self, text: str, calls: Sequence[Made], *, opaque: str, number: int) -> list[Message]:
        parts: list[Message] = [{"text": text}] if text or not calls else []
        for place, call in enumerate(calls):
            part: Message = {"functionCall": {"name": call.name, "args": {}, **self._id(call)}}
            if not place:
                part["thoughtSignature"] = f"sig-{number}"
            parts.append(part)
        return [{"role": "model", "parts": parts}]

    def results(self, results: Sequence[tuple[Made, str]], *, extra: str = "") -> list[Message]:
        parts: list[Message] = [
            {"functionResponse": {"name": call.name, "response": {"output": text}, **self._id(call)}}
            for call, text in results
        ]
        return [{"role": "user", "parts": parts + ([{"text": extra}] if extra else [])}]


class AISDKWriter(Writer):
    provider: Provider = "aisdk.model"
    together = True

    def response(self, text: str, calls: Sequence[Made], *, opaque: str, number: int) -> list[Message]:
        options = {"providerOptions": {"google": {"thoughtSignature": opaque}}} if opaque else {}
        parts: list[Message] = [{"type": "text", "text": text, **options}] if text or not calls else []
        parts += [
            {"type": "tool-call", "toolCallId": call.id, "toolName": call.name, "input": {}, **options}
            for call in calls
        ]
        return [{"role": "assistant", "content": parts}]

    def results(self, results: Sequence[tuple[Made, str]], *, extra: str = "") -> list[Message]:
        parts = [
            {
                "type": "tool-result",
                "toolCallId": call.id,
                "toolName": call.name,
                "output": {"type": "text", "value": text},
            }
            for call, text in results
        ]
        return [{"role": "tool", "content": parts}]


WRITERS: dict[Provider, Writer] = {
    writer.provider: writer
    for writer in (ChatWriter(), ResponsesWriter(), AnthropicWriter(), GeminiWriter(), AISDKWriter())
}
