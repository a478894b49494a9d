"""Sealing a graph again under another data key: it names somebody else now, or its key is old (PR-15, PL-12)."""

from collections.abc import Iterator
from datetime import datetime

from assembly import encryption
from assembly.models import Graph, GraphRecord, Payload
from assembly.selectors.records import record_of
from lastro.assembly.records import Payload as Said
from workspaces.encryption import retire_keys
from workspaces.types import Key, WorkspaceRef

BATCH = 200


def reseal(workspace: WorkspaceRef, graph: Graph, key: Key, *, now: datetime) -> Key:
    """Seal all that a locked graph holds under a new data key, its row unsaved; the old one is destroyed (PL-12).

    The new key lies under that of `graph.handle`, or of the workspace. Blobs stay as they are: their keys are sealed
    again. It takes memory for a batch of records at a time, and time for all of them.
    """
    new = encryption.make_data_key(workspace, graph.handle_id, now=now)
    for rows in _batches(graph):
        payloads = _payloads(rows)
        for row in rows:
            _reseal(workspace, row, payloads.get(row.pk, []), key, new)
        GraphRecord.objects.bulk_update(rows, ["body", "content_mac"])
        Payload.objects.bulk_update(
            [one for found in payloads.values() for one in found], ["body", "blob_key", "address"]
        )
    retire_keys(workspace, graph.data_key_id)
    graph.data_key_id = new.id
    return new


def _batches(graph: Graph) -> Iterator[list[GraphRecord]]:
    """Give all rows, in batches of their order: also those that an erasure has marked and not removed yet."""
    last = 0
    while rows := list(
        GraphRecord.objects.filter(graph=graph, position__gt=last).order_by("position")[:BATCH]
    ):
        yield rows
        last = rows[-1].position


def _payloads(rows: list[GraphRecord]) -> dict[int, list[Payload]]:
    found: dict[int, list[Payload]] = {}
    for payload in Payload.objects.filter(record__in=rows):
        found.setdefault(payload.record_id, []).append(payload)
    return found


def _reseal(workspace: WorkspaceRef, row: GraphRecord, payloads: list[Payload], key: Key, new: Key) -> None:
    opened = encryption.open_record(workspace, row, key)
    encryption.seal_record(workspace, row, opened, new)
    row.content_mac = encryption.content_mac(new, opened.sent)
    record = record_of(opened) if payloads else None
    for payload in payloads:
        said: Said = getattr(record, payload.role)
        payload.address = encryption.address(new, said.sha256 or "")
        if payload.body is not None:
            content = encryption.open_payload(workspace, payload, key)
            encryption.seal_payload(workspace, payload, content, new)
        if payload.blob_key is not None:
            blob_key = encryption.open_blob_key(workspace, payload, key)
            encryption.seal_blob_key(workspace, payload, blob_key, new)
