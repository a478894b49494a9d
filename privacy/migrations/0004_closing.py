"""The closing of a workspace is an erasure of all that it keeps (PL-5b)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("privacy", "0003_holds"), ("workspaces", "0011_closed")]
    operations = [
        migrations.AlterField(
            "erasurerequest",
            "target",
            models.CharField(
                choices=[
                    ("profile", "Profile"),
                    ("handle", "Handle"),
                    ("conversation", "Conversation"),
                    ("task", "Task"),
                    ("object", "Object"),
                    ("workspace", "Workspace"),
                ],
                max_length=12,
            ),
        )
    ]
