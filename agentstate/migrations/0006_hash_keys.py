"""A state is looked for under the hash key of now, and one that is not there under another is not called absent (PL-12)."""

from importlib import import_module

from django.db import migrations, models

_hot = import_module("agentstate.migrations.0003_hot_path")
_holds = import_module("agentstate.migrations.0005_holds_and_sweeps")

# A request that was let in before the hash key was replaced does not find what has moved since: it is to come again.
MOVED = """WHERE s.workspace_id = _workspace AND s.scope_hash = _scope AND s.agent = _agent;
    IF NOT FOUND AND NOT EXISTS (
        SELECT FROM workspaces_workspace w WHERE w.id = _workspace AND w.hash_key_id = _hash_key
    ) THEN
        RAISE EXCEPTION 'the hash key has been replaced' USING ERRCODE = 'serialization_failure';
    END IF;
"""
READ = _hot.READ.replace(
    "_agent text, _lock_timeout text)", "_agent text, _hash_key uuid, _lock_timeout text)"
).replace("WHERE s.workspace_id = _workspace AND s.scope_hash = _scope AND s.agent = _agent;\n", MOVED)
TURN = _hot.TURN.replace(
    "_agent text, _lock_timeout text\n", "_agent text, _hash_key uuid, _lock_timeout text\n"
).replace("_scope, _agent, _lock_timeout)", "_scope, _agent, _hash_key, _lock_timeout)")
NO_READ = "DROP FUNCTION lastro_read_state(uuid, bytea, text, uuid, text);"
NO_TURN = "DROP FUNCTION lastro_take_turn(uuid, bigint, bigint, bytea, text, uuid, text);"

GUARD = """
CREATE TRIGGER named_by_the_newest BEFORE INSERT ON agentstate_state
    FOR EACH ROW EXECUTE FUNCTION lastro_named_by_the_newest();
"""
NO_GUARD = "DROP TRIGGER named_by_the_newest ON agentstate_state;"

KEEP = _holds.KEEP.format(alone=_holds.ALONE)
KEEP_WITH_KEY = KEEP.replace(
    "scope_kind, scope_hash, agent", "scope_kind, scope_hash, hash_key_id, agent"
).replace(
    "OLD.scope_kind, OLD.scope_hash, OLD.agent", "OLD.scope_kind, OLD.scope_hash, OLD.hash_key_id, OLD.agent"
)


class Migration(migrations.Migration):
    dependencies = [("agentstate", "0005_holds_and_sweeps"), ("workspaces", "0012_hash_keys")]
    operations = [
        migrations.AddField("keptversion", "hash_key_id", models.UUIDField(null=True)),
        migrations.RunSQL(_hot.NO_TURN, _hot.TURN),
        migrations.RunSQL(_hot.NO_READ, _hot.READ),
        migrations.RunSQL(READ, NO_READ),
        migrations.RunSQL(TURN, NO_TURN),
        migrations.RunSQL(GUARD, NO_GUARD),
        migrations.RunSQL(KEEP_WITH_KEY, KEEP),
    ]
