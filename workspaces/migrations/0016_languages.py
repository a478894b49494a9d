"""The language that each person reads pages and mails in (CO-11)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("workspaces", "0015_usage"),
    ]

    operations = [
        migrations.AddField(
            model_name="person",
            name="language",
            field=models.CharField(blank=True, default="", max_length=10),
        ),
    ]
