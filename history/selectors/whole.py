"""Reading out all that a workspace keeps of history, with its content, for who takes it elsewhere (PL-5b)."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from history.documents import retention_of
from history.models import Session
from history.selectors.export import each_session, opened_records
from history.types import ExportedSession
from workspaces import documents
from workspaces.types import WorkspaceRef


def opened_sessions(workspace: WorkspaceRef, *, now: datetime) -> Iterator[dict[str, Any]]:
    """Give every live session of the bound workspace with its messages, oldest id first, a few in memory at a time.

    What has expired, and what is being erased, is absent.
    """
    retention = retention_of(documents.live("retention"))
    for session in each_session(Session.objects.all(), retention, now=now):
        for record in opened_records(workspace, session, retention, now=now):
            # The message stays as it was received: it is written and not read.
            told = {"record": record.__struct_config__.tag, **msgspec.structs.asdict(record)}
            yield told | (_named(session) if isinstance(record, ExportedSession) else {})


def _named(session: Session) -> dict[str, Any]:
    return {
        "conversation_hash": bytes(session.conversation_hash or b"").hex(),
        "profile_id": session.handle.profile_id if session.handle else None,
        "handle_id": session.handle_id,
    }
