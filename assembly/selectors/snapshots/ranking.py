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

_IS_OPEN = """(
    r.visibility IN ('branch', 'conversation') OR COALESCE(r.promoted_at <= %(position)s, false)
    OR r.participant IN ('', %(participant)s) OR %(participant)s = ANY(r.shared_with)
    OR (%(is_resume)s AND r.kind = 'run_finished')
)"""
_RANKED = """
WITH step AS (
    SELECT * FROM unnest(%(branches)s::text[], %(distances)s::int[], %(ends)s::timestamptz[], %(end_names)s::text[])
        AS s(branch, distance, end_at, end_name)
), recent AS (
    SELECT said.id FROM step s CROSS JOIN LATERAL (
        SELECT r.id, r.placed_at, r.placed_name FROM assembly_graphrecord r
        WHERE r.workspace_id = %(workspace)s AND r.graph_id = %(graph)s AND r.branch = s.branch
            AND r.kind = 'message' AND r.position <= %(position)s AND r.erasure_id IS NULL
            AND (s.end_at IS NULL OR (r.placed_at, r.placed_name) <= (s.end_at, s.end_name))
            AND {is_open}
        ORDER BY r.placed_at DESC, r.placed_name DESC LIMIT %(recent)s
    ) said
    ORDER BY said.placed_at DESC, said.placed_name DESC LIMIT %(recent)s
), grouped AS MATERIALIZED (
    SELECT r.id, r.kind, r.name, r.seen_at, r.naive_tokens, r.naive_bytes, COALESCE(s.distance, %(far)s) AS distance,
        place.is_ours, place.is_ours OR place.is_shared AS is_within,
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
    FROM assembly_graphrecord r LEFT JOIN step s ON s.branch = r.branch CROSS JOIN LATERAL (
        SELECT s.branch IS NOT NULL
                AND (s.end_at IS NULL OR (r.placed_at, r.placed_name) <= (s.end_at, s.end_name)) AS is_ours,
            r.kind <> 'message'
                AND (r.visibility = 'conversation' OR COALESCE(r.shared_at <= %(position)s, false)) AS is_shared
    ) place
    WHERE r.workspace_id = %(workspace)s AND r.graph_id = %(graph)s AND r.position <= %(position)s
        AND r.kind = ANY(%(kinds)s) AND r.erasure_id IS NULL
        AND NOT (r.kind = 'tool_call' AND COALESCE(r.taken_up_at <= %(position)s, false))
), total AS (
    SELECT count(*) FILTER (WHERE is_within) AS ours, count(*) FILTER (WHERE NOT is_within) AS others,
        count(*) FILTER (WHERE rank = 0) AS always,
        COALESCE(sum(naive_tokens) FILTER (WHERE is_ours), 0) AS tokens,
        COALESCE(sum(naive_bytes) FILTER (WHERE is_ours), 0) AS bytes
    FROM grouped
), chosen AS (
    SELECT id, is_within FROM grouped
    ORDER BY rank, distance, seen_at DESC, name, kind
    LIMIT GREATEST(%(candidates)s, (SELECT always FROM total))
), erased AS (
    SELECT count(*) AS erased FROM assembly_graphrecord r
    WHERE r.workspace_id = %(workspace)s AND r.erasure_id IS NOT NULL AND r.graph_id = %(graph)s
        AND r.position <= %(position)s AND r.kind = ANY(%(kinds)s)
)
SELECT ours, others, tokens, bytes, erased, id, is_within
FROM total CROSS JOIN erased LEFT JOIN chosen ON true
""".replace("{is_open}", _IS_OPEN)


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
