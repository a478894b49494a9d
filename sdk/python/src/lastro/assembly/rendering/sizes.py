"""How much a record takes of a context, counted once when it is recorded: no assembly counts (CA-16)."""

from collections.abc import Callable

from lastro.assembly.locators import canonical
from lastro.assembly.records import Message, Payload, RunFinished, ToolArtifact, ToolMemory
from lastro.assembly.rendering.lines import Line, line_of, written
from lastro.assembly.rules import own_form
from lastro.assembly.rules.situation import Standing
from lastro.assembly.snapshot import Candidate, Form, Size

Count = Callable[[str], int]
"""Counts the tokens of a text with the host's tokenizer."""


def sizes_of(candidate: Candidate, *, count: Count, content: bytes | None = None) -> dict[Form, Size]:
    """Give the size of a record in every form in which it may be shown.

    `content` is the result of an artifact, or what a memory's locators point at.
    """
    record = candidate.record
    if isinstance(record, Message):
        return {"message": _measured(said_by(record), count)}
    forms = _forms(candidate, has_content=content is not None)
    return {form: _measured(written(_line(candidate, form, content)), count) for form in forms}


def naive_size(candidate: Candidate, *, count: Count, content: bytes | None = None) -> Size:
    """Give the size of what a naive transcript carries of a record: what was said, asked and answered, as it was."""
    record = candidate.record
    if isinstance(record, Message):
        return _measured(said_by(record), count)
    if isinstance(record, ToolArtifact):
        asked = record.arguments or (candidate.call.arguments if candidate.call else None)
        return _measured(f"{record.tool}{_raw(asked)}{_answered(record, content)}", count)
    return Size()


def said_by(message: Message) -> str:
    """Give the text of a message; what is no text by its name."""
    return "\n".join(
        part.text or f"[{part.kind}: {part.name or part.media_type or ''}]" for part in message.parts
    )


def _answered(record: ToolArtifact, content: bytes | None) -> str:
    if content is not None:
        return content.decode(errors="replace")
    return f"{record.error.code}: {record.error.message}" if record.error else ""


def _raw(payload: Payload | None) -> str:
    return canonical(payload.value).decode() if payload and payload.value is not None else ""


def _forms(candidate: Candidate, *, has_content: bool) -> list[Form]:
    record, own = candidate.record, own_form(candidate)
    possible: dict[Form, bool] = {
        own: own != "raw",
        "stale_marker": isinstance(record, ToolMemory),
        "recovery": _recovers(candidate),
        "hint": True,
    }
    forms: list[Form] = [form for form, is_possible in possible.items() if is_possible]
    return [*forms, "raw"] if has_content else forms


def _recovers(candidate: Candidate) -> bool:
    record = candidate.record
    if isinstance(record, ToolArtifact | RunFinished):
        return record.status != "succeeded"
    return own_form(candidate) == "raw"


def _line(candidate: Candidate, form: Form, content: bytes | None) -> Line:
    return line_of(candidate, Standing(form), content=content)


def _measured(text: str, count: Count) -> Size:
    return Size(count(text), len(text.encode(errors="surrogatepass")))
