"""The records that say something of those chosen: found by their links, whatever the graph holds (CA-5, CA-13)."""

from collections.abc import Sequence

import msgspec
from django.db import connection

from assembly.models import GraphRecord
from assembly.selectors.graphs import SeenGraph

# A memory leads to what replaces it, and a settlement to what was kept: that way only, over as many as there are.
_RELATED = """
WITH RECURSIVE newer(id) AS (
    SELECT unnest(%(chosen)s::bigint[])
    UNION
    SELECT further.id FROM newer CROSS JOIN LATERAL (
        SELECT l.record_id AS id
        FROM assembly_link l JOIN assembly_graphrecord r ON r.id = l.record_id
        WHERE l.target_id = newer.id AND l.member IN ('supersedes', 'memories')
            AND l.position <= %(position)s AND r.kind <> 'checkpoint'
        UNION ALL
        SELECT l.target_id FROM assembly_link l
        WHERE l.record_id = newer.id AND l.member IN ('memory', 'kept')
    ) further
), last_answer AS (
    SELECT found.id FROM unnest(%(chosen)s::bigint[]) AS c(id)
        JOIN assembly_link asked ON asked.record_id = c.id AND asked.member = 'call'
        CROSS JOIN LATERAL (
            SELECT r.id FROM assembly_link l JOIN assembly_graphrecord r ON r.id = l.record_id
            WHERE l.target_id = asked.target_id AND l.member = 'call' AND l.position <= %(position)s
                AND r.kind = 'tool_artifact' AND r.erasure_id IS NULL
            ORDER BY r.recorded_at DESC, r.name DESC LIMIT 1
        ) found
), last_state AS (
    SELECT found.id FROM assembly_graphrecord s CROSS JOIN LATERAL (
        SELECT r.id FROM assembly_graphrecord r
        WHERE r.graph_id = %(graph)s AND r.kind = 'skill_state' AND r.position <= %(position)s
            AND (r.participant, r.run, r.branch) = (s.participant, s.run, s.branch) AND r.erasure_id IS NULL
        ORDER BY r.recorded_at DESC, r.name DESC LIMIT 1
    ) found
    WHERE s.id = ANY(%(chosen)s) AND s.kind = 'skill_state'
), standing AS (
    SELECT id FROM newer UNION SELECT id FROM last_answer UNION SELECT id FROM last_state
), every AS (
    SELECT id FROM standing
    UNION
    SELECT l.record_id FROM standing JOIN assembly_link l ON l.target_id = standing.id
    WHERE l.member IN ('record', 'conflicts_with') AND l.position <= %(position)s
    UNION
    SELECT l.target_id FROM standing JOIN assembly_link l ON l.record_id = standing.id
    WHERE l.member = 'call'
), shown AS (
    SELECT r.* FROM assembly_graphrecord r
    WHERE r.id IN (SELECT id FROM every) AND r.position <= %(position)s AND r.erasure_id IS NULL
)
SELECT * FROM shown
UNION ALL
SELECT p.* FROM assembly_graphrecord p
WHERE p.workspace_id = %(workspace)s AND p.graph_id = %(graph)s AND p.kind = 'participant'
    AND p.name IN (SELECT participant FROM shown UNION SELECT %(participant)s)
    AND p.position <= %(position)s AND p.erasure_id IS NULL
"""
_SOURCES = """
SELECT r.name, r.tool, r.privacy, r.erasure_id IS NOT NULL
FROM assembly_link l JOIN assembly_graphrecord r ON r.id = l.target_id
WHERE l.record_id = ANY(%(memories)s) AND l.member = 'artifacts'
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


def sources_of(memories: Sequence[int]) -> dict[str, SourceRow]:
    """Give the artifacts that some memories derive from, by name."""
    with connection.cursor() as cursor:
        cursor.execute(_SOURCES, {"memories": list(memories)})
        return {name: SourceRow(*columns) for name, *columns in cursor.fetchall()}
