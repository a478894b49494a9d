"""Sealing and opening the body of a state (PL-12)."""

from datetime import datetime
from typing import Any
from uuid import uuid4

import msgspec

from agentstate.models import State
from workspaces import encryption
from workspaces.types import Key, WorkspaceRef


def open_body(workspace: WorkspaceRef, state: State) -> tuple[dict[str, Any], Key]:
    """Decrypt what a live row holds; give the data key too. Raises KeyDestroyed when its keys are gone."""
    key = encryption.open_key(workspace, state.handle_id, state.data_key_id)
    plain = encryption.unseal(key, bytes(state.body or b""), context=_context(workspace, state))
    return msgspec.json.decode(plain), key


def seal_body(workspace: WorkspaceRef, state: State, plain: bytes, key: Key) -> None:
    """Encrypt a body into its row, bound to the row's version and epoch as they stand."""
    state.data_key_id = key.id
    state.body = encryption.seal(key, plain, context=_context(workspace, state))


def make_data_key(workspace: WorkspaceRef, state: State, *, now: datetime) -> Key:
    """Make the data key of a state's life, wrapped by the key of the handle it names, else by the workspace's."""
    under = encryption.open_key(workspace, state.handle_id)
    return encryption.make_key(workspace, key_id=uuid4(), purpose="data", under=under, now=now)


def body_mac(key: Key, body: bytes) -> bytes:
    """Hash a request body as it was received, under a state's data key (WM-15)."""
    return encryption.mac(key, "request-body", body)[:16]


def _context(workspace: WorkspaceRef, state: State) -> bytes:
    return encryption.context_of(
        workspace.id, "agentstate_state", state.id, state.version, state.epoch, state.data_key_id
    )
