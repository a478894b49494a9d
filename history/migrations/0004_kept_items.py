"""What a legal hold keeps of sessions (PR-16)."""

import django.db.models.deletion
from django.db import migrations, models

import workspaces.binding
from workspaces.postgresql.policies import isolate


class Migration(migrations.Migration):
    dependencies = [
        ("history", "0003_sweeps"),
        ("workspaces", "0011_closed"),
    ]

    operations = [
        migrations.CreateModel(
            name="KeptItem",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("session_id", models.UUIDField()),
                ("source_id", models.UUIDField()),
                ("conversation_hash", models.BinaryField(max_length=32, null=True)),
                ("hash_key_id", models.UUIDField()),
                ("handle_id", models.UUIDField(null=True)),
                ("data_key_id", models.UUIDField()),
                ("item_id", models.UUIDField()),
                ("kind", models.CharField(max_length=12)),
                ("position", models.PositiveIntegerField()),
                ("recorded_at", models.DateTimeField(null=True)),
                ("body", models.BinaryField()),
                ("kept_at", models.DateTimeField()),
                (
                    "hold",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="workspaces.hold",
                    ),
                ),
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
                "indexes": [
                    models.Index(fields=["workspace", "hold", "id"], name="items_of_a_hold"),
                    models.Index(fields=["workspace", "conversation_hash"], name="kept_of_a_conversation"),
                ],
            },
        ),
        isolate("history_keptitem"),
    ]
