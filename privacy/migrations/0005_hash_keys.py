"""What a scope is named by moves under the hash key of now, in every table at once (PL-12).

An app that keeps scopes by keyed hash adds its tables here, by replacing the function.
"""

from django.db import migrations, models

# Nothing is found at nearly every call: that is one look into six indexes. What has ended keeps the name it had, as
# its receipt has it. The request first: whoever begins an erasure holds its row.
MOVE = """
CREATE FUNCTION lastro_move_scope(_workspace uuid, _before bytea, _now bytea, _key uuid) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE privacy_erasurerequest SET scope_hash = _now, scope_hash_before = _before, hash_key_id = _key
    WHERE workspace_id = _workspace AND scope_hash = _before AND ended_at IS NULL;
    UPDATE workspaces_erasure SET scope_hash = _now
    WHERE workspace_id = _workspace AND scope_hash = _before AND ended_at IS NULL;
    UPDATE workspaces_hold SET scope_hash = _now, hash_key_id = _key
    WHERE workspace_id = _workspace AND scope_hash = _before;
    UPDATE agentstate_state SET scope_hash = _now, hash_key_id = _key
    WHERE workspace_id = _workspace AND scope_hash = _before;
    UPDATE agentstate_keptversion SET scope_hash = _now, hash_key_id = _key
    WHERE workspace_id = _workspace AND scope_hash = _before;
    PERFORM lastro_move_tombstone(_workspace, 'scope', _before, _now, _key);
END
$$;
CREATE INDEX open_erasures_of_a_scope ON privacy_erasurerequest (workspace_id, scope_hash)
    WHERE ended_at IS NULL AND scope_hash IS NOT NULL;
CREATE INDEX running_erasures_of_a_scope ON workspaces_erasure (workspace_id, scope_hash)
    WHERE ended_at IS NULL AND scope_hash IS NOT NULL;
"""
NO_MOVE = """
DROP INDEX running_erasures_of_a_scope;
DROP INDEX open_erasures_of_a_scope;
DROP FUNCTION lastro_move_scope(uuid, bytea, bytea, uuid);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("privacy", "0004_closing"),
        ("agentstate", "0006_hash_keys"),
        ("workspaces", "0012_hash_keys"),
    ]
    operations = [
        migrations.AddField(
            "erasurerequest", "scope_hash_before", models.BinaryField(max_length=32, null=True)
        ),
        migrations.RunSQL(MOVE, NO_MOVE),
    ]
