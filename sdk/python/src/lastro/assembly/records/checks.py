"""What a record must hold beyond the forms of its members (CA-2, CA-4, CA-5, CA-8)."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lastro.assembly.errors import Problem
from lastro.assembly.records.classes import MUST_GO_STALE
from lastro.assembly.records.events import Conflict, Resolution, RunFinished, Settlement, Supersession
from lastro.assembly.records.graph import (
    Branch,
    ContinuationCheckpoint,
    Locator,
    Message,
    Owned,
    Part,
    Payload,
    Record,
    ToolArtifact,
    ToolCall,
    ToolMemory,
)


def problems_of(record: Record, pointer: str = "") -> Iterator[Problem]:
    """Give what is wrong with a record whose members are each right."""
    check = _CHECKS.get(type(record))
    if check:
        yield from check(record, pointer)


def _branch(branch: Branch, pointer: str) -> Iterator[Problem]:
    if (branch.parent is None) != (branch.fork_message is None):
        yield Problem(f"{pointer}/fork_message", "missing", "A parent and its fork message come together.")
    if branch.parent == branch.id:
        yield Problem(f"{pointer}/parent", "own_id", "A branch does not begin in itself.")


def _message(message: Message, pointer: str) -> Iterator[Problem]:
    if message.role == "assistant":
        yield from _of_a_run(message, pointer)
    for number, part in enumerate(message.parts):
        if not _is_whole(part):
            yield Problem(
                f"{pointer}/parts/{number}", "wrong_part", "A text, or one of url and data with a media_type."
            )


def _is_whole(part: Part) -> bool:
    if part.kind == "text":
        return part.url is None and part.data is None
    return not part.text and (part.url is None) != (part.data is None) and bool(part.media_type or part.url)


def _of_a_run(record: Owned, pointer: str) -> Iterator[Problem]:
    if record.run is None:
        yield Problem(f"{pointer}/run", "missing", "This record belongs to a run.")


def _call(call: ToolCall, pointer: str) -> Iterator[Problem]:
    yield from _of_a_run(call, pointer)
    yield from _payload(call.arguments, f"{pointer}/arguments")


def _artifact(artifact: ToolArtifact, pointer: str) -> Iterator[Problem]:
    if artifact.status == "failed" and artifact.error is None:
        yield Problem(f"{pointer}/error", "missing", "A failure says its error.")
    if artifact.status == "succeeded" and artifact.result is None:
        yield Problem(f"{pointer}/result", "missing", "A call that succeeded has a result.")
    yield from _payload(artifact.arguments, f"{pointer}/arguments")
    yield from _payload(artifact.result, f"{pointer}/result")


def _payload(payload: Payload | None, pointer: str) -> Iterator[Problem]:
    if payload and (payload.bytes is None) != (payload.sha256 is None):
        yield Problem(f"{pointer}/sha256", "missing", "bytes and sha256 come together.")
    if payload and payload.sha256 and payload.value is not None:
        yield Problem(f"{pointer}/value", "too_many", "A payload is a value, or bytes and sha256.")


def _memory(memory: ToolMemory, pointer: str) -> Iterator[Problem]:
    if memory.freshness in MUST_GO_STALE and memory.stale_after is None:
        yield Problem(
            f"{pointer}/stale_after", "missing", "What is volatile or bounded goes stale at a time."
        )
    yield from _others(memory, pointer)
    for number, locator in enumerate(memory.locators):
        yield from _locator(locator, memory, f"{pointer}/locators/{number}")


def _others(memory: ToolMemory, pointer: str) -> Iterator[Problem]:
    named: Mapping[str, tuple[str, ...]] = {
        "supersedes": memory.supersedes,
        "conflicts_with": memory.conflicts_with,
        "depends_on": memory.depends_on,
    }
    for member, ids in named.items():
        if memory.id in ids:
            code = "supersession_cycle" if member == "supersedes" else "own_id"
            yield Problem(
                f"{pointer}/{member}/{ids.index(memory.id)}", code, "A memory does not name itself."
            )


def _locator(locator: Locator, memory: ToolMemory, pointer: str) -> Iterator[Problem]:
    if locator.artifact not in memory.artifacts:
        yield Problem(f"{pointer}/artifact", "outside", "A locator points into an artifact of its memory.")
    ways = [way for way in (locator.pointer, locator.lines, locator.bytes) if way is not None]
    if len(ways) != 1:
        yield Problem(pointer, "wrong_locator", "Exactly one of pointer, lines and bytes.")
    if locator.pointer and not locator.pointer.startswith("/"):
        yield Problem(f"{pointer}/pointer", "wrong_form", "A JSON pointer is empty or begins with a slash.")
    if locator.lines and not 1 <= locator.lines[0] <= locator.lines[1]:
        yield Problem(f"{pointer}/lines", "out_of_bounds", "From line 1, and the last not before the first.")
    if locator.bytes and locator.bytes[0] > locator.bytes[1]:
        yield Problem(f"{pointer}/bytes", "out_of_bounds", "The end is not before the start.")


def _pair(record: Conflict | Settlement, pointer: str) -> Iterator[Problem]:
    if record.memories[0] == record.memories[1]:
        yield Problem(f"{pointer}/memories/1", "own_id", "A memory has no conflict with itself.")
    if isinstance(record, Settlement) and record.kept not in (None, *record.memories):
        yield Problem(f"{pointer}/kept", "outside", "What is kept is one of the two.")


def _supersession(record: Supersession, pointer: str) -> Iterator[Problem]:
    if record.memory == record.supersedes:
        yield Problem(f"{pointer}/supersedes", "supersession_cycle", "A memory does not replace itself.")


def _resolution(record: Resolution, pointer: str) -> Iterator[Problem]:
    if (record.artifact is None) == (record.call is None):
        yield Problem(pointer, "wrong_resolution", "Exactly one of artifact and call.")


_CHECKS: Mapping[type[Record], Callable[[Any, str], Iterator[Problem]]] = {
    Branch: _branch,
    Message: _message,
    ToolCall: _call,
    ContinuationCheckpoint: _of_a_run,
    RunFinished: _of_a_run,
    ToolArtifact: _artifact,
    ToolMemory: _memory,
    Conflict: _pair,
    Settlement: _pair,
    Supersession: _supersession,
    Resolution: _resolution,
}
