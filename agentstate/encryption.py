"""Sealing and opening the body of a state (PL-12)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import msgspec

from agentstate.models import KeptVersion, State
from agentstate.types import StateRow
from workspaces import encryption
from workspaces.hotstore import Seen
from workspaces.types import Key, WorkspaceRef

Sealed = State | StateRow


def open_plain(
    workspace: WorkspaceRef, row: Sealed, seen: Mapping[UUID, Seen] = encryption.NOTHING_SEEN
) -> tuple[bytes, Key]:
    """Decrypt what a live row holds, as compact JSON; give the data key too. Raises KeyDestroyed without its keys."""
    key = encryption.open_key(workspace, row.handle_id, row.data_key_id, seen=seen)
    return encryption.unseal(key, bytes(row.body or b""), context=_context(workspace, row)), key


def open_body(
    workspace: WorkspaceRef, row: Sealed, seen: Mapping[UUID, Seen] = encryption.NOTHING_SEEN
) -> tuple[dict[str, Any], Key]:
    """Decrypt what a live row holds, as a value. Raises KeyDestroyed when its keys are gone."""
    plain, key = open_plain(workspace, row, seen)
    return msgspec.json.decode(plain), key


def open_kept(workspace: WorkspaceRef, kept: KeptVersion) -> tuple[dict[str, Any], Key]:
    """Decrypt a version that a legal hold kept, as it was sealed (PR-16). Raises KeyDestroyed without its keys."""
    row = State(
        id=kept.state_id,
        version=kept.version,
        epoch=kept.epoch,
        body=kept.body,
        data_key_id=kept.data_key_id,
        handle_id=kept.handle_id,
    )
    return open_body(workspace, row)


def seal_body(workspace: WorkspaceRef, row: Sealed, plain: bytes, key: Key) -> None:
    """Encrypt a body into its row, bound to the row's version and epoch as they stand."""
    row.data_key_id = key.id
    row.body = encryption.seal(key, plain, context=_context(workspace, row))


def make_data_key(workspace: WorkspaceRef, handle_id: UUID | None, *, now: datetime) -> Key:
    """Make the data key of a state's life, wrapped by the key of the handle it names, else by the workspace's."""
    under = encryption.open_key(workspace, handle_id)
    return encryption.make_key(workspace, key_id=uuid4(), purpose="data", under=under, now=now)


def body_mac(key: Key, body: bytes) -> bytes:
    """Hash a request body as it was received, under a state's data key (WM-15)."""
    return encryption.mac(key, "request-body", body)[:16]


def _context(workspace: WorkspaceRef, row: Sealed) -> bytes:
    return encryption.context_of(
        workspace.id, "agentstate_state", row.id, row.version, row.epoch, row.data_key_id
    )
