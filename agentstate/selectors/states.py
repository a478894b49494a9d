"""Reading working memory: by agents with content, by people without (WM-17, WM-23)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.db.models import Count, F, Max, QuerySet, Sum

from agentstate import access, documents, encryption, hotstates
from agentstate.access import Place
from agentstate.documents import Declared
from agentstate.hotstates import Look
from agentstate.models import State
from agentstate.rules import bodies
from agentstate.selectors.lives import is_live, served_fields, valid_until
from agentstate.types import Holding, StateMetadata, StateRead, StateRow
from workspaces.documents import Live
from workspaces.errors import KeyDestroyed
from workspaces.hotstore import Seen


class Totals(msgspec.Struct, frozen=True):
    """How much working memory a workspace holds, for the effect of a change."""

    states: int = 0
    bytes: int = 0
    profiles: int = 0
    agents: int = 0
    is_capped: bool = False


class MemoryTotals(msgspec.Struct, frozen=True):
    """How much working memory names one person."""

    states: int
    bytes: int
    agents: int
    last_write: datetime | None


def read_state(
    look: Look,
    live: Live,
    *,
    now: datetime,
    seen: Sequence[Seen] = (),
    on_erased: Callable[[StateRow], None] = lambda _: None,
) -> StateRead:
    """Read a state, from the hot store alone where it is warm (WM-17 to WM-19).

    `live` are the documents as the request saw them, `seen` what it saw of the state and its keys. `on_erased` is told
    of a state that reads as never written because it was erased (PR-12).
    """
    place, held = look.place, hotstates.current(look, seen)
    declared = documents.declared_for(place.agent, live)
    row = held.row
    if row is None or not is_live(row, declared, now=now):
        if row is not None and row.life == State.Life.ERASED:
            on_erased(row)
        return StateRead()
    try:
        plain, _ = encryption.open_plain(place.workspace, row, held.keys)
    except KeyDestroyed:
        return _read_again(place, row, live, now=now, on_erased=on_erased)
    return _answer(row, plain, declared, now=now)


def _read_again(
    place: Place, row: StateRow, live: Live, *, now: datetime, on_erased: Callable[[StateRow], None]
) -> StateRead:
    """Read again where a write gave the state another key between the row and its key (WM-18), else nothing."""
    newer = access.read_row(place)
    if newer is not None and newer.data_key_id not in (row.data_key_id, None):
        return read_state(hotstates.look_for(place), live, now=now, on_erased=on_erased)
    if newer is not None:
        on_erased(newer)
    return StateRead()


def _answer(row: StateRow, plain: bytes, declared: Declared, *, now: datetime) -> StateRead:
    served = served_fields(row, declared, now=now)
    until = valid_until(row, declared)
    # Where all of it is served, it goes out as it was stored.
    body: Any = msgspec.Raw(plain) if served.keys() == row.held.keys() else _only(plain, served)
    return StateRead(
        body=body,
        version=row.version,
        updated_at=row.updated_at,
        valid_until=until,
        epoch=row.epoch,
        expires=bodies.expires(served, declared.type, until=until),
    )


def _only(plain: bytes, served: Mapping[str, Any]) -> dict[str, Any]:
    body = msgspec.json.decode(plain)
    return {name: body[name] for name in body if name in served}


def states_of_profile(profile_id: UUID) -> QuerySet[State]:
    """List the states that name a person, alive by what their rows say."""
    rows = _reachable().filter(handle__profile_id=profile_id)
    return rows.defer("body", "recent_writes").select_related("source")


def _reachable() -> QuerySet[State]:
    """List the states that live by what their rows say and are not being erased (PR-11)."""
    return State.objects.filter(life=State.Life.LIVE, erasure_id=None)


AGENT_COUNTED_UP_TO = 10_000
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


def metadata_of(rows: list[State], *, now: datetime) -> list[StateMetadata]:
    """Describe states without content and without scope ids; leave out what has expired (WM-23)."""
    declared = documents.declared_by_agent({row.agent for row in rows})
    described = ((row, valid_until(row, declared[row.agent])) for row in rows)
    return [
        _metadata(row, until, fields=len(served_fields(row, declared[row.agent], now=now)))
        for row, until in described
        if now < until
    ]


def totals(*, up_to: int | None = None) -> Totals:
    """Count what the bound workspace holds, or what a number of its states do (CO-13)."""
    rows = _reachable().order_by().values("id", "body_bytes", "agent", person=F("handle__profile"))[:up_to]
    counts = rows.aggregate(
        states=Count("id"),
        bytes=Sum("body_bytes", default=0),
        profiles=Count("person", distinct=True),
        agents=Count("agent", distinct=True),
    )
    return Totals(**counts, is_capped=counts["states"] == up_to)


def states_by_agent() -> dict[str, int]:
    """Count the states of each agent, no further than to AGENT_COUNTED_UP_TO (PR-3, CO-13)."""
    counts = {agent: _reachable().filter(agent=agent)[:AGENT_COUNTED_UP_TO].count() for agent in _agents()}
    return {agent: count for agent, count in counts.items() if count}


def _agents() -> Iterator[str]:
    """List the agents that ever stored something: one probe of the index for each, not a walk over every state."""
    agents, last = State.objects.order_by("agent").values_list("agent", flat=True), ""
    while (found := agents.filter(agent__gt=last).first()) is not None:
        yield found
        last = found


def states_by_profile(profile_ids: list[UUID]) -> dict[UUID, int]:
    """Count the states of each of these people."""
    live = _reachable().filter(handle__profile__in=profile_ids)
    return dict(live.values_list("handle__profile").annotate(Count("id")).order_by())


def holdings() -> list[Holding]:
    """Count, per agent and type at the last write, the states and in how many each field is held (PR-3)."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    states: Counter[tuple[str, str]] = Counter()
    for agent, kind, held in _reachable().values_list("agent", "type", "held").iterator():
        states[agent, kind] += 1
        counts[agent, kind].update(dict.fromkeys(held, 1))
    return [Holding(agent, kind, states[agent, kind], dict(held)) for (agent, kind), held in counts.items()]


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
