"""The keys that sign receipts and checkpoints (PR-20b)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0004_four_eyes")]
    operations = [
        migrations.CreateModel(
            name="SigningKey",
            fields=[
                ("id", models.CharField(editable=False, max_length=32, primary_key=True, serialize=False)),
                ("public_key", models.BinaryField(max_length=32)),
                ("wrapped", models.BinaryField(max_length=80)),
                ("created_at", models.DateTimeField()),
                ("retired_at", models.DateTimeField(null=True)),
            ],
            options={"default_permissions": ()},
        ),
        migrations.AddConstraint(
            model_name="signingkey",
            constraint=models.UniqueConstraint(
                condition=models.Q(("retired_at", None)),
                fields=("retired_at",),
                name="one_signing_key_at_a_time",
                nulls_distinct=False,
            ),
        ),
    ]
