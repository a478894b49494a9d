"""Requests for erasure (PR-9)."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import workspaces.binding
from workspaces.postgresql.policies import isolate, look_across


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("workspaces", "0009_barriers"),
    ]

    operations = [
        migrations.CreateModel(
            name="ErasureRequest",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("number", models.PositiveIntegerField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("received", "Received"),
                            ("verified", "Verified"),
                            ("approved", "Approved"),
                            ("running", "Running"),
                            ("completed", "Completed"),
                            ("refused", "Refused"),
                            ("failed", "Failed"),
                        ],
                        default="received",
                        max_length=10,
                    ),
                ),
                (
                    "target",
                    models.CharField(
                        choices=[
                            ("profile", "Profile"),
                            ("handle", "Handle"),
                            ("conversation", "Conversation"),
                            ("task", "Task"),
                            ("object", "Object"),
                        ],
                        max_length=12,
                    ),
                ),
                ("profile_id", models.UUIDField(null=True)),
                (
                    "handle_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), default=list, size=None
                    ),
                ),
                ("scope_hash", models.BinaryField(max_length=32, null=True)),
                ("hash_key_id", models.UUIDField()),
                ("reason", models.TextField(default="")),
                ("refusal", models.CharField(default="", max_length=24)),
                ("regime", models.CharField(max_length=8)),
                ("due_on", models.DateField()),
                ("extended_on", models.DateField(null=True)),
                ("asked_by_kind", models.CharField(max_length=10)),
                ("asked_by_id", models.CharField(max_length=64)),
                ("asked_by", models.CharField(max_length=320)),
                ("decided_by", models.CharField(default="", max_length=320)),
                ("requested_at", models.DateTimeField()),
                ("verified_at", models.DateTimeField(null=True)),
                ("approved_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("claimed_until", models.DateTimeField(null=True)),
                ("erased", models.JSONField(default=dict)),
                ("receipt", models.JSONField(null=True)),
                ("receipt_hash", models.CharField(default="", max_length=64)),
                (
                    "duplicate_of",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="privacy.erasurerequest",
                    ),
                ),
                (
                    "erasure",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="request",
                        to="workspaces.erasure",
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
            name="ErasureStep",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("position", models.PositiveSmallIntegerField()),
                ("name", models.CharField(max_length=24)),
                ("expected", models.PositiveIntegerField(default=0)),
                ("done", models.PositiveIntegerField(default=0)),
                ("began_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "request",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="steps",
                        to="privacy.erasurerequest",
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
        migrations.AddIndex(
            model_name="erasurerequest",
            index=models.Index(fields=["workspace", "due_on", "id"], name="erasure_by_due_date"),
        ),
        migrations.AddIndex(
            model_name="erasurerequest",
            index=models.Index(fields=["workspace", "-requested_at", "-id"], name="erasure_newest"),
        ),
        migrations.AddIndex(
            model_name="erasurerequest",
            index=models.Index(
                condition=models.Q(("status__in", ["approved", "running"])),
                fields=["workspace", "claimed_until"],
                name="erasures_to_run",
            ),
        ),
        migrations.AddConstraint(
            model_name="erasurerequest",
            constraint=models.UniqueConstraint(fields=("workspace", "number"), name="one_erasure_per_number"),
        ),
        migrations.AddConstraint(
            model_name="erasurestep",
            constraint=models.UniqueConstraint(
                fields=("workspace", "request", "position"), name="one_step_per_position"
            ),
        ),
        isolate("privacy_erasurerequest"),
        isolate("privacy_erasurestep"),
        look_across(
            "lastro_with_erasures",
            takes="timestamptz",
            gives="TABLE (workspace_id uuid)",
            query="SELECT DISTINCT workspace_id FROM privacy_erasurerequest"
            " WHERE status IN ('approved', 'running') AND (claimed_until IS NULL OR claimed_until < $1)",
        ),
    ]
