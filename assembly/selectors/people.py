"""Whom a conversation's own record names (CA-1, PR-10)."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec

from workspaces.models import Handle
from workspaces.rules.handles import canonical
from workspaces.selectors.profiles import handle_hash
from workspaces.types import WorkspaceRef


def naming_only(
    workspace: WorkspaceRef, record: msgspec.Raw, handle_ids: Sequence[UUID], *, is_without: bool = False
) -> msgspec.Raw:
    """Give the JSON of a Conversation as it names some handles alone, or everybody but these."""
    said = msgspec.json.decode(record, type=dict[str, Any])
    subject = said.pop("subject", [])
    hashes = [
        handle_hash(workspace, canonical(one["type"], one["value"], one.get("scope"))) for one in subject
    ]
    chosen = {bytes(name) for name in Handle.objects.filter(id__in=handle_ids).values_list("hash", flat=True)}
    kept = [one for one, name in zip(subject, hashes, strict=True) if (name in chosen) is not is_without]
    return msgspec.Raw(msgspec.json.encode(said | ({"subject": kept} if kept else {})))
