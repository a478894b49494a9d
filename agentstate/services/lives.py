"""Ending the life of a state (PR-12)."""

from datetime import datetime, timedelta

from agentstate.documents import Declared
from agentstate.models import State
from agentstate.rules import resends
from workspaces.encryption import retire_keys
from workspaces.types import WorkspaceRef


def entomb(
    workspace: WorkspaceRef, state: State, *, into: State.Life, declared: Declared, now: datetime
) -> None:
    """Turn a row into its tombstone, unsaved: no content, its key destroyed, the last version kept (PR-12)."""
    retire_keys(workspace, state.data_key_id)
    state.life = into
    state.body = state.data_key_id = state.handle = None
    state.body_bytes, state.held, state.type, state.type_version = 0, {}, "", ""
    kept = (
        () if into == State.Life.ERASED else resends.without_bodies(resends.load(bytes(state.recent_writes)))
    )
    state.recent_writes = resends.dump(kept)
    state.types_document = declared.document
    state.due_at = now + timedelta(seconds=declared.tombstone_seconds)
