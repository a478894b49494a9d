"""Names in the blob store that no payload vouches for, instead of a state of the payload (CA-4, PR-20)."""

import django.db.models.deletion
from django.db import migrations, models

import workspaces.binding
from workspaces.postgresql.policies import isolate, look_across

WITH_LOOSE_BLOBS = "SELECT DISTINCT b.workspace_id FROM assembly_looseblob b WHERE b.due_at <= $1"


class Migration(migrations.Migration):
    dependencies = [("assembly", "0002_row_level_security"), ("workspaces", "0013_due_checkpoints")]

    operations = [
        migrations.RemoveField(model_name="payload", name="began_at"),
        migrations.AlterField(
            model_name="payload",
            name="state",
            field=models.CharField(
                choices=[("awaited", "Awaited"), ("stored", "Stored")], default="awaited", max_length=7
            ),
        ),
        migrations.CreateModel(
            name="LooseBlob",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(db_collation="C", max_length=200)),
                ("due_at", models.DateTimeField()),
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
                "indexes": [models.Index(fields=["workspace", "due_at"], name="loose_blobs_due")],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "name"), name="a_blob_is_loose_once")
                ],
            },
        ),
        isolate("assembly_looseblob"),
        look_across(
            "lastro_with_loose_blobs",
            takes="timestamptz",
            gives="TABLE (workspace_id uuid)",
            query=WITH_LOOSE_BLOBS,
        ),
    ]
