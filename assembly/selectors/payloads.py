"""The bytes of payloads, verified as they are read (CA-4)."""

from collections.abc import Collection, Iterator
from datetime import datetime
from itertools import chain
from uuid import UUID

from django.utils import timezone

from assembly import access, blobs, encryption
from assembly.documents import bounds_of
from assembly.errors import PayloadAwaited
from assembly.models import Graph, Payload
from assembly.rules.payloads import SHOWN_BYTES, is_hidden, served_type
from assembly.selectors.ends import is_over
from assembly.selectors.graphs import is_served
from assembly.types import PayloadDownload
from lastro.assembly.records import ToolArtifact
from lastro.assembly.snapshot import Reader
from workspaces import documents
from workspaces.access import bound
from workspaces.errors import Forbidden, NotFound
from workspaces.types import Caller, Key, WorkspaceRef

LOOKED_AFTER_PARTS = 16
"""How many parts of a download leave before it is asked again whether it is still served: 1 MiB."""


def own_payload(caller: Caller, payload_id: UUID, *, now: datetime) -> Payload:
    """Give a payload to the source that recorded it.

    Others get Forbidden, and NotFound where visibility `audit` or privacy class `secret` hide it (CA-4).
    """
    payload = served_payload(payload_id, now=now)
    record = payload.record
    if record.source_id == caller.source_id:
        return payload
    if is_hidden(visibility=record.visibility, privacy=record.privacy):
        raise NotFound
    raise Forbidden("Only the source that recorded it may do that.")


def served_payload(payload_id: UUID, *, now: datetime) -> Payload:
    """Give a payload that is neither expired nor being erased. Raises NotFound."""
    payload = access.payload(payload_id)
    bounds = bounds_of(documents.live("retention"))
    if is_over(payload.record, bounds, now=now) or not is_served(payload.graph, bounds, now=now):
        raise NotFound
    return payload


def open_download(caller: Caller, payload_id: UUID, *, now: datetime) -> PayloadDownload:
    """Open a payload; its first part is verified here, every other one before it is given.

    Raises what `own_payload` raises, PayloadAwaited, and Tampered for one that does not verify.
    """
    payload = own_payload(caller, payload_id, now=now)
    if payload.state != Payload.State.STORED:
        raise PayloadAwaited
    key = encryption.graph_key(caller.workspace, payload.graph)
    parts = _watched(caller.workspace, payload_id, parts_of(caller.workspace, payload, key))
    return PayloadDownload(
        payload_id,
        served_type(payload.media_type),
        payload.size_bytes,
        chain([next(parts)], parts),
    )


def parts_of(workspace: WorkspaceRef, payload: Payload, key: Key) -> Iterator[bytes]:
    """Give the bytes of a stored payload in parts of 64 KiB at most. Raises Tampered."""
    if payload.body is not None:
        return iter([encryption.open_payload(workspace, payload, key)])
    blob_key = encryption.open_blob_key(workspace, payload, key)
    return blobs.read(workspace.id, payload.blob, blob_key)


def reader(
    workspace: WorkspaceRef,
    graph: Graph,
    key: Key,
    *,
    ahead: Collection[str] = (),
    most_bytes: int = SHOWN_BYTES,
) -> Reader:
    """Make what gives the result of an artifact of a graph by the artifact's id (CA-11).

    It gives nothing of a result that is not there, or longer than `most_bytes`. The rows of those in `ahead` are found
    in one query, and each other one as it is asked for; no bytes stay in memory but those that were asked for last.
    """
    rows = _results(graph, ahead)
    last: dict[str, bytes | None] = {}

    def read(artifact: str) -> bytes | None:
        if artifact not in last:
            row = rows[artifact] if artifact in rows else _results(graph, [artifact]).get(artifact)
            last.clear()
            is_read = row is not None and row.size_bytes <= most_bytes
            last[artifact] = b"".join(parts_of(workspace, row, key)) if row and is_read else None
        return last[artifact]

    return read


def _results(graph: Graph, artifacts: Collection[str]) -> dict[str, Payload | None]:
    if not artifacts:
        return {}
    of_artifacts = access.records_of(graph).filter(kind=ToolArtifact.wire, name__in=artifacts)
    stored = Payload.objects.filter(record__in=of_artifacts, role="result", state=Payload.State.STORED)
    found = {row.record.name: row for row in stored.select_related("record")}
    return {name: found.get(name) for name in artifacts}


def _watched(workspace: WorkspaceRef, payload_id: UUID, parts: Iterator[bytes]) -> Iterator[bytes]:
    """Give the parts as long as the payload is served: an erasure ends a download that is under way (PR-11)."""
    for number, part in enumerate(parts, start=1):
        yield part
        if number % LOOKED_AFTER_PARTS == 0:
            # Bound for each look alone: between two parts the thread serves whoever asks for the next.
            with bound(workspace.id):
                served_payload(payload_id, now=timezone.now())
