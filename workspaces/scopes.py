"""A scope: its kind, the keyed hash that stands for its id, and the handle that it names (WM-4, WM-5)."""

import re
from uuid import UUID

import msgspec

from workspaces import rehashing
from workspaces.errors import InvalidInput
from workspaces.rules import handles
from workspaces.rules.handles import Handle
from workspaces.types import FieldProblem, WorkspaceRef

_OBJECT_ID = re.compile(r"[^:]+:[^:]+:.+", re.DOTALL)


class Scope(msgspec.Struct, frozen=True):
    """A scope whose id is known only as a keyed hash; of a subject, also the canonical handle."""

    kind: str
    hash: bytes
    hash_key_id: UUID
    handle: Handle | None = None


def scope_of(workspace: WorkspaceRef, *, kind: str, id: str) -> Scope:
    """Give the scope that a kind and an id name.

    Every spelling of one handle is one scope. Raises InvalidInput at /scope/id for a subject that is no handle and an
    object that is not `type:namespace:id`.
    """
    handle = _handle(id) if kind == "subject" else None
    if kind == "object" and not _OBJECT_ID.fullmatch(id):
        raise _refused("An object is named as type:namespace:id.")
    name = handle.text if handle else id
    hashed = rehashing.scope_hash(workspace, kind, name)
    return Scope(kind=kind, hash=hashed, hash_key_id=workspace.hash_key_id, handle=handle)


def _handle(id: str) -> Handle:
    try:
        return handles.parse_text(id)
    except InvalidInput as error:
        raise _refused("A subject is named as <type>:<value> or <type>:<namespace>:<value>.") from error


def _refused(sentence: str) -> InvalidInput:
    return InvalidInput(errors=(FieldProblem("/scope/id", "wrong_form", sentence),))
