"""Rows of another workspace are refused to every query of the application's role (PL-1)."""

from django.db import migrations

from workspaces.postgresql.policies import isolate, look_across

# Due, or written under an older version of the object types than the live one.
WITH_DUE_STATES = """
SELECT h.workspace_id FROM workspaces_documenthead h JOIN workspaces_document d ON d.id = h.document_id
WHERE h.kind = 'object-types' AND (
    EXISTS (SELECT FROM agentstate_state s WHERE s.workspace_id = h.workspace_id AND s.due_at <= $1)
    OR EXISTS (SELECT FROM agentstate_state s WHERE s.workspace_id = h.workspace_id AND s.types_document < d.version)
)
"""


class Migration(migrations.Migration):
    dependencies = [("agentstate", "0001_initial"), ("workspaces", "0003_row_level_security")]
    operations = [
        isolate("agentstate_state"),
        look_across(
            "lastro_with_due_states",
            takes="timestamptz",
            gives="TABLE (workspace_id uuid)",
            query=WITH_DUE_STATES,
        ),
    ]
