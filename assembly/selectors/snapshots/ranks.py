"""The queries that rank what a graph holds, by what stands in clear: the first of each rank, from an index (CA-11).

What they offer holds the first of each rank, and nobody asks for the rank of what lies behind them. Lists of types are
written out, since the indexes are partial.
"""

from assembly.selectors.snapshots.conditions import STEPS, filled

_OF_LINEAGE = """(
    SELECT said.id FROM step s CROSS JOIN LATERAL (
        SELECT r.id, r.seen_at, r.name, r.kind FROM assembly_graphrecord r
        WHERE {here} AND r.branch = s.branch AND {condition}
        ORDER BY r.seen_at DESC, r.name, r.kind LIMIT %(candidates)s
    ) said
    ORDER BY s.distance, said.seen_at DESC, said.name, said.kind LIMIT %(candidates)s
)"""
"""The first of what fulfils a condition, of the nearest branches: each from an index, in its order."""
_SHARED = """(
    SELECT r.id FROM assembly_graphrecord r LEFT JOIN step s ON s.branch = r.branch
    WHERE {here} AND r.kind IN (
            'tool_artifact', 'tool_call', 'tool_memory', 'skill_state', 'checkpoint', 'run_finished'
        ) AND (r.visibility = 'conversation' OR r.shared_at IS NOT NULL)
        AND {is_shared} AND {is_open} AND {condition} AND (s.branch IS NULL OR NOT {is_before})
    ORDER BY COALESCE(s.distance, %(far)s), r.seen_at DESC, r.name, r.kind LIMIT %(candidates)s
)"""
"""The first of what is shared from beyond the lineage and fulfils a condition."""
_NEAR = """recent AS MATERIALIZED (
    SELECT said.id FROM step s CROSS JOIN LATERAL (
        SELECT r.id, r.seen_at, r.name FROM assembly_graphrecord r
        WHERE {here} AND r.branch = s.branch AND r.kind = 'message' AND {is_before} AND {is_open}
        ORDER BY r.seen_at DESC, r.name DESC LIMIT %(recent)s
    ) said
    ORDER BY said.seen_at DESC, said.name DESC LIMIT %(recent)s
), always AS MATERIALIZED (
    SELECT found.id FROM unnest(%(kinds)s::text[]) AS k(kind) CROSS JOIN unnest(%(named)s::text[]) AS n(name)
        CROSS JOIN LATERAL (
            SELECT r.id FROM assembly_graphrecord r
            WHERE {here} AND r.kind = k.kind AND r.name = n.name OFFSET 0
        ) found
    UNION
    SELECT r.id FROM assembly_graphrecord r
    WHERE {here} AND r.kind IN ('tool_artifact', 'run_finished') AND r.settled_at IS NULL
    UNION
    SELECT r.id FROM assembly_graphrecord r
    WHERE {here} AND r.kind IN ('tool_artifact', 'run_finished') AND r.settled_at > %(position)s
    UNION
    SELECT r.id FROM assembly_graphrecord r WHERE {here} AND r.kind = 'tool_call' AND r.taken_up_at IS NULL
    UNION
    SELECT r.id FROM assembly_graphrecord r WHERE {here} AND r.kind = 'tool_call' AND r.taken_up_at > %(position)s
), near AS MATERIALIZED (
    SELECT id FROM recent
    UNION {open_known}
    UNION {open_found_in_run}
"""
# A rank is looked at only where those before it leave places: a gate that is closed costs nothing but its planning.
_FURTHER = """), further AS MATERIALIZED (
    SELECT found.id FROM (
        {shared_of_run}
        UNION {shared_elsewhere}
        UNION {open_said}
        UNION {open_found}
    ) found
    WHERE (SELECT count(*) FROM near) < %(candidates)s
), closed AS MATERIALIZED (
    SELECT found.id FROM (
        {any_known}
        UNION {any_said}
        UNION {any_found}
    ) found
    WHERE (SELECT count(*) FROM (SELECT id FROM near UNION SELECT id FROM further) open) < %(candidates)s
), elsewhere AS MATERIALIZED (
    SELECT found.id FROM (
        SELECT r.id FROM assembly_graphrecord r
        WHERE {here} AND r.kind IN (
                'message', 'tool_artifact', 'tool_memory', 'skill_state', 'checkpoint', 'run_finished'
            ) AND r.branch <> ALL(%(branches)s::text[])
        ORDER BY r.seen_at DESC, r.name, r.kind LIMIT %(candidates)s
    ) found
    WHERE (
        SELECT count(*) FROM (SELECT id FROM near UNION SELECT id FROM further UNION SELECT id FROM closed) nearer
    ) < %(candidates)s
"""
_RANKED = """{steps}, {near}
{further}), offered AS MATERIALIZED (
    {offered}
), grouped AS MATERIALIZED (
    SELECT r.id, r.kind, r.name, r.seen_at, COALESCE(s.distance, %(far)s) AS distance,
        place.is_ours OR place.is_shared AS is_within,
        CASE
            WHEN NOT (place.is_ours OR place.is_shared) OR NOT {is_open} THEN 5
            WHEN r.name = ANY(%(named)s) OR (
                r.kind IN ('tool_artifact', 'tool_call', 'run_finished')
                AND COALESCE(r.settled_at > %(position)s, true)
            ) THEN 0
            WHEN r.kind = 'message' THEN CASE WHEN r.id IN (SELECT id FROM recent) THEN 1 ELSE 4 END
            WHEN r.kind = 'tool_artifact' AND r.run <> %(run)s THEN 4
            WHEN place.is_ours THEN 2
            ELSE 3
        END AS rank
    FROM offered CROSS JOIN LATERAL (
        SELECT * FROM assembly_graphrecord r
        WHERE r.id = offered.id AND r.workspace_id = %(workspace)s AND NOT {is_taken_up} OFFSET 0
    ) r LEFT JOIN step s ON s.branch = r.branch CROSS JOIN LATERAL (
        SELECT s.branch IS NOT NULL AND {is_before} AS is_ours, {is_shared} AS is_shared
    ) place
), chosen AS (
    SELECT id, is_within, rank FROM grouped
    ORDER BY rank, distance, seen_at DESC, name, kind
    LIMIT GREATEST(%(candidates)s, (SELECT count(*) FROM grouped WHERE rank = 0))
)
SELECT id, is_within, rank FROM chosen
"""


def _of_lineage(condition: str) -> str:
    return _OF_LINEAGE.replace("{condition}", condition)


def _shared(condition: str) -> str:
    return _SHARED.replace("{condition}", condition)


def _ranked(offered: str, *, further: str = "") -> str:
    """Write the query that ranks what is offered."""
    return filled(_RANKED, steps=STEPS, near=_NEAR, further=further, offered=offered, **_STREAMS)


_OPEN = " AND {is_before} AND {is_open}"
_STREAMS = {
    "open_known": _of_lineage("{known}" + _OPEN),
    "open_found_in_run": _of_lineage("r.kind = 'tool_artifact' AND r.run = %(run)s" + _OPEN),
    "shared_of_run": _shared("(r.kind <> 'tool_artifact' OR r.run = %(run)s)"),
    "shared_elsewhere": _shared("r.kind = 'tool_artifact' AND r.run <> %(run)s"),
    "open_said": _of_lineage("r.kind = 'message'" + _OPEN),
    "open_found": _of_lineage("r.kind = 'tool_artifact'" + _OPEN),
    "any_known": _of_lineage("{known}"),
    "any_said": _of_lineage("r.kind = 'message'"),
    "any_found": _of_lineage("r.kind = 'tool_artifact'"),
}
OF_NEAR = _ranked("SELECT id FROM always UNION SELECT id FROM near")
"""Ranks what is named or protected, the latest messages, and what the lineage knows."""
OF_ALL = _ranked(
    """SELECT id FROM always UNION SELECT id FROM near UNION SELECT id FROM further
    UNION SELECT id FROM closed UNION SELECT id FROM elsewhere""",
    further=_FURTHER,
)
"""Ranks all, as long as places are left."""
