"""Reading working memory: by agents with content, by people without (WM-17, WM-23)."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

import msgspec
from django.db.models import Count, Max, QuerySet, Sum

from agentstate import access, documents
from agentstate.models import State
from agentstate.rules import bodies
from agentstate.selectors.lives import open_life, served_fields, valid_until
from agentstate.types import Holding, StateMetadata, StateRead
from workspaces.errors import KeyDestroyed
from workspaces.scopes import Scope
from workspaces.types import WorkspaceRef


class Totals(msgspec.Struct, frozen=True):
    """How much working memory a workspace holds, for the effect of a change."""

    states: int = 0
    bytes: int = 0
    profiles: int = 0
    agents: int = 0


class MemoryTotals(msgspec.Struct, frozen=True):
    """How much working memory names one person."""

    states: int
    bytes: int
    agents: int
    last_write: datetime | None


def read_state(workspace: WorkspaceRef, scope: Scope, agent: str, *, now: datetime) -> StateRead:
    """Read a state with one lookup that no writer's lock blocks (WM-17, WM-19).

    A write may give the state another data key between the row and its key: then it is read again (WM-18).
    """
    row = access.find_state(scope, agent)
    declared = documents.declared_for(workspace, agent)
    try:
        life = open_life(workspace, row, declared, now=now)
    except KeyDestroyed:
        is_written_since = _has_another_key(access.find_state(scope, agent), row)
        return read_state(workspace, scope, agent, now=now) if is_written_since else StateRead()
    if row is None or not life.is_live:
        return StateRead()
    served = bodies.live_fields(life.held, declared.type, now)
    until = valid_until(row, declared)
    return StateRead(
        body={name: life.body[name] for name in served},
        version=life.version,
        updated_at=row.updated_at,
        valid_until=until,
        epoch=life.epoch,
        expires=bodies.expires(served, declared.type, until=until),
    )


def states_of_profile(profile_id: UUID) -> QuerySet[State]:
    """List the states that name a person, alive by what their rows say."""
    rows = State.objects.filter(life=State.Life.LIVE, handle__profile_id=profile_id)
    return rows.defer("body", "recent_writes").select_related("source")


STATE_FILTERS = {"agent": "agent", "scope": "scope_kind", "type": "type"}


def chosen_states(rows: QuerySet[State], chosen: Mapping[str, str]) -> QuerySet[State]:
    """Keep the states that pass the filters of a list; an empty value does not filter."""
    return rows.filter(**{STATE_FILTERS[name]: value for name, value in chosen.items() if value})


def state_filters(profile_id: UUID) -> dict[str, list[str]]:
    """List the values by which the states of a person can be filtered."""
    rows = states_of_profile(profile_id).order_by()
    return {
        name: sorted({value for value in rows.values_list(column, flat=True) if value})
        for name, column in STATE_FILTERS.items()
    }


def memory_of(profile_id: UUID) -> MemoryTotals:
    """Count the states that name a person."""
    counts = states_of_profile(profile_id).aggregate(
        states=Count("id"),
        bytes=Sum("body_bytes", default=0),
        agents=Count("agent", distinct=True),
        last_write=Max("updated_at"),
    )
    return MemoryTotals(**counts)


def metadata_of(workspace: WorkspaceRef, rows: list[State], *, now: datetime) -> list[StateMetadata]:
    """Describe states without content and without scope ids; leave out what has expired (WM-23)."""
    declared = documents.declared_by_agent(workspace, {row.agent for row in rows})
    described = ((row, valid_until(row, declared[row.agent])) for row in rows)
    return [
        _metadata(row, until, fields=len(served_fields(row, declared[row.agent], now=now)))
        for row, until in described
        if now < until
    ]


def totals() -> Totals:
    """Count what the bound workspace holds."""
    live = State.objects.filter(life=State.Life.LIVE)
    counts = live.aggregate(
        states=Count("id"),
        bytes=Sum("body_bytes", default=0),
        profiles=Count("handle__profile", distinct=True),
        agents=Count("agent", distinct=True),
    )
    return Totals(**counts)


def states_by_agent() -> dict[str, int]:
    """Count the states of each agent (PR-3)."""
    live = State.objects.filter(life=State.Life.LIVE)
    return dict(live.values_list("agent").annotate(Count("id")).order_by())


def states_by_profile(profile_ids: list[UUID]) -> dict[UUID, int]:
    """Count the states of each of these people."""
    live = State.objects.filter(life=State.Life.LIVE, handle__profile__in=profile_ids)
    return dict(live.values_list("handle__profile").annotate(Count("id")).order_by())


def holdings() -> list[Holding]:
    """Count, per agent and type at the last write, the states and in how many each field is held (PR-3)."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    states: Counter[tuple[str, str]] = Counter()
    live = State.objects.filter(life=State.Life.LIVE)
    for agent, kind, held in live.values_list("agent", "type", "held").iterator():
        states[agent, kind] += 1
        counts[agent, kind].update(dict.fromkeys(held, 1))
    return [Holding(agent, kind, states[agent, kind], dict(held)) for (agent, kind), held in counts.items()]


def _has_another_key(now: State | None, before: State | None) -> bool:
    return now is not None and before is not None and now.data_key_id != before.data_key_id


def _metadata(row: State, until: datetime, *, fields: int) -> StateMetadata:
    return StateMetadata(
        agent=row.agent,
        scope_kind=row.scope_kind,
        source_id=str(row.source_id),
        source=row.source.name if row.source else "",
        bytes=row.body_bytes,
        version=row.version,
        type=row.type or None,
        schema_version=row.type_version or None,
        created_at=row.created_at,
        updated_at=row.updated_at,
        valid_until=until,
        fields=fields,
    )
