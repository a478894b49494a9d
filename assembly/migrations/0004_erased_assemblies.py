"""An erasure that takes a part of a graph takes the assemblies that tell of it (PR-10)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("assembly", "0003_loose_blobs")]

    operations = [
        migrations.AddField(
            model_name="contextassembly",
            name="erasure_id",
            field=models.UUIDField(null=True),
        ),
        migrations.AddIndex(
            model_name="contextassembly",
            index=models.Index(
                condition=models.Q(("erasure_id__isnull", False)),
                fields=["workspace", "erasure_id"],
                name="assemblies_being_erased",
            ),
        ),
    ]
