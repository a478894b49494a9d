"""Which workspaces have holds to settle, and erasures whose deadline has passed (PR-16, PR-17)."""

from django.db import migrations, models

from workspaces.postgresql.policies import look_across

# A write that began before a hold was lifted may keep a version after it was settled: then it is settled once more.
WITH_ENDED_HOLDS = """
SELECT DISTINCT h.workspace_id FROM workspaces_hold h
WHERE (h.lifted_at IS NOT NULL OR h.ends_at <= $1) AND (
    h.settled_at IS NULL OR EXISTS (
        SELECT FROM agentstate_keptversion k WHERE k.workspace_id = h.workspace_id AND k.hold_id = h.id
    )
)
"""
WITH_OVERDUE = """
SELECT DISTINCT workspace_id FROM privacy_erasurerequest
WHERE ended_at IS NULL AND due_on < $1 AND (reminded_on IS NULL OR reminded_on < $1)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("privacy", "0002_packages"),
        ("agentstate", "0005_holds_and_sweeps"),
    ]

    operations = [
        migrations.AddField(
            model_name="erasurerequest",
            name="reminded_on",
            field=models.DateField(null=True),
        ),
        migrations.AddIndex(
            model_name="erasurerequest",
            index=models.Index(
                condition=models.Q(("ended_at__isnull", True)),
                fields=["workspace", "due_on"],
                name="open_erasures_by_due_date",
            ),
        ),
        look_across(
            "lastro_with_ended_holds",
            takes="timestamptz",
            gives="TABLE (workspace_id uuid)",
            query=WITH_ENDED_HOLDS,
        ),
        look_across(
            "lastro_with_overdue_erasures",
            takes="date",
            gives="TABLE (workspace_id uuid)",
            query=WITH_OVERDUE,
        ),
    ]
