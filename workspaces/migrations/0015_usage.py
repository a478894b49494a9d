"""Numbers by the hour, and when each scheduled task ran last (CO-10, PL-11)."""

import django.db.models.deletion
from django.db import migrations, models

import workspaces.binding
from workspaces.postgresql.policies import isolate, look_across


class Migration(migrations.Migration):
    dependencies = [
        ("workspaces", "0014_sign_ins"),
    ]

    operations = [
        migrations.CreateModel(
            name="ScheduledRun",
            fields=[
                ("name", models.CharField(max_length=80, primary_key=True, serialize=False)),
                ("sent_at", models.DateTimeField(null=True)),
                ("began_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField()),
                ("is_done", models.BooleanField()),
                ("done_at", models.DateTimeField(null=True)),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="UsageHour",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("hour", models.DateTimeField()),
                ("kind", models.CharField(max_length=12)),
                ("name", models.CharField(max_length=256)),
                ("count", models.PositiveBigIntegerField()),
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
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "hour", "kind", "name"), name="one_number_per_hour"
                    )
                ],
            },
        ),
        isolate("workspaces_usagehour"),
        look_across(
            "lastro_with_old_usage",
            takes="timestamptz",
            gives="TABLE (workspace_id uuid)",
            query="SELECT DISTINCT workspace_id FROM workspaces_usagehour WHERE hour < $1",
        ),
    ]
