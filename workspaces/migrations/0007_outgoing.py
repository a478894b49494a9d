"""Signed documents that are to leave the database (PR-15b, PR-22)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0006_change_requests")]
    operations = [
        migrations.CreateModel(
            name="Outgoing",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=20)),
                ("name", models.CharField(max_length=200)),
                ("document", models.JSONField()),
                ("made_at", models.DateTimeField()),
                ("attempts", models.PositiveIntegerField(default=0)),
            ],
            options={"default_permissions": ()},
        ),
    ]
