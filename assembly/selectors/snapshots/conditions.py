"""What queries about a graph have in common: what is there at a position, and what of it is whose."""

_CONDITIONS = {
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

STEPS = """
WITH step AS MATERIALIZED (
    SELECT * FROM unnest(%(branches)s::text[], %(distances)s::int[], %(ends)s::timestamptz[], %(end_names)s::text[])
        AS s(branch, distance, end_at, end_name)
)
"""
"""The branches of a lineage, each with how far up it is and where it ends."""


def filled(query: str, **parts: str) -> str:
    """Put parts, and the conditions in them, into a query in place of their names in braces."""
    for name, part in (*parts.items(), *_CONDITIONS.items()):
        query = query.replace("{" + name + "}", part)
    return query
