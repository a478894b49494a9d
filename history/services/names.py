"""Saying later whom a session is about, and to which conversation it belongs (HI-22)."""

from datetime import datetime

from history import access, encryption
from history.errors import HistoryMismatch
from history.models import Item, Session
from history.services.lives import name_conversation
from history.types import Naming
from workspaces.encryption import retire_keys
from workspaces.rules.handles import Handle as HandleValue
from workspaces.selectors.profiles import handle_hash, known_handle
from workspaces.services.profiles import handle_of
from workspaces.types import Key, WorkspaceRef

BATCH = 200


def name_session(
    workspace: WorkspaceRef, session: Session, naming: Naming, key: Key, *, now: datetime
) -> Key:
    """Name what a locked session does not name yet, its row unsaved; give its data key from then on.

    Another conversation or another person than it names already is refused. A person who is named for the first time
    holds the key of what is there already, too (PR-15). Raises HistoryMismatch.
    """
    conversation = name_conversation(workspace, session, naming)
    if conversation is not None and bytes(session.conversation_hash or b"") != conversation:
        raise HistoryMismatch
    if naming.subject is None or _is_named(workspace, session, naming.subject):
        return key
    session.handle = handle_of(workspace=workspace, value=naming.subject, now=now)
    return reseal(workspace, session, key, now=now)


def reseal(workspace: WorkspaceRef, session: Session, key: Key, *, now: datetime) -> Key:
    """Seal all that a locked session holds under a new data key, its row unsaved; the old one is destroyed (PL-12)."""
    new = encryption.make_data_key(workspace, session.handle_id, now=now)
    rows = list(access.items_of(session).order_by("position"))
    for row in rows:
        opened = encryption.open_item(workspace, row, key)
        encryption.seal_item(workspace, row, opened, new)
        row.name_mac = encryption.name_mac(new, opened.id)
        row.key_mac = encryption.dedupe_mac(new, opened.key) if opened.key else None
    Item.objects.bulk_update(rows, ["body", "name_mac", "key_mac"], batch_size=BATCH)
    if session.summary is not None:
        summary = encryption.open_summary(workspace, session, key)
        encryption.seal_summary(workspace, session, summary, new)
    retire_keys(workspace, session.data_key_id)
    # What was reserved under the old key cannot be told its token again.
    session.data_key_id, session.begin_mac = new.id, b""
    return new


def _is_named(workspace: WorkspaceRef, session: Session, subject: HandleValue) -> bool:
    """Tell whether a session names this person already; refuse where it names another one."""
    if session.handle is None:
        return False
    if bytes(session.handle.hash) == handle_hash(workspace, subject):
        return True
    known = known_handle(workspace, subject)
    if known is None or known.profile_id != session.handle.profile_id:
        raise HistoryMismatch
    return True
