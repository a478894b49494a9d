"""What is measured of records once the bytes of a payload have come (CA-14, CA-16)."""

from collections.abc import Iterator
from typing import cast

import msgspec

from assembly import encryption
from assembly.models import GraphRecord, Link, Payload
from assembly.rules.measures import HEAD_BYTES, MEASURED_BYTES, of_whole, whole_characters
from assembly.rules.tokens import count_tokens
from assembly.selectors.payloads import parts_of, reader
from assembly.selectors.records import arguments_apart, asked_with, opened_calls, record_of
from assembly.types import Opened
from lastro.assembly.graph.measuring import Measures, measures_of
from lastro.assembly.records import ToolArtifact, ToolCall, ToolMemory
from workspaces.types import Key, WorkspaceRef


def measure_again(workspace: WorkspaceRef, payload: Payload, key: Key) -> None:
    """Measure an artifact whose result has come, and the memories that point into it; seal both again (CA-16).

    The graph is locked. However long the result is, 16 MiB of it are in memory at most: over 1 MiB its sizes are those
    of its first 256 KiB, counted on at their rate; over 16 MiB, which is never shown, no locator into it is checked.
    """
    if payload.role != Payload.Role.RESULT:
        return
    row, graph = GraphRecord.objects.get(id=payload.record_id), payload.graph
    _measure_artifact(workspace, row, payload, key)
    memories = list(_memories_of(row))
    read = reader(workspace, graph, key, ahead=_artifacts_of(memories))
    for memory in memories:
        opened = encryption.open_record(workspace, memory, key)
        record = cast(ToolMemory, record_of(opened))
        if any(locator.artifact == row.name for locator in record.locators):
            _seal(
                workspace, memory, opened, measures_of(record, call=None, read=read, count=count_tokens), key
            )


def _measure_artifact(workspace: WorkspaceRef, row: GraphRecord, payload: Payload, key: Key) -> None:
    opened = encryption.open_record(workspace, row, key)
    apart = arguments_apart(workspace, [row], {row.graph_id: key}).get(row.pk)
    record, call = asked_with(cast(ToolArtifact, record_of(opened)), apart), _call_of(workspace, row, key)
    parts = parts_of(workspace, payload, key)
    is_whole = payload.size_bytes <= MEASURED_BYTES
    content = b"".join(parts) if is_whole else whole_characters(_head(parts))
    measures = measures_of(record, call=call, read=lambda _: content, count=count_tokens)
    if not is_whole:
        measures = of_whole(measures, head_bytes=len(content), size_bytes=payload.size_bytes)
    _seal(workspace, row, opened, measures, key)


def _head(parts: Iterator[bytes]) -> bytes:
    head = bytearray()
    for part in parts:
        head += part
        if len(head) >= HEAD_BYTES:
            break
    return bytes(head[:HEAD_BYTES])


def _call_of(workspace: WorkspaceRef, row: GraphRecord, key: Key) -> ToolCall | None:
    link = Link.objects.filter(record=row, member="call").select_related("target").first()
    if link is None:
        return None
    return opened_calls(workspace, [link.target], {row.graph_id: key})[link.target.name]


def _memories_of(row: GraphRecord) -> list[GraphRecord]:
    links = Link.objects.filter(target=row, member="artifacts", record__kind=ToolMemory.wire)
    return [link.record for link in links.filter(record__erasure_id=None).select_related("record")]


def _artifacts_of(memories: list[GraphRecord]) -> set[str]:
    links = Link.objects.filter(record__in=memories, member="artifacts") if memories else Link.objects.none()
    return set(links.values_list("target__name", flat=True))


def _seal(workspace: WorkspaceRef, row: GraphRecord, opened: Opened, measures: Measures, key: Key) -> None:
    encryption.seal_record(workspace, row, msgspec.structs.replace(opened, measures=measures), key)
    row.naive_tokens, row.naive_bytes = measures.naive.tokens, measures.naive.bytes
    row.save(update_fields=["body", "naive_tokens", "naive_bytes"])
