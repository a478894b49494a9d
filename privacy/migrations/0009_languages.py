"""The language of the page in a subject package: that of whoever asked for it (CO-11, PR-18)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("privacy", "0008_graphs"),
    ]

    operations = [
        migrations.AddField(
            model_name="packagerun",
            name="language",
            field=models.CharField(blank=True, default="", max_length=10),
        ),
    ]
