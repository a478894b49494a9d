"""A workspace can be closed (PL-5b)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0010_key_generations")]
    operations = [migrations.AddField("workspace", "closed_at", models.DateTimeField(blank=True, null=True))]
