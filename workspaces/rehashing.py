"""Names that were hashed under the key before move under the one of now when they are met (PL-12).

A keyed hash cannot be made again without the name, so it is when somebody brings the name: its hash under the key
before is looked for in every table and replaced there, all in one statement. The database takes no new name under the
key before (migration 0012), so that nothing is left behind where nothing was found.
"""

from collections import OrderedDict
from functools import partial
from threading import Lock
from uuid import UUID

from django.db import connection, transaction

from workspaces import encryption
from workspaces.binding import bound
from workspaces.errors import Unavailable
from workspaces.types import WorkspaceRef

_MOVE_SCOPE = "SELECT lastro_move_scope(%s, %s, %s, %s)"
_MOVE_HANDLE = "SELECT lastro_move_handle(%s, %s, %s, %s)"
_HOLD_ALONE = "SELECT lastro_hold_hash_key(%s, true)"
_CURRENT = "SELECT lastro_hash_key_is_current(%s, %s)"

_MOST_MET = 50_000
_met: OrderedDict[bytes, None] = OrderedDict()
_lock = Lock()


def scope_hash(workspace: WorkspaceRef, kind: str, name: str) -> bytes:
    """Hash what names a scope, as it is stored from now on."""
    return _current(workspace, _MOVE_SCOPE, "scope", kind, name)


def handle_hash(workspace: WorkspaceRef, text: str) -> bytes:
    """Hash a canonical handle, as it is stored from now on."""
    return _current(workspace, _MOVE_HANDLE, "handle", text)


def previous_scope_hash(workspace: WorkspaceRef, kind: str, name: str) -> bytes | None:
    """Hash what names a scope as it was stored under the hash key before, where there is one."""
    return encryption.previous_hash(workspace, "scope", kind, name)


def move_scope(workspace: WorkspaceRef, *, before: bytes, now: bytes) -> None:
    """Move what is named by the one hash to the other, whose key is the one of now."""
    _move(workspace, _MOVE_SCOPE, before, now)


def require_current(workspace: WorkspaceRef) -> None:
    """Let the hash key be no other until the transaction ends. Raises Unavailable where it is another one by now.

    For what looks names up and then keeps what it found: a name may have moved since the caller was let in.
    """
    with connection.cursor() as cursor:
        cursor.execute(_CURRENT, [workspace.id, workspace.hash_key_id])
        if not cursor.fetchone()[0]:
            raise Unavailable


def hold_alone(workspace_id: UUID) -> None:
    """Wait for whoever keeps the hash key as it is, and keep others waiting: to replace it."""
    with connection.cursor() as cursor:
        cursor.execute(_HOLD_ALONE, [workspace_id])


def forget() -> None:
    """Forget which names this process has met, as a new one would."""
    with _lock:
        _met.clear()


def _current(workspace: WorkspaceRef, move: str, purpose: str, *parts: str) -> bytes:
    now = encryption.keyed_hash(workspace, purpose, *parts)
    if workspace.previous_hash_key_id is None or now in _met:
        return now
    before = encryption.previous_hash(workspace, purpose, *parts)
    if before is not None:
        _move(workspace, move, before, now)
    return now


def _move(workspace: WorkspaceRef, move: str, before: bytes, now: bytes) -> None:
    with bound(workspace.id), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(move, [workspace.id, before, now, workspace.hash_key_id])
        transaction.on_commit(partial(_meet, now))


def _meet(name: bytes) -> None:
    with _lock:
        _met[name] = None
        while len(_met) > _MOST_MET:
            _met.popitem(last=False)
