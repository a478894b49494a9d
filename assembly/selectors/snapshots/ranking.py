"""The order in which candidates are gathered, asked of the clear columns: `gathering.Ranks` in SQL (CA-11)."""

from collections.abc import Mapping
from typing import Any

import msgspec
from django.db import connection

from assembly.selectors.graphs import SeenGraph
from assembly.selectors.snapshots.naming import Named
from lastro.assembly.graph import SELECTABLE
from lastro.assembly.policy import Policy
from lastro.assembly.snapshot import AssemblyRequest, Lineage, Reason, Size

_PARTS = {
    "here": """r.workspace_id = %(workspace)s AND r.graph_id = %(graph)s AND r.erasure_id IS NULL
            AND r.position <= %(position)s""",
    "is_open": """(
                r.visibility IN ('branch', 'conversation') OR COALESCE(r.promoted_at <= %(position)s, false)
                OR r.participant IN ('', %(participant)s) OR %(participant)s = ANY(r.shared_with)
                OR (%(is_resume)s AND r.kind = 'run_finished')
            )""",
    "is_before": "(s.end_at IS NULL OR (r.placed_at, r.placed_name) <= (s.end_at, s.end_name))",
    "is_shared": """r.kind <> 'message'
            AND (r.visibility = 'conversation' OR COALESCE(r.shared_at <= %(position)s, false))""",
    "is_taken_up": "(r.kind = 'tool_call' AND COALESCE(r.taken_up_at <= %(position)s, false))",
    "known": "r.kind IN ('tool_memory', 'skill_state', 'checkpoint', 'run_finished')",
    "selectable": """r.kind IN (
            'message', 'tool_artifact', 'tool_call', 'tool_memory', 'skill_state', 'checkpoint', 'run_finished'
        )""",
}


def _of_lineage(condition: str) -> str:
    """Ask for the first of what fulfils a condition, of the nearest branches: each from an index, in its order."""
    return f"""(
    SELECT said.id FROM step s CROSS JOIN LATERAL (
        SELECT r.id, r.seen_at, r.name, r.kind FROM assembly_graphrecord r
        WHERE {{here}} AND r.branch = s.branch AND {condition}
        ORDER BY r.seen_at DESC, r.name, r.kind LIMIT %(candidates)s
    ) said
    ORDER BY s.distance, said.seen_at DESC, said.name, said.kind LIMIT %(candidates)s
)"""


def _shared(condition: str) -> str:
    """Ask for the first of what is shared from beyond the lineage and fulfils a condition."""
    return f"""(
    SELECT r.id FROM assembly_graphrecord r LEFT JOIN step s ON s.branch = r.branch
    WHERE {{here}} AND r.kind IN (
            'tool_artifact', 'tool_call', 'tool_memory', 'skill_state', 'checkpoint', 'run_finished'
        ) AND (r.visibility = 'conversation' OR r.shared_at IS NOT NULL)
        AND {{is_shared}} AND {{is_open}} AND {condition} AND (s.branch IS NULL OR NOT {{is_before}})
    ORDER BY COALESCE(s.distance, %(far)s), r.seen_at DESC, r.name, r.kind LIMIT %(candidates)s
)"""


def _whole(query: str) -> str:
    for name, part in _PARTS.items():
        query = query.replace(f"{{{name}}}", part)
    return query


# What is offered holds the first of each rank, so the rank of what lies behind them is asked of nobody. A rank is looked
# at only where those before it leave places: a gate that is closed costs nothing. Lists of types are written out, since
# the indexes are partial.
_RANKED = _whole(f"""
WITH step AS MATERIALIZED (
    SELECT * FROM unnest(%(branches)s::text[], %(distances)s::int[], %(ends)s::timestamptz[], %(end_names)s::text[])
        AS s(branch, distance, end_at, end_name)
), recent AS MATERIALIZED (
    SELECT said.id FROM step s CROSS JOIN LATERAL (
        SELECT r.id, r.seen_at, r.name FROM assembly_graphrecord r
        WHERE {{here}} AND r.branch = s.branch AND r.kind = 'message' AND {{is_before}} AND {{is_open}}
        ORDER BY r.seen_at DESC, r.name DESC LIMIT %(recent)s
    ) said
    ORDER BY said.seen_at DESC, said.name DESC LIMIT %(recent)s
), always AS MATERIALIZED (
    SELECT found.id FROM unnest(%(kinds)s::text[]) AS k(kind) CROSS JOIN unnest(%(named)s::text[]) AS n(name)
        CROSS JOIN LATERAL (
            SELECT r.id FROM assembly_graphrecord r
            WHERE {{here}} AND r.kind = k.kind AND r.name = n.name OFFSET 0
        ) found
    UNION
    SELECT r.id FROM assembly_graphrecord r
    WHERE {{here}} AND r.kind IN ('tool_artifact', 'run_finished') AND r.settled_at IS NULL
    UNION
    SELECT r.id FROM assembly_graphrecord r
    WHERE {{here}} AND r.kind IN ('tool_artifact', 'run_finished') AND r.settled_at > %(position)s
    UNION
    SELECT r.id FROM assembly_graphrecord r WHERE {{here}} AND r.kind = 'tool_call' AND r.taken_up_at IS NULL
    UNION
    SELECT r.id FROM assembly_graphrecord r WHERE {{here}} AND r.kind = 'tool_call' AND r.taken_up_at > %(position)s
), near AS MATERIALIZED (
    SELECT id FROM recent
    UNION {_of_lineage("{known} AND {is_before} AND {is_open}")}
    UNION {_of_lineage("r.kind = 'tool_artifact' AND r.run = %(run)s AND {is_before} AND {is_open}")}
), further AS MATERIALIZED (
    SELECT found.id FROM (
        {_shared("(r.kind <> 'tool_artifact' OR r.run = %(run)s)")}
        UNION {_shared("r.kind = 'tool_artifact' AND r.run <> %(run)s")}
        UNION {_of_lineage("r.kind = 'message' AND {is_before} AND {is_open}")}
        UNION {_of_lineage("r.kind = 'tool_artifact' AND {is_before} AND {is_open}")}
    ) found
    WHERE (SELECT count(*) FROM near) < %(candidates)s
), closed AS MATERIALIZED (
    SELECT found.id FROM (
        {_of_lineage("{known}")}
        UNION {_of_lineage("r.kind = 'message'")}
        UNION {_of_lineage("r.kind = 'tool_artifact'")}
    ) found
    WHERE (SELECT count(*) FROM (SELECT id FROM near UNION SELECT id FROM further) open) < %(candidates)s
), elsewhere AS MATERIALIZED (
    SELECT found.id FROM (
        SELECT r.id FROM assembly_graphrecord r
        WHERE {{here}} AND r.kind IN (
                'message', 'tool_artifact', 'tool_memory', 'skill_state', 'checkpoint', 'run_finished'
            ) AND r.branch <> ALL(%(branches)s::text[])
        ORDER BY r.seen_at DESC, r.name, r.kind LIMIT %(candidates)s
    ) found
    WHERE (
        SELECT count(*) FROM (SELECT id FROM near UNION SELECT id FROM further UNION SELECT id FROM closed) nearer
    ) < %(candidates)s
), offered AS MATERIALIZED (
    SELECT id FROM always UNION SELECT id FROM near UNION SELECT id FROM further
    UNION SELECT id FROM closed UNION SELECT id FROM elsewhere
), grouped AS MATERIALIZED (
    SELECT r.id, r.kind, r.name, r.seen_at, COALESCE(s.distance, %(far)s) AS distance,
        place.is_ours OR place.is_shared AS is_within,
        CASE
            WHEN NOT (place.is_ours OR place.is_shared) OR NOT {{is_open}} THEN 5
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
        WHERE r.id = offered.id AND r.workspace_id = %(workspace)s AND NOT {{is_taken_up}} OFFSET 0
    ) r LEFT JOIN step s ON s.branch = r.branch CROSS JOIN LATERAL (
        SELECT s.branch IS NOT NULL AND {{is_before}} AS is_ours, {{is_shared}} AS is_shared
    ) place
), chosen AS (
    SELECT id, is_within FROM grouped
    ORDER BY rank, distance, seen_at DESC, name, kind
    LIMIT GREATEST(%(candidates)s, (SELECT count(*) FROM grouped WHERE rank = 0))
), counted AS (
    SELECT s.branch IS NOT NULL AND {{is_before}} AS is_ours, count(*) AS records,
        count(*) FILTER (WHERE {{is_shared}}) AS shared, sum(r.naive_tokens) AS tokens, sum(r.naive_bytes) AS bytes
    FROM assembly_graphrecord r LEFT JOIN step s ON s.branch = r.branch
    WHERE {{here}} AND {{selectable}} AND NOT {{is_taken_up}}
    GROUP BY 1
), total AS (
    SELECT COALESCE(sum(CASE WHEN is_ours THEN records ELSE shared END), 0) AS ours,
        COALESCE(sum(records - shared) FILTER (WHERE NOT is_ours), 0) AS others,
        COALESCE(sum(tokens) FILTER (WHERE is_ours), 0) AS tokens,
        COALESCE(sum(bytes) FILTER (WHERE is_ours), 0) AS bytes
    FROM counted
), erased AS (
    SELECT count(*) AS erased FROM assembly_graphrecord r
    WHERE r.workspace_id = %(workspace)s AND r.erasure_id IS NOT NULL AND r.graph_id = %(graph)s
        AND r.position <= %(position)s AND {{selectable}}
)
SELECT ours, others, tokens, bytes, erased, id, is_within
FROM total CROSS JOIN erased LEFT JOIN chosen ON true
""")


class Ranked(msgspec.Struct, frozen=True):
    """The rows within the policy's bound, how many lie beyond by reason, and what a naive transcript takes."""

    ids: tuple[int, ...]
    counted: Mapping[Reason, int]
    naive: Size


def ranked(seen: SeenGraph, request: AssemblyRequest, policy: Policy, named: Named) -> Ranked:
    """Rank what a graph holds and part it at the policy's bound, without opening a record (CA-11)."""
    with connection.cursor() as cursor:
        cursor.execute(_RANKED, _asked(seen, request, policy, named))
        rows = cursor.fetchall()
    ours, others, tokens, size, erased = (int(count) for count in rows[0][:5])
    chosen = [(id, is_within) for *_, id, is_within in rows if id is not None]
    within = sum(is_within for _, is_within in chosen)
    beyond: dict[Reason, int] = {
        "candidate_limit": ours - within,
        "other_branch": others - (len(chosen) - within),
        "erased": erased,
    }
    return Ranked(
        ids=tuple(id for id, _ in chosen),
        counted={reason: count for reason, count in beyond.items() if count},
        naive=Size(tokens, size),
    )


def _asked(seen: SeenGraph, request: AssemblyRequest, policy: Policy, named: Named) -> dict[str, Any]:
    return {
        **_steps(named.lineage),
        "workspace": seen.workspace.id,
        "graph": seen.row.id,
        "position": seen.position,
        "kinds": [kind.wire for kind in SELECTABLE],
        "participant": request.participant,
        "run": request.run or "",
        "is_resume": request.kind == "parent_resume",
        "named": sorted(named.ids),
        "recent": policy.recent_messages + 1,
        "candidates": policy.candidates,
    }


def _steps(lineage: Lineage) -> dict[str, Any]:
    ends = [step.until or (None, None) for step in lineage.values()]
    return {
        "branches": [step.branch for step in lineage.values()],
        "distances": [step.distance for step in lineage.values()],
        "ends": [at for at, _ in ends],
        "end_names": [name for _, name in ends],
        "far": len(lineage) + 1,
    }
