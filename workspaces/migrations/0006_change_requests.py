"""A proposed document becomes one kind of request among others, and gets approvals (PR-2b)."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import workspaces.binding
from workspaces.postgresql.policies import isolate, look_across

PERSON = {
    "null": True,
    "on_delete": django.db.models.deletion.PROTECT,
    "related_name": "+",
    "to": settings.AUTH_USER_MODEL,
}


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0005_signing_key")]

    operations = [
        migrations.RenameModel("DocumentChange", "ChangeRequest"),
        migrations.AddField("changerequest", "publish_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("changerequest", "publisher", models.ForeignKey(**PERSON)),
        migrations.AddField("changerequest", "settled_by", models.ForeignKey(**PERSON)),
        migrations.AddField("changerequest", "settled_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("changerequest", "settled_reason", models.TextField(blank=True, default="")),
        migrations.AddField("changerequest", "is_glass_broken", models.BooleanField(default=False)),
        migrations.AddField(
            "changerequest", "failure", models.CharField(blank=True, default="", max_length=40)
        ),
        migrations.AlterField(
            "changerequest",
            "status",
            models.CharField(
                choices=[
                    ("proposed", "Proposed"),
                    ("scheduled", "Scheduled"),
                    ("published", "Published"),
                    ("denied", "Denied"),
                    ("withdrawn", "Withdrawn"),
                    ("failed", "Failed"),
                ],
                default="proposed",
                max_length=20,
            ),
        ),
        migrations.AddIndex(
            "changerequest",
            models.Index(
                condition=models.Q(("status__in", ["proposed", "scheduled"])),
                fields=["workspace", "-proposed_at"],
                name="change_open",
            ),
        ),
        migrations.AddIndex(
            "changerequest",
            models.Index(
                condition=models.Q(("status", "scheduled")), fields=["publish_at"], name="change_scheduled"
            ),
        ),
        migrations.AddField(
            "invitation",
            "request",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="workspaces.changerequest",
            ),
        ),
        migrations.CreateModel(
            name="Approval",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.CharField(max_length=64)),
                ("reason", models.TextField(blank=True, default="")),
                ("approved_at", models.DateTimeField()),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="approvals",
                        to="workspaces.changerequest",
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
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "request", "person", "digest"), name="one_approval_per_content"
                    )
                ],
            },
        ),
        isolate("workspaces_approval"),
        look_across(
            "lastro_with_due_changes",
            takes="timestamptz",
            gives="TABLE (workspace_id uuid)",
            query="SELECT DISTINCT workspace_id FROM workspaces_changerequest"
            " WHERE status = 'scheduled' AND publish_at <= $1",
        ),
    ]
