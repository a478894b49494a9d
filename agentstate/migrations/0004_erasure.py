"""What an erasure marks, who has read what was erased, and what a legal hold keeps (PR-11, PR-12, PR-16)."""

import django.db.models.deletion
from django.db import migrations, models

import workspaces.binding
from workspaces.postgresql.policies import isolate

# A trigger, so that no way to change a state passes a hold by: a write, a deletion, a sweep, a mistake.
KEEP = """
CREATE FUNCTION lastro_keep_held() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM workspaces_hold h WHERE h.workspace_id = OLD.workspace_id AND h.settled_at IS NULL
    ) THEN
        RETURN NULL;
    END IF;
    WITH held AS (
        SELECT h.id FROM workspaces_hold h
        WHERE h.workspace_id = OLD.workspace_id AND h.settled_at IS NULL AND h.lifted_at IS NULL
            AND h.ends_at > clock_timestamp() AND (
                h.scope_hash = OLD.scope_hash
                OR h.profile_id = (SELECT profile_id FROM workspaces_handle WHERE id = OLD.handle_id)
            )
    ), kept AS (
        INSERT INTO agentstate_keptversion (
            workspace_id, hold_id, state_id, scope_kind, scope_hash, agent, version, epoch, body, data_key_id,
            handle_id, held, type, updated_at, kept_at
        ) SELECT
            OLD.workspace_id, held.id, OLD.id, OLD.scope_kind, OLD.scope_hash, OLD.agent, OLD.version, OLD.epoch,
            OLD.body, OLD.data_key_id, OLD.handle_id, OLD.held, OLD.type, OLD.updated_at, clock_timestamp()
        FROM held
    )
    INSERT INTO workspaces_heldkey (workspace_id, hold_id, key_id)
    SELECT OLD.workspace_id, held.id, key_id FROM held, unnest(ARRAY[OLD.data_key_id, OLD.handle_id]) AS key_id
    WHERE key_id IS NOT NULL ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER keeps_held_versions AFTER UPDATE ON agentstate_state FOR EACH ROW
    WHEN (OLD.body IS NOT NULL AND OLD.body IS DISTINCT FROM NEW.body) EXECUTE FUNCTION lastro_keep_held();
CREATE TRIGGER keeps_held_rows AFTER DELETE ON agentstate_state FOR EACH ROW
    WHEN (OLD.body IS NOT NULL) EXECUTE FUNCTION lastro_keep_held();
"""

KEEP_NOTHING = """
DROP TRIGGER keeps_held_rows ON agentstate_state;
DROP TRIGGER keeps_held_versions ON agentstate_state;
DROP FUNCTION lastro_keep_held();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("agentstate", "0003_hot_path"),
        ("workspaces", "0009_barriers"),
    ]

    operations = [
        migrations.CreateModel(
            name="ErasedRead",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("read_at", models.DateTimeField()),
                (
                    "source",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="workspaces.source",
                    ),
                ),
                (
                    "state",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="agentstate.state",
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
            name="KeptVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("state_id", models.UUIDField()),
                ("scope_kind", models.CharField(max_length=12)),
                ("scope_hash", models.BinaryField(max_length=32)),
                ("agent", models.CharField(max_length=256)),
                ("version", models.PositiveBigIntegerField()),
                ("epoch", models.CharField(max_length=16)),
                ("body", models.BinaryField()),
                ("data_key_id", models.UUIDField()),
                ("handle_id", models.UUIDField(null=True)),
                ("held", models.JSONField()),
                ("type", models.CharField(max_length=40)),
                ("updated_at", models.DateTimeField()),
                ("kept_at", models.DateTimeField()),
                (
                    "hold",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="workspaces.hold",
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
        migrations.AddField(
            model_name="state",
            name="erasure_id",
            field=models.UUIDField(null=True),
        ),
        migrations.AddIndex(
            model_name="state",
            index=models.Index(
                condition=models.Q(("erasure_id__isnull", False)),
                fields=["workspace", "erasure_id"],
                name="states_being_erased",
            ),
        ),
        migrations.AddConstraint(
            model_name="erasedread",
            constraint=models.UniqueConstraint(fields=("state", "source"), name="one_read_per_source"),
        ),
        migrations.AddIndex(
            model_name="keptversion",
            index=models.Index(fields=["workspace", "hold", "id"], name="versions_of_a_hold"),
        ),
        isolate("agentstate_erasedread"),
        isolate("agentstate_keptversion"),
        migrations.RunSQL(KEEP, KEEP_NOTHING),
    ]
