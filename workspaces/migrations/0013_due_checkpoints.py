"""The database says of which audit chains a checkpoint is due, so that no restart makes one later or twice (PR-22)."""

from django.db import migrations, models

from workspaces.postgresql.policies import look_across


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0012_hash_keys")]
    operations = [
        *(
            migrations.AddField(head, "checkpoint_at", models.DateTimeField(null=True))
            for head in ("audithead", "deploymentaudithead")
        ),
        look_across(
            "lastro_with_due_checkpoints",
            takes="timestamptz, interval",
            gives="TABLE (workspace_id uuid)",
            query="SELECT workspace_id FROM workspaces_audithead"
            " WHERE checkpoint_at IS NULL OR checkpoint_at <= $1 - $2 OR checkpoint_at >= $1 + $2",
        ),
    ]
