"""The beginning and the end of a session's row (HI-4, PR-12, PR-16)."""

from datetime import datetime, timedelta
from uuid import uuid4

from history import access, encryption
from history.models import Item, Session
from history.rules import sessions as rules
from history.types import Naming, Place, Retention
from workspaces import barriers
from workspaces.encryption import destroy_keys, retire_keys
from workspaces.models import Handle
from workspaces.rules.handles import Handle as HandleValue
from workspaces.scopes import scope_of
from workspaces.services.profiles import handle_of
from workspaces.types import Key, WorkspaceRef


def name_conversation(workspace: WorkspaceRef, session: Session, naming: Naming) -> bytes | None:
    """Note the conversation that is named where a session has none, unsaved; give its keyed hash, as states have it.

    None where nothing is named (HI-22).
    """
    if not naming.conversation_id:
        return None
    scope = scope_of(workspace, kind="conversation", id=naming.conversation_id)
    if session.conversation_hash is None:
        session.conversation_hash, session.conversation_key_id = scope.hash, scope.hash_key_id
    return scope.hash


def new_session(
    place: Place, naming: Naming, retention: Retention, *, now: datetime, like: Session | None = None
) -> tuple[Session, Key] | None:
    """Insert the row of a session with a data key of its own; none where another request was first.

    It names what `naming` says, or what the session `like` names.
    """
    handle = like.handle if like else _handle(place.workspace, naming.subject, now=now)
    key = encryption.make_data_key(place.workspace, handle.id if handle else None, now=now)
    session = Session(
        id=uuid4(),
        source_id=place.source_id,
        identity_hash=place.identity_hash,
        hash_key_id=place.hash_key_id,
        conversation_hash=like.conversation_hash if like else None,
        conversation_key_id=like.conversation_key_id if like else None,
        handle=handle,
        data_key_id=key.id,
        created_at=now,
    )
    name_conversation(place.workspace, session, naming)
    touch(session, retention, now=now)
    Session.objects.bulk_create([session], ignore_conflicts=True)
    if access.live_sessions().filter(id=session.id).exists():
        return session, key
    destroy_keys(place.workspace, key.id)
    return None


def touch(session: Session, retention: Retention, *, now: datetime) -> None:
    """Renew the idle time of a row, unsaved."""
    session.touched_at, session.retention_document = now, retention.document
    session.due_at = rules.valid_until(created_at=session.created_at, touched_at=now, retention=retention)


def end(workspace: WorkspaceRef, session: Session, *, into: Session.Life, now: datetime) -> None:
    """End a session: it goes with its key, except under a legal hold, which keeps it as it was (PR-16)."""
    if not is_held(session, now=now):
        drop(workspace, session)
        return
    session.life, session.ended_at = into, now
    free(session)
    session.save()


def drop(workspace: WorkspaceRef, session: Session) -> None:
    """Delete a session with its items and its key."""
    retire_keys(workspace, session.data_key_id)
    Item.objects.filter(session_id=session.id).delete()
    Session.objects.filter(id=session.id).delete()


def entomb(
    workspace: WorkspaceRef, session: Session, retention: Retention, *, at: datetime, now: datetime
) -> None:
    """Turn a row into the tombstone of an erasure: no content, no key; its token is known as void (HI-5, PR-12)."""
    retire_keys(workspace, session.data_key_id)
    Item.objects.filter(session_id=session.id).delete()
    session.life, session.ended_at, session.erasure_id = Session.Life.ERASED, at, None
    session.handle = session.conversation_hash = session.conversation_key_id = None
    session.summary = session.data_key_id = None
    session.summary_expires_at = None
    session.provider = session.model = session.interface = session.content_mode = session.worker = ""
    session.leaf = session.item_count = session.stored_bytes = session.base_leaf = 0
    session.begin_mac = b""
    session.due_at = now + timedelta(seconds=retention.tombstone_seconds)
    session.save()


def free(session: Session) -> None:
    """Take the reservation off a row, unsaved. What reserved it last stays known, so that it does not do so again."""
    session.reservation_hash = session.reservation_id = session.reserved_at = None
    session.worker = ""


def is_held(session: Session, *, now: datetime) -> bool:
    """Tell whether a legal hold keeps a session."""
    people = [session.handle.profile_id] if session.handle else []
    scopes = [bytes(session.conversation_hash)] if session.conversation_hash else []
    return barriers.holds_on(profile_ids=people, scope_hashes=scopes, now=now).exists()


def _handle(workspace: WorkspaceRef, value: HandleValue | None, *, now: datetime) -> Handle | None:
    return handle_of(workspace=workspace, value=value, now=now) if value else None
