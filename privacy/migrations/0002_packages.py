"""Subject packages: their runs and their sealed chunks, each kept to its workspace (PR-18, PR-19, PL-1)."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import workspaces.binding
from workspaces.postgresql.policies import isolate, look_across

TO_BUILD = """
SELECT DISTINCT workspace_id FROM privacy_packagerun
WHERE status IN ('waiting', 'building') AND (claimed_until IS NULL OR claimed_until < $1)
"""
TO_SWEEP = """
SELECT workspace_id FROM privacy_packagerun WHERE status = 'ready' AND expires_at <= $1
UNION
SELECT workspace_id FROM privacy_packagerun WHERE status IN ('failed', 'expired', 'revoked') AND chunks > 0
"""
OF_LINK = "SELECT workspace_id FROM privacy_packagerun WHERE token_hash = $1 AND status = 'ready'"


class Migration(migrations.Migration):
    dependencies = [
        ("privacy", "0001_erasure"),
        ("workspaces", "0009_barriers"),
    ]

    operations = [
        migrations.CreateModel(
            name="PackageRun",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("asked_by", models.CharField(max_length=120)),
                ("reason", models.TextField(blank=True)),
                ("asked_at", models.DateTimeField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("building", "Building"),
                            ("ready", "Ready"),
                            ("failed", "Failed"),
                            ("expired", "Expired"),
                            ("revoked", "Revoked"),
                        ],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("claimed_until", models.DateTimeField(null=True)),
                ("step", models.CharField(blank=True, max_length=40)),
                ("data_key_id", models.UUIDField(null=True)),
                ("chunks", models.PositiveIntegerField(default=0)),
                ("size_bytes", models.PositiveBigIntegerField(default=0)),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("files", models.JSONField(default=list)),
                ("built_at", models.DateTimeField(null=True)),
                ("expires_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("link", models.PositiveIntegerField(default=0)),
                ("token_hash", models.BinaryField(max_length=32, null=True)),
                ("downloads", models.PositiveIntegerField(default=0)),
                (
                    "profile",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="workspaces.profile",
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
            },
        ),
        migrations.CreateModel(
            name="PackageChunk",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("index", models.PositiveIntegerField()),
                ("sealed", models.BinaryField()),
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
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="privacy.packagerun",
                    ),
                ),
            ],
            options={
                "abstract": False,
                "default_permissions": (),
            },
        ),
        migrations.AddIndex(
            model_name="packagerun",
            index=models.Index(fields=["workspace", "profile", "-asked_at"], name="packages_of_profile"),
        ),
        migrations.AddIndex(
            model_name="packagerun",
            index=models.Index(fields=["workspace", "-asked_at", "-id"], name="packages_newest"),
        ),
        migrations.AddIndex(
            model_name="packagerun",
            index=models.Index(
                condition=models.Q(("status__in", ("waiting", "building"))),
                fields=["workspace", "claimed_until"],
                name="packages_to_build",
            ),
        ),
        migrations.AddIndex(
            model_name="packagerun",
            index=models.Index(
                condition=models.Q(("status", "ready")),
                fields=["workspace", "expires_at"],
                name="packages_to_expire",
            ),
        ),
        migrations.AddIndex(
            model_name="packagerun",
            index=models.Index(
                condition=models.Q(("chunks__gt", 0), ("status__in", ("failed", "expired", "revoked"))),
                fields=["workspace"],
                name="packages_to_empty",
            ),
        ),
        migrations.AddConstraint(
            model_name="packagerun",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status__in", ("waiting", "building"))),
                fields=("workspace", "profile"),
                name="one_open_package_per_profile",
            ),
        ),
        migrations.AddConstraint(
            model_name="packagerun",
            constraint=models.UniqueConstraint(fields=("token_hash",), name="one_package_per_link"),
        ),
        migrations.AddConstraint(
            model_name="packagerun",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("expires_at__isnull", False), ("status", "ready"), ("token_hash__isnull", False)
                    ),
                    models.Q(models.Q(("status", "ready"), _negated=True), ("token_hash__isnull", True)),
                    _connector="OR",
                ),
                name="only_a_ready_package_has_a_link",
            ),
        ),
        migrations.AddConstraint(
            model_name="packagechunk",
            constraint=models.UniqueConstraint(fields=("run", "index"), name="one_chunk_per_place"),
        ),
        # Ciphertext does not get smaller: nobody need try.
        migrations.RunSQL(
            "ALTER TABLE privacy_packagechunk ALTER COLUMN sealed SET STORAGE EXTERNAL",
            "ALTER TABLE privacy_packagechunk ALTER COLUMN sealed SET STORAGE EXTENDED",
        ),
        isolate("privacy_packagerun"),
        isolate("privacy_packagechunk"),
        look_across(
            "lastro_with_packages_to_build",
            takes="timestamptz",
            gives="TABLE (workspace_id uuid)",
            query=TO_BUILD,
        ),
        look_across(
            "lastro_with_packages_to_sweep",
            takes="timestamptz",
            gives="TABLE (workspace_id uuid)",
            query=TO_SWEEP,
        ),
        look_across(
            "lastro_with_package_link",
            takes="bytea",
            gives="TABLE (workspace_id uuid)",
            query=OF_LINK,
        ),
    ]
