"""What a hold on a person keeps of their conversations, and what the sweep did (PR-16, PR-20)."""

import django.db.models.deletion
from django.db import migrations, models

import workspaces.binding
from workspaces.postgresql.policies import isolate, look_across

# A hold on a person keeps what an erasure of them would take: what names them, and in a conversation or task that
# names them also what names nobody. The hold remembers such a conversation by what it kept of it.
KEEP = """
CREATE OR REPLACE FUNCTION lastro_keep_held() RETURNS trigger LANGUAGE plpgsql AS $$
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
                {alone}
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
"""
ALONE = """OR (
                    OLD.handle_id IS NULL AND OLD.scope_kind IN ('conversation', 'task') AND (
                        EXISTS (
                            SELECT FROM agentstate_state s JOIN workspaces_handle n ON n.id = s.handle_id
                            WHERE s.workspace_id = OLD.workspace_id AND s.scope_hash = OLD.scope_hash
                                AND n.profile_id = h.profile_id
                        ) OR EXISTS (
                            SELECT FROM agentstate_keptversion k WHERE k.workspace_id = OLD.workspace_id
                                AND k.scope_hash = OLD.scope_hash AND k.hold_id = h.id
                        )
                    )
                )"""

WITH_OLD_TRACES = """
SELECT workspace_id FROM workspaces_tombstone WHERE due_at <= $1
UNION SELECT workspace_id FROM agentstate_sweeprun WHERE ended_at <= $1 - interval '30 days'
"""


class Migration(migrations.Migration):
    dependencies = [
        ("agentstate", "0004_erasure"),
        ("workspaces", "0009_barriers"),
    ]

    operations = [
        migrations.CreateModel(
            name="SweepRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("began_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField()),
                ("removed", models.JSONField(default=dict)),
                ("damaged", models.PositiveIntegerField(default=0)),
                ("backlog", models.PositiveIntegerField(default=0)),
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
            model_name="sweeprun",
            index=models.Index(fields=["workspace", "-ended_at"], name="sweep_run_newest"),
        ),
        migrations.AddIndex(
            model_name="keptversion",
            index=models.Index(fields=["workspace", "scope_hash"], name="versions_of_a_scope"),
        ),
        isolate("agentstate_sweeprun"),
        migrations.RunSQL(KEEP.format(alone=ALONE), KEEP.format(alone="")),
        look_across(
            "lastro_with_old_traces",
            takes="timestamptz",
            gives="TABLE (workspace_id uuid)",
            query=WITH_OLD_TRACES,
        ),
    ]
