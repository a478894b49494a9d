"""Erasures, tombstones and legal holds: what stands between a request and the data (PR-10 to PR-16)."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import workspaces.binding
from workspaces.postgresql.policies import isolate


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0008_audit_checkpoints")]

    operations = [
        migrations.CreateModel(
            name="Tombstone",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(choices=[("handle", "Handle"), ("scope", "Scope")], max_length=8)),
                ("hash", models.BinaryField(max_length=32)),
                ("hash_key_id", models.UUIDField()),
                ("erased_at", models.DateTimeField()),
                ("due_at", models.DateTimeField()),
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
            name="Hold",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("profile_id", models.UUIDField(null=True)),
                ("scope_kind", models.CharField(default="", max_length=12)),
                ("scope_hash", models.BinaryField(max_length=32, null=True)),
                ("reason", models.TextField()),
                ("placed_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("lifted_at", models.DateTimeField(null=True)),
                ("lift_reason", models.TextField(default="")),
                ("settled_at", models.DateTimeField(null=True)),
                (
                    "lifted_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "placed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
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
            name="HeldKey",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key_id", models.UUIDField()),
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
                    "hold",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="workspaces.hold",
                    ),
                ),
            ],
            options={
                "abstract": False,
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="Erasure",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "profile_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), default=list, size=None
                    ),
                ),
                (
                    "handle_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), default=list, size=None
                    ),
                ),
                (
                    "named_profile_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), default=list, size=None
                    ),
                ),
                ("scope_hash", models.BinaryField(max_length=32, null=True)),
                ("began_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
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
            name="ErasedItem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=20)),
                ("item_id", models.UUIDField()),
                ("digest", models.BinaryField(max_length=32)),
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
                    "erasure",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="workspaces.erasure",
                    ),
                ),
            ],
            options={
                "abstract": False,
                "default_permissions": (),
            },
        ),
        migrations.RemoveConstraint(
            model_name="handle",
            name="one_handle_per_hash",
        ),
        migrations.AddField(
            model_name="handle",
            name="erasure_id",
            field=models.UUIDField(null=True),
        ),
        migrations.AddField(
            model_name="profile",
            name="erasure_id",
            field=models.UUIDField(null=True),
        ),
        migrations.AddField(
            model_name="wrappedkey",
            name="barred_by",
            field=models.UUIDField(null=True),
        ),
        migrations.AddConstraint(
            model_name="handle",
            constraint=models.UniqueConstraint(
                condition=models.Q(("erasure_id__isnull", True)),
                fields=("workspace", "hash"),
                name="one_handle_per_hash",
            ),
        ),
        migrations.AddConstraint(
            model_name="eraseditem",
            constraint=models.UniqueConstraint(
                fields=("workspace", "erasure", "kind", "item_id"), name="an_item_is_erased_once"
            ),
        ),
        migrations.AddIndex(
            model_name="hold",
            index=models.Index(
                condition=models.Q(("settled_at__isnull", True)),
                fields=["workspace", "profile_id", "scope_hash"],
                name="holds_that_stand",
            ),
        ),
        migrations.AddIndex(
            model_name="hold",
            index=models.Index(fields=["workspace", "-placed_at"], name="hold_newest"),
        ),
        migrations.AddConstraint(
            model_name="hold",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("profile_id__isnull", False), ("scope_hash__isnull", True)),
                    models.Q(("profile_id__isnull", True), ("scope_hash__isnull", False)),
                    _connector="OR",
                ),
                name="a_hold_is_on_one_thing",
            ),
        ),
        migrations.AddIndex(
            model_name="heldkey",
            index=models.Index(fields=["workspace", "key_id"], name="holds_of_a_key"),
        ),
        migrations.AddConstraint(
            model_name="heldkey",
            constraint=models.UniqueConstraint(
                fields=("workspace", "hold", "key_id"), name="a_hold_holds_a_key_once"
            ),
        ),
        migrations.AddIndex(
            model_name="tombstone",
            index=models.Index(fields=["workspace", "due_at"], name="tombstones_due"),
        ),
        migrations.AddConstraint(
            model_name="tombstone",
            constraint=models.UniqueConstraint(
                fields=("workspace", "kind", "hash"), name="one_tombstone_per_name"
            ),
        ),
        isolate("workspaces_eraseditem"),
        isolate("workspaces_erasure"),
        isolate("workspaces_heldkey"),
        isolate("workspaces_hold"),
        isolate("workspaces_tombstone"),
    ]
