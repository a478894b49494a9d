"""Sealing and opening what a graph keeps, under its data key (PL-12)."""

import os
from datetime import datetime
from uuid import UUID, uuid4

import msgspec

from assembly.models import Graph, GraphRecord, Payload
from assembly.types import Opened
from workspaces import encryption
from workspaces.types import Key, WorkspaceRef


def graph_key(workspace: WorkspaceRef, graph: Graph) -> Key:
    """Open the data key of a graph. Raises KeyDestroyed when its keys are gone."""
    return encryption.open_key(workspace, graph.handle_id, graph.data_key_id)


def make_data_key(workspace: WorkspaceRef, handle_id: UUID | None, *, now: datetime) -> Key:
    """Make the data key of a graph, wrapped by the key of the one handle it names, else by the workspace's (PR-15)."""
    under = encryption.open_key(workspace, handle_id)
    return encryption.make_key(workspace, key_id=uuid4(), purpose="data", under=under, now=now)


def seal_record(workspace: WorkspaceRef, row: GraphRecord, opened: Opened, key: Key) -> None:
    """Encrypt what a record says into its row, bound to its graph and its place."""
    row.body = encryption.seal(key, msgspec.json.encode(opened), context=_place(workspace, row, key))


def open_record(workspace: WorkspaceRef, row: GraphRecord, key: Key) -> Opened:
    """Decrypt what a record says. Raises Tampered."""
    plain = encryption.unseal(key, bytes(row.body), context=_place(workspace, row, key))
    return msgspec.json.decode(plain, type=Opened)


def content_mac(key: Key, sent: bytes) -> bytes:
    """Authenticate what a record says, by the digest of it as it was sent, to know it when it comes again (CA-3)."""
    return encryption.mac(key, "graph-record", sent)[:16]


def address(key: Key, sha256: str) -> bytes:
    """Give the address of a payload: of its digest, under the graph's key, so that no other graph shares it (CA-4)."""
    return encryption.mac(key, "graph-payload", sha256.encode())


def seal_payload(workspace: WorkspaceRef, payload: Payload, content: bytes, key: Key) -> None:
    """Encrypt a small payload into its row, bound to it."""
    payload.body = encryption.seal(key, content, context=_payload(workspace, payload, "body", key))


def open_payload(workspace: WorkspaceRef, payload: Payload, key: Key) -> bytes:
    """Decrypt a payload that its row holds. Raises Tampered."""
    sealed = bytes(payload.body or b"")
    return encryption.unseal(key, sealed, context=_payload(workspace, payload, "body", key))


def seal_blob_key(workspace: WorkspaceRef, payload: Payload, blob_key: Key, key: Key) -> None:
    """Encrypt the key of a payload's blob into its row: a new data key seals this again, and no blob."""
    plain = blob_key.id.bytes + blob_key.secret
    payload.blob_key = encryption.seal(key, plain, context=_payload(workspace, payload, "blob", key))


def open_blob_key(workspace: WorkspaceRef, payload: Payload, key: Key) -> Key:
    """Decrypt the key of a payload's blob. Raises Tampered."""
    sealed = bytes(payload.blob_key or b"")
    plain = encryption.unseal(key, sealed, context=_payload(workspace, payload, "blob", key))
    return Key(id=UUID(bytes=plain[:16]), secret=plain[16:])


def make_blob_key() -> Key:
    """Make the key of a blob, which no other blob has: whoever seals it again leaves the blob as it is."""
    return Key(id=uuid4(), secret=os.urandom(32))


def blob_name(blob_key: Key, digest: str) -> str:
    """Name a blob by a digest under its own key: the same content twice has two names (CA-4)."""
    named = encryption.mac(blob_key, "graph-blob", digest.encode()).hex()
    return f"{named[:2]}/{named}"


def _place(workspace: WorkspaceRef, row: GraphRecord, key: Key) -> bytes:
    return encryption.context_of(
        workspace.id, "graph_record", row.graph_id, row.kind, row.name, row.position, key.id
    )


def _payload(workspace: WorkspaceRef, payload: Payload, part: str, key: Key) -> bytes:
    return encryption.context_of(workspace.id, "graph_payload", payload.id, payload.graph_id, part, key.id)
