"""What the sweep removes and what it notes (PR-20, HI-23, HI-25)."""

import django.db.models.deletion
from django.db import migrations, models

import workspaces.binding
from workspaces.postgresql.policies import isolate, look_across

# Due, or last touched under an older retention than the live one; with items that expired before their session, or
# that are removed; or with notes of sweeps whose time has passed.
WITH_DUE_HISTORY = """
SELECT h.workspace_id FROM workspaces_documenthead h JOIN workspaces_document d ON d.id = h.document_id
WHERE h.kind = 'retention' AND (
    EXISTS (SELECT FROM history_session s WHERE s.workspace_id = h.workspace_id AND s.due_at <= $1)
    OR EXISTS (
        SELECT FROM history_session s WHERE s.workspace_id = h.workspace_id AND s.retention_document < d.version
    )
    OR EXISTS (SELECT FROM history_item i WHERE i.workspace_id = h.workspace_id AND i.expires_at <= $1)
    OR EXISTS (SELECT FROM history_item i WHERE i.workspace_id = h.workspace_id AND i.kind = 'removal')
    OR EXISTS (
        SELECT FROM history_historysweep r
        WHERE r.workspace_id = h.workspace_id AND r.ended_at <= $1 - interval '30 days'
    )
)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("history", "0002_row_level_security"),
        ("workspaces", "0011_closed"),
    ]

    operations = [
        migrations.CreateModel(
            name="HistorySweep",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("began_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField()),
                ("removed", models.JSONField(default=dict)),
                ("damaged", models.PositiveIntegerField(default=0)),
                ("backlog", models.PositiveIntegerField(default=0)),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        default=workspaces.binding.bound_workspace_id,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="workspaces.workspace",
                    ),
                ),
            ],
            options={
                "abstract": False,
                "default_permissions": (),
            },
        ),
        migrations.AddField(
            model_name="item",
            name="is_swept",
            field=models.BooleanField(default=False),
        ),
        migrations.AddIndex(
            model_name="item",
            index=models.Index(
                condition=models.Q(("kind", "removal")), fields=["workspace", "session"], name="removals"
            ),
        ),
        migrations.AddIndex(
            model_name="historysweep",
            index=models.Index(fields=["workspace", "-ended_at"], name="history_sweep_newest"),
        ),
        isolate("history_historysweep"),
        look_across(
            "lastro_with_due_history",
            takes="timestamptz",
            gives="TABLE (workspace_id uuid)",
            query=WITH_DUE_HISTORY,
        ),
    ]
