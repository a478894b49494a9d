"""Where four eyes hold in a workspace (PR-2b)."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import workspaces.binding
from workspaces.postgresql.policies import isolate


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0003_row_level_security")]

    operations = [
        migrations.CreateModel(
            name="FourEyes",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kinds",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40), blank=True, default=list, size=None
                    ),
                ),
                ("version", models.PositiveIntegerField(default=0)),
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
                    models.UniqueConstraint(fields=("workspace",), name="one_four_eyes_per_workspace")
                ],
            },
        ),
        isolate("workspaces_foureyes"),
    ]
