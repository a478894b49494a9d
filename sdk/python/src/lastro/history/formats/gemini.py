"""Gemini contents: parts; all responses to the calls of a content stand in the next one (G1 to G5)."""

from collections.abc import Sequence, Set

from lastro.history.formats.shapes import (
    NOT_EXECUTED,
    Call,
    Format,
    Reading,
    Result,
    array_of,
    object_of,
    objects,
    picked,
    text,
)
from lastro.history.records import Message


class Gemini(Format):
    """Contents of user and model; ids are optional, so calls and responses also match by name and order."""

    provider = "gemini.contents"
    orphan_rule = "G1"
    start_rule = "G2"
    starts_with_input = True
    joins_results = True

    def read(self, message: Message) -> Reading:
        """Tell by the role and the parts."""
        role = message.get("role")
        if role in ("system", "developer"):
            return Reading("instruction")
        if role == "model":
            calls = tuple(
                Call(place, *_names(call)) for place, call in _of(message, "functionCall", "function_call")
            )
            return Reading("response", calls=calls)
        found = _of(message, "functionResponse", "function_response")
        results = tuple(Result(place, *_names(result)) for place, result in found)
        mixed = len(results) < len(array_of(message.get("parts")))
        return Reading("results", results=results, mixed=mixed) if results else Reading("input")

    def filled(self, message: Message) -> Message | None:
        """Leave out a content without parts (G5); an empty text may carry a signature and stays."""
        return message if array_of(message.get("parts")) else None

    def must_join(self, first: Message, second: Message) -> bool:
        """Say whether calls stand directly behind what the model said before: its result came late, and is served
        behind its own call (G2).
        """
        return first.get("role") == second.get("role") == "model" and bool(self.read(second).calls)

    def only(self, message: Message, places: Set[int]) -> Message:
        """Keep the responses at these places."""
        return picked(message, "parts", lambda place: place in places)

    def without(self, message: Message, places: Set[int]) -> Message | None:
        """Leave the responses at these places out."""
        rest = picked(message, "parts", lambda place: place not in places)
        return rest if rest["parts"] else None

    def joins(self, first: Message, second: Message) -> bool:
        """Say whether two contents in a row are the user's."""
        return first.get("role") == second.get("role") == "user"

    def joined(self, messages: Sequence[Message]) -> Message:
        """Put the parts of contents of one role into one content, responses first."""
        parts = [part for message in messages for _, part in objects(message.get("parts"))]
        return {**messages[0], "parts": sorted(parts, key=lambda part: not _is_response(part))}

    def not_executed(self, call: Call) -> Message:
        """Write a user's content with a response that says so."""
        named = {"id": call.id, "name": call.name} if call.id else {"name": call.name}
        return {
            "role": "user",
            "parts": [{"functionResponse": {**named, "response": {"error": NOT_EXECUTED}}}],
        }

    def summary(self, text: str) -> Message:
        """Write a user's content."""
        return {"role": "user", "parts": [{"text": text}]}


def _of(message: Message, *names: str) -> list[tuple[int, Message]]:
    """Give the calls or responses with their places; the provider's own packages write either spelling."""
    found: list[tuple[int, Message]] = []
    for place, part in objects(message.get("parts")):
        found += [(place, object_of(part[name])) for name in names if object_of(part.get(name))]
    return found


def _names(value: Message) -> tuple[str, str]:
    return text(value.get("id")), text(value.get("name"))


def _is_response(part: Message) -> bool:
    return "functionResponse" in part or "function_response" in part
