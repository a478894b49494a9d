"""How much of a graph there is for a request, seen from an index alone: no row is read (CA-11, CA-16)."""

from collections.abc import Mapping
from typing import Any

import msgspec
from django.db import connection

from assembly.selectors.snapshots.conditions import STEPS, filled
from lastro.assembly.snapshot import Size

_COUNTED = filled(
    """
{steps}, counted AS (
    SELECT s.branch IS NOT NULL AND {is_before} AS is_ours, count(*) AS records,
        count(*) FILTER (WHERE {is_shared}) AS shared, sum(r.naive_tokens) AS tokens, sum(r.naive_bytes) AS bytes
    FROM assembly_graphrecord r LEFT JOIN step s ON s.branch = r.branch
    WHERE {here} AND {selectable} AND NOT {is_taken_up}
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
        AND r.position <= %(position)s AND {selectable}
)
SELECT ours, others, erased, tokens, bytes FROM total CROSS JOIN erased
""",
    steps=STEPS,
)


class Counted(msgspec.Struct, frozen=True):
    """How many records are of the lineage or shared, of other branches, and erased; what a naive transcript takes."""

    ours: int
    others: int
    erased: int
    naive: Size


def counted(asked: Mapping[str, Any]) -> Counted:
    """Count what a graph holds for a request, and sum up what its lineage takes."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNTED, asked)
        ours, others, erased, tokens, size = map(int, cursor.fetchone())
    return Counted(ours, others, erased, Size(tokens, size))
