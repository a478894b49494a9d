"""Sealing and opening the messages and the summary of a session (PL-12)."""

from datetime import datetime
from uuid import UUID, uuid4

import msgspec

from history.models import Item, Session
from history.types import SummaryValue
from workspaces import encryption
from workspaces.types import Key, WorkspaceRef


class Opened(msgspec.Struct, frozen=True, array_like=True):
    """What the ciphertext of an item says; the message as JSON, byte for byte as it was appended."""

    id: str
    parent: str
    key: str
    message: msgspec.Raw


def session_key(workspace: WorkspaceRef, session: Session) -> Key:
    """Open the data key of a session. Raises KeyDestroyed when its keys are gone."""
    return encryption.open_key(workspace, session.handle_id, session.data_key_id)


def open_key_of(workspace: WorkspaceRef, handle_id: UUID | None, data_key_id: UUID) -> Key:
    """Open the data key of what a legal hold kept of a session (PR-16). Raises KeyDestroyed."""
    return encryption.open_key(workspace, handle_id, data_key_id)


def make_data_key(workspace: WorkspaceRef, handle_id: UUID | None, *, now: datetime) -> Key:
    """Make the data key of a session, wrapped by the key of the handle it names, else by the workspace's (PR-15)."""
    under = encryption.open_key(workspace, handle_id)
    return encryption.make_key(workspace, key_id=uuid4(), purpose="data", under=under, now=now)


def seal_item(workspace: WorkspaceRef, item: Item, opened: Opened, key: Key) -> None:
    """Encrypt what an item says into its row, bound to its session and its place."""
    item.body = encryption.seal(key, msgspec.json.encode(opened), context=_place(workspace, item, key))


def open_item(workspace: WorkspaceRef, item: Item, key: Key) -> Opened:
    """Decrypt what an item says. Raises Tampered."""
    plain = encryption.unseal(key, bytes(item.body), context=_place(workspace, item, key))
    return msgspec.json.decode(plain, type=Opened)


def seal_summary(workspace: WorkspaceRef, session: Session, summary: SummaryValue, key: Key) -> None:
    """Encrypt a summary into its session's row, bound to the version as it stands."""
    plain = msgspec.json.encode(summary)
    session.summary = encryption.seal(key, plain, context=_version(workspace, session, key))


def open_summary(workspace: WorkspaceRef, session: Session, key: Key) -> SummaryValue:
    """Decrypt the summary of a session. Raises Tampered."""
    sealed = bytes(session.summary or b"")
    plain = encryption.unseal(key, sealed, context=_version(workspace, session, key))
    return msgspec.json.decode(plain, type=SummaryValue)


def name_mac(key: Key, name: str) -> bytes:
    """Authenticate the id of an item, so that it is found without being stored in clear."""
    return encryption.mac(key, "item-id", name.encode())[:16]


def dedupe_mac(key: Key, name: str) -> bytes:
    """Authenticate a caller's dedupe key (HI-21)."""
    return encryption.mac(key, "item-key", name.encode())[:16]


def request_mac(key: Key, idempotency_key: str, body: bytes) -> bytes:
    """Authenticate the request that reserved a session, to know it when it comes again (PL-10)."""
    named = encryption.mac(key, "begin-key", idempotency_key.encode())[:16]
    return named + encryption.mac(key, "begin-body", body)[:16]


def reservation_token(key: Key, reservation_id: UUID) -> bytes:
    """Give the secret of a reservation, which who reserved it may be told again and nobody else can make."""
    return encryption.mac(key, "reservation", reservation_id.bytes)


def _place(workspace: WorkspaceRef, item: Item, key: Key) -> bytes:
    return encryption.context_of(
        workspace.id, "history_item", item.id, item.session_id, item.position, key.id
    )


def _version(workspace: WorkspaceRef, session: Session, key: Key) -> bytes:
    return encryption.context_of(
        workspace.id, "history_session", session.id, "summary", session.summary_version, key.id
    )
