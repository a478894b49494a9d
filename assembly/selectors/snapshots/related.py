"""The records that say something of those chosen: found by their links, whatever the graph holds (CA-5, CA-13)."""

from collections.abc import Sequence

import msgspec
from django.db import connection

from assembly.models import GraphRecord
from assembly.selectors.graphs import SeenGraph

# What opening a record takes, and what its columns say of it: most of a row is for the ranking alone.
_OPENED = ", ".join(
    f"r.{column}"
    for column in (
        "id",
        "workspace_id",
        "graph_id",
        "kind",
        "name",
        "position",
        "visibility",
        "state",
        "recorded_at",
        "placed_at",
        "placed_name",
        "settled_at",
        "taken_up_at",
        "expires_at",
        "body",
    )
)
# A memory leads to what replaces it, and a settlement to what was kept: that way only, over as many as there are.
# The workspace is named beside what row-level security says, which alone is evaluated for each row again. A limit or
# an offset keeps the planner at looking up a few links each, which it does not see in young tables.
_RELATED = """
WITH RECURSIVE newer(id) AS (
    SELECT unnest(%(chosen)s::bigint[])
    UNION
    SELECT further.id FROM newer CROSS JOIN LATERAL (
        SELECT l.record_id AS id
        FROM assembly_link l CROSS JOIN LATERAL (
            SELECT r.kind FROM assembly_graphrecord r
            WHERE r.id = l.record_id AND r.workspace_id = %(workspace)s OFFSET 0
        ) r
        WHERE l.target_id = newer.id AND l.member IN ('supersedes', 'memories') AND l.position <= %(position)s
            AND l.workspace_id = %(workspace)s AND r.kind <> 'checkpoint'
        UNION ALL
        SELECT l.target_id FROM assembly_link l
        WHERE l.record_id = newer.id AND l.member IN ('memory', 'kept') AND l.workspace_id = %(workspace)s
    ) further
), last_answer AS (
    SELECT found.id FROM unnest(%(chosen)s::bigint[]) AS c(id)
        CROSS JOIN LATERAL (
            SELECT l.target_id FROM assembly_link l
            WHERE l.record_id = c.id AND l.member = 'call' AND l.workspace_id = %(workspace)s LIMIT 1
        ) asked
        CROSS JOIN LATERAL (
            SELECT r.id FROM assembly_link l CROSS JOIN LATERAL (
                SELECT * FROM assembly_graphrecord r
                WHERE r.id = l.record_id AND r.workspace_id = %(workspace)s OFFSET 0
            ) r
            WHERE l.target_id = asked.target_id AND l.member = 'call' AND l.position <= %(position)s
                AND l.workspace_id = %(workspace)s AND r.kind = 'tool_artifact' AND r.erasure_id IS NULL
            ORDER BY r.recorded_at DESC, r.name DESC LIMIT 1
        ) found
), last_state AS (
    SELECT found.id FROM assembly_graphrecord s CROSS JOIN LATERAL (
        SELECT r.id FROM assembly_graphrecord r
        WHERE r.workspace_id = %(workspace)s AND r.graph_id = %(graph)s AND r.kind = 'skill_state'
            AND r.position <= %(position)s AND r.erasure_id IS NULL
            AND (r.participant, r.run, r.branch) = (s.participant, s.run, s.branch)
        ORDER BY r.recorded_at DESC, r.name DESC LIMIT 1
    ) found
    WHERE s.id = ANY(%(chosen)s) AND s.kind = 'skill_state' AND s.workspace_id = %(workspace)s
), standing AS (
    SELECT id FROM newer UNION SELECT id FROM last_answer UNION SELECT id FROM last_state
), every AS (
    SELECT id FROM standing
    UNION
    SELECT beside.id FROM standing CROSS JOIN LATERAL (
        SELECT l.record_id AS id FROM assembly_link l
        WHERE l.target_id = standing.id AND l.member IN ('record', 'conflicts_with')
            AND l.position <= %(position)s AND l.workspace_id = %(workspace)s
        UNION ALL
        SELECT l.target_id FROM assembly_link l
        WHERE l.record_id = standing.id AND l.member = 'call' AND l.workspace_id = %(workspace)s
    ) beside
), shown AS (
    SELECT {columns}, r.participant FROM every CROSS JOIN LATERAL (
        SELECT * FROM assembly_graphrecord r WHERE r.id = every.id AND r.workspace_id = %(workspace)s OFFSET 0
    ) r
    WHERE r.position <= %(position)s AND r.erasure_id IS NULL
)
SELECT * FROM shown
UNION ALL
SELECT {columns}, r.participant FROM assembly_graphrecord r
WHERE r.workspace_id = %(workspace)s AND r.graph_id = %(graph)s AND r.kind = 'participant'
    AND r.name IN (SELECT participant FROM shown UNION SELECT %(participant)s)
    AND r.position <= %(position)s AND r.erasure_id IS NULL
""".replace("{columns}", _OPENED)
_SOURCES = """
SELECT r.name, r.tool, r.privacy, r.erasure_id IS NOT NULL
FROM unnest(%(memories)s::bigint[]) AS m(id) CROSS JOIN LATERAL (
    SELECT r.* FROM assembly_link l JOIN assembly_graphrecord r ON r.id = l.target_id
    WHERE l.record_id = m.id AND l.member = 'artifacts'
        AND l.workspace_id = %(workspace)s AND r.workspace_id = %(workspace)s
    OFFSET 0
) r
"""


class SourceRow(msgspec.Struct, frozen=True):
    """What the columns of an artifact say to the memories that derive from it."""

    tool: str
    privacy: str
    is_erased: bool


def related_rows(seen: SeenGraph, chosen: Sequence[int], *, participant: str) -> list[GraphRecord]:
    """Give the chosen rows with all that speaks of them, and the participants that made them."""
    asked = {
        "workspace": seen.workspace.id,
        "graph": seen.row.id,
        "position": seen.position,
        "participant": participant,
        "chosen": list(chosen),
    }
    return list(GraphRecord.objects.raw(_RELATED, asked))


def sources_of(seen: SeenGraph, memories: Sequence[int]) -> dict[str, SourceRow]:
    """Give the artifacts that some memories derive from, by name."""
    with connection.cursor() as cursor:
        cursor.execute(_SOURCES, {"workspace": seen.workspace.id, "memories": list(memories)})
        return {name: SourceRow(*columns) for name, *columns in cursor.fetchall()}
