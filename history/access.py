"""The door to the rows of history."""

from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet, Sum

from history.models import Item, Session, Usage
from history.types import Identity, Place
from workspaces import encryption
from workspaces.access import workspaces_with
from workspaces.types import WorkspaceRef


def place_of(workspace: WorkspaceRef, source_id: UUID, identity: Identity) -> Place:
    """Give the place of a session, there or not. The source comes from the key, never from the request (HI-2)."""
    parts = (
        str(source_id),
        identity.namespace,
        identity.session_id,
        identity.run_id,
        identity.invocation_id,
        identity.agent_ref,
    )
    hashed = encryption.keyed_hash(workspace, "history-session", *parts)
    before = encryption.previous_hash(workspace, "history-session", *parts)
    return Place(workspace, source_id, hashed, workspace.hash_key_id, before)


def live_sessions() -> QuerySet[Session]:
    """List the sessions that neither ended nor are being erased; some may have expired since the last sweep."""
    return Session.objects.filter(life=Session.Life.LIVE, erasure_id=None).select_related("handle")


def live_session(place: Place, *, is_locked: bool = False) -> Session | None:
    """Give the live row of a place, locked until the transaction ends where it is to be changed."""
    rows = live_sessions().filter(identity_hash__in=place.hashes)
    return (rows.select_for_update(of=("self",)) if is_locked else rows).first()


def ended_sessions(place: Place) -> QuerySet[Session]:
    """List the rows of a place that are not live: being erased, or tombstones, or kept by a hold."""
    rows = Session.objects.filter(identity_hash__in=place.hashes)
    return rows.exclude(life=Session.Life.LIVE, erasure_id=None)


def erased_sessions(place: Place) -> QuerySet[Session]:
    """List the rows of a session that are being erased or were: `ended_at` is when reads of it ended (PR-12)."""
    erased = Q(life=Session.Life.ERASED) | Q(erasure_id__isnull=False)
    return Session.objects.filter(erased, identity_hash__in=place.hashes)


def items_of(session: Session) -> QuerySet[Item]:
    """List the items of a session."""
    return Item.objects.filter(session=session)


def usage() -> tuple[int, int]:
    """Give how many live sessions and bytes the bound workspace keeps."""
    found = Usage.objects.aggregate(sessions=Sum("sessions"), stored_bytes=Sum("stored_bytes"))
    return int(found["sessions"] or 0), int(found["stored_bytes"] or 0)


def workspaces_with_due_history(now: datetime) -> list[WorkspaceRef]:
    """List the workspaces in which sessions or items are due, or were kept under an older retention (PR-20)."""
    return workspaces_with("lastro_with_due_history", now)
