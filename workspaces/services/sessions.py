"""Ending sessions: one of one's own, all others, or those that have expired (PL-4)."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from workspaces import audit
from workspaces.errors import NotFound
from workspaces.models import Person, StaffSession
from workspaces.services.people import actor_of
from workspaces.types import AuditObject, Origin


@transaction.atomic
def end_session(*, person: Person, session_id: UUID, origin: Origin, now: datetime) -> None:
    """End one of the person's own sessions at once. Raises NotFound for one that is not theirs."""
    if not StaffSession.objects.filter(person=person, id=session_id).delete()[0]:
        raise NotFound
    _note(person, AuditObject("session", str(session_id)), origin, now, ended=1)


@transaction.atomic
def end_other_sessions(*, person: Person, session_key: str, origin: Origin, now: datetime) -> int:
    """End all of the person's sessions but one; give how many there were."""
    ended = drop_others(person=person, session_key=session_key)
    _note(person, AuditObject("person", str(person.id)), origin, now, ended=ended)
    return ended


def drop_others(*, person: Person, session_key: str) -> int:
    """End a person's sessions but one, as part of another act; give how many there were."""
    return StaffSession.objects.filter(person=person).exclude(session_key=session_key).delete()[0]


def forget_expired(*, now: datetime) -> int:
    """Remove the sessions that are over; give how many."""
    return StaffSession.objects.filter(expire_date__lte=now).delete()[0]


def _note(person: Person, on: AuditObject, origin: Origin, now: datetime, *, ended: int) -> None:
    audit.record_outside(
        "session.end", actor=actor_of(person, origin), now=now, on=on, facts={"sessions": ended}
    )
