"""Taking a person's name out of what stays of a graph that names others too (PR-10)."""

import hashlib
from collections.abc import Sequence
from uuid import UUID

import msgspec

from assembly import access, encryption
from assembly.models import Graph
from assembly.selectors.people import naming_only
from workspaces.types import Key, WorkspaceRef


def forget_people(workspace: WorkspaceRef, graph: Graph, handle_ids: Sequence[UUID], key: Key) -> None:
    """Take handles out of the Conversation record of a locked graph.

    It is the one record that is ever changed: it stays for those whom it still names, and may not name who was erased.
    """
    row = access.records_of(graph).filter(kind="conversation").first()
    if row is None:
        return
    opened = encryption.open_record(workspace, row, key)
    told = naming_only(workspace, opened.record, handle_ids, is_without=True)
    # The digest of what was sent would tell a guess at the handle from a wrong one.
    sent = hashlib.sha256(told).digest()
    encryption.seal_record(workspace, row, msgspec.structs.replace(opened, record=told, sent=sent), key)
    row.save(update_fields=["body"])
