"""What people see of sessions: counts, bytes, dates and status, never messages and never ids (HI-5, HI-23)."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

import msgspec
from django.db.models import Count, Max, QuerySet, Sum

from history.documents import retention_of
from history.models import Session
from history.selectors.sessions import is_live, valid_until
from history.types import SessionMetadata
from workspaces import documents

SESSION_FILTERS = {"source": "source__name", "provider": "provider"}


class HistoryTotals(msgspec.Struct, frozen=True):
    """How much history names one person, or a workspace keeps."""

    sessions: int
    messages: int
    bytes: int
    profiles: int
    last_change: datetime | None


def sessions_of_profile(profile_id: UUID) -> QuerySet[Session]:
    """List the sessions that name a person, alive by what their rows say."""
    return _reachable().filter(handle__profile_id=profile_id)


def reservations() -> QuerySet[Session]:
    """List the sessions on which a decision runs, or ran until its worker died (HI-5)."""
    return _reachable().filter(reserved_at__isnull=False)


def chosen_sessions(rows: QuerySet[Session], chosen: Mapping[str, str]) -> QuerySet[Session]:
    """Keep the sessions that pass the filters of a list; an empty value does not filter."""
    return rows.filter(**{SESSION_FILTERS[name]: value for name, value in chosen.items() if value})


def session_filters(rows: QuerySet[Session]) -> dict[str, list[str]]:
    """List the values by which a list of sessions can be filtered."""
    return {
        name: sorted({value for value in rows.order_by().values_list(column, flat=True).distinct() if value})
        for name, column in SESSION_FILTERS.items()
    }


def history_of(profile_id: UUID) -> HistoryTotals:
    """Count the sessions that name a person."""
    return _totals(sessions_of_profile(profile_id))


def totals() -> HistoryTotals:
    """Count what the bound workspace keeps."""
    return _totals(_reachable())


def metadata_of(rows: list[Session], *, now: datetime) -> list[SessionMetadata]:
    """Describe sessions without content and without ids; leave out what has expired."""
    retention = retention_of(documents.live("retention"))
    return [
        SessionMetadata(
            row=session.id,
            source=session.source.name,
            provider=session.provider,
            model=session.model,
            items=session.item_count,
            bytes=session.stored_bytes,
            created_at=session.created_at,
            touched_at=session.touched_at,
            valid_until=min(session.due_at, valid_until(session, retention)),
            reservation=session.reservation_id,
            reserved_at=session.reserved_at,
            worker=session.worker,
        )
        for session in rows
        if is_live(session, retention, now=now)
    ]


def _reachable() -> QuerySet[Session]:
    """List the sessions that live by what their rows say and are not being erased (PR-11)."""
    rows = Session.objects.filter(life=Session.Life.LIVE, erasure_id=None)
    return rows.defer("summary").select_related("source")


def _totals(rows: QuerySet[Session]) -> HistoryTotals:
    counts = rows.aggregate(
        sessions=Count("id"),
        messages=Sum("item_count", default=0),
        bytes=Sum("stored_bytes", default=0),
        profiles=Count("handle__profile", distinct=True),
        last_change=Max("touched_at"),
    )
    return HistoryTotals(**counts)
