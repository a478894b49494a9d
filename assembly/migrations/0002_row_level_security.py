"""Rows of another workspace are refused (PL-1); no new name under a replaced hash key (PL-12); what is due (PR-20)."""

from django.db import migrations

from workspaces.postgresql.policies import isolate, look_across

TABLES = (
    "graph",
    "graphperson",
    "graphrecord",
    "link",
    "payload",
    "contextassembly",
    "policydecision",
    "graphsweep",
)
GUARD = """
CREATE TRIGGER named_by_the_newest BEFORE INSERT ON assembly_graph
    FOR EACH ROW EXECUTE FUNCTION lastro_named_by_the_newest();
"""
NO_GUARD = "DROP TRIGGER named_by_the_newest ON assembly_graph;"

WITH_DUE_GRAPHS = """
SELECT h.workspace_id FROM workspaces_documenthead h JOIN workspaces_document d ON d.id = h.document_id
WHERE h.kind = 'retention' AND (
    EXISTS (SELECT FROM assembly_graph g WHERE g.workspace_id = h.workspace_id AND g.due_at <= $1)
    OR EXISTS (
        SELECT FROM assembly_graph g WHERE g.workspace_id = h.workspace_id AND g.retention_document < d.version
    )
    OR EXISTS (SELECT FROM assembly_graphrecord r WHERE r.workspace_id = h.workspace_id AND r.expires_at <= $1)
    OR EXISTS (SELECT FROM assembly_contextassembly a WHERE a.workspace_id = h.workspace_id AND a.expires_at <= $1)
    OR EXISTS (
        SELECT FROM assembly_contextassembly a WHERE a.workspace_id = h.workspace_id AND a.trace_expires_at <= $1
    )
    OR EXISTS (
        SELECT FROM assembly_graphsweep s
        WHERE s.workspace_id = h.workspace_id AND s.ended_at <= $1 - interval '30 days'
    )
)
"""


class Migration(migrations.Migration):
    dependencies = [("assembly", "0001_initial"), ("workspaces", "0012_hash_keys")]

    operations = [
        *(isolate(f"assembly_{table}") for table in TABLES),
        migrations.RunSQL(GUARD, NO_GUARD),
        look_across(
            "lastro_with_due_graphs",
            takes="timestamptz",
            gives="TABLE (workspace_id uuid)",
            query=WITH_DUE_GRAPHS,
        ),
    ]
