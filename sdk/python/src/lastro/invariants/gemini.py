"""G1 to G5: Gemini contents."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from lastro.invariants.anywhere import Told
from lastro.invariants.subject import Message, Subject, Violation, blocks, role_of

CALL = ("functionCall", "function_call")
RESPONSE = ("functionResponse", "function_response")
SIGNATURE = ("thoughtSignature", "thought_signature")


def _of(content: Message, names: tuple[str, str]) -> list[Message]:
    return [
        part[name] for part in blocks(content, "parts") for name in names if isinstance(part.get(name), dict)
    ]


def told(content: Message) -> Told:
    """Give the functions called and those answered; ids are optional, so by name."""
    return [str(call.get("name")) for call in _of(content, CALL)], [
        str(response.get("name")) for response in _of(content, RESPONSE)
    ]


def g1(subject: Subject) -> Iterator[Violation]:
    """As many responses as calls follow directly, of the same names, and of the same ids where both have them."""
    before: Message = {}
    for index, content in subject.spoken:
        if Counter(told(before)[0]) != Counter(told(content)[1]):
            yield Violation("G1", index, "responses are not those to the calls before")
        if _ids(content, RESPONSE) - _ids(before, CALL) and len(_ids(before, CALL)) == len(_of(before, CALL)):
            yield Violation("G1", index, "a response with another id")
        before = content
    if told(before)[0]:
        yield Violation("G1", len(subject.served) - 1, "calls without responses")


def _ids(content: Message, names: tuple[str, str]) -> set[str]:
    return {str(value["id"]) for value in _of(content, names) if value.get("id")}


def g2(subject: Subject) -> Iterator[Violation]:
    """Calls follow a user or responses, and a user speaks first."""
    before: Message = {}
    for index, content in subject.spoken:
        first = index == subject.instructions
        if role_of(content) == "model" and (first or (told(content)[0] and role_of(before) != "user")):
            yield Violation("G2", index, "a model speaks where a user must have spoken")
        before = content


def g3(subject: Subject) -> Iterator[Violation]:
    """Signatures are in the parts they came in; in the current turn each step is signed, or none is."""
    came = [part for content in subject.stored or () for part in _signed_parts(content)]
    for index, served, stored in subject.pairs:
        here = _signed_parts(served)
        if any(part not in here for part in _signed_parts(stored)) or any(part not in came for part in here):
            yield Violation("G3", index, "a signature is not in the part that it came in")
    steps = [(index, content) for index, content in _turn(subject) if _of(content, CALL)]
    signed = [any(_signed(content)) for _, content in steps]
    for (index, content), has in zip(steps, signed, strict=True):
        if any(signed) and (not has or not _signed(content)[0]):
            yield Violation("G3", index, "the first call of a step is not signed")


def _turn(subject: Subject) -> list[tuple[int, Message]]:
    """Give the current turn: from the last user content that brings no response."""
    spoken = list(subject.spoken)
    opens = [
        place
        for place, (_, content) in enumerate(spoken)
        if role_of(content) == "user" and not told(content)[1]
    ]
    return spoken[opens[-1] :] if opens else spoken


def _signature(part: Message) -> Any:
    return next((part[name] for name in SIGNATURE if part.get(name)), None)


def _signed(content: Message) -> list[bool]:
    calls = [part for part in blocks(content, "parts") if any(name in part for name in CALL)]
    return [_signature(part) is not None for part in calls]


def _signed_parts(content: Message) -> list[Message]:
    return [part for part in blocks(content, "parts") if _signature(part) is not None]


def g5(subject: Subject) -> Iterator[Violation]:
    """No content without parts."""
    yield from (
        Violation("G5", index, "no parts")
        for index, content in subject.spoken
        if not blocks(content, "parts")
    )
