"""The keys of keyed hashes can be replaced; names move over when they are met (PL-12)."""

from django.db import migrations, models

# A request that was let in before the key was replaced knows the one before. What it would name under that is refused,
# to be sent again: moving names has been there already. Each insert shares a lock with the others that the replacement
# takes alone, so that none which has looked is still to commit after it.
GUARD = """
CREATE FUNCTION lastro_hold_hash_key(_workspace uuid, _alone boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    number bigint := hashtextextended('lastro.hash-key:' || _workspace::text, 0);
BEGIN
    IF _alone THEN
        PERFORM pg_advisory_xact_lock(number);
    ELSE
        PERFORM pg_advisory_xact_lock_shared(number);
    END IF;
END
$$;
CREATE FUNCTION lastro_hash_key_is_current(_workspace uuid, _key uuid) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lastro_hold_hash_key(_workspace, false);
    RETURN EXISTS (SELECT FROM workspaces_workspace WHERE id = _workspace AND hash_key_id = _key);
END
$$;
CREATE FUNCTION lastro_named_by_the_newest() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- A row of another workspace than the bound one is for row-level security to refuse.
    IF NEW.workspace_id::text = current_setting('lastro.workspace', true)
        AND NOT lastro_hash_key_is_current(NEW.workspace_id, NEW.hash_key_id)
    THEN
        RAISE EXCEPTION 'the hash key has been replaced' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER named_by_the_newest BEFORE INSERT ON workspaces_handle
    FOR EACH ROW EXECUTE FUNCTION lastro_named_by_the_newest();
CREATE TRIGGER named_by_the_newest BEFORE INSERT ON workspaces_rememberedanswer
    FOR EACH ROW WHEN (NEW.hash_key_id IS NOT NULL) EXECUTE FUNCTION lastro_named_by_the_newest();
"""
NO_GUARD = """
DROP TRIGGER named_by_the_newest ON workspaces_rememberedanswer;
DROP TRIGGER named_by_the_newest ON workspaces_handle;
DROP FUNCTION lastro_named_by_the_newest();
DROP FUNCTION lastro_hash_key_is_current(uuid, uuid);
DROP FUNCTION lastro_hold_hash_key(uuid, boolean);
"""

MOVE_HANDLE = """
CREATE FUNCTION lastro_move_handle(_workspace uuid, _before bytea, _now bytea, _key uuid) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE workspaces_handle SET hash = _now, hash_key_id = _key WHERE workspace_id = _workspace AND hash = _before;
    PERFORM lastro_move_tombstone(_workspace, 'handle', _before, _now, _key);
END
$$;
"""
MOVE_TOMBSTONE = """
CREATE FUNCTION lastro_move_tombstone(_workspace uuid, _kind text, _before bytea, _now bytea, _key uuid)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    WITH gone AS (
        DELETE FROM workspaces_tombstone
        WHERE workspace_id = _workspace AND kind = _kind AND hash = _before RETURNING erased_at, due_at
    )
    INSERT INTO workspaces_tombstone AS t (workspace_id, kind, hash, hash_key_id, erased_at, due_at)
    SELECT _workspace, _kind, _now, _key, erased_at, due_at FROM gone
    ON CONFLICT (workspace_id, kind, hash) DO UPDATE SET
        erased_at = greatest(t.erased_at, excluded.erased_at), due_at = greatest(t.due_at, excluded.due_at);
END
$$;
"""


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0011_closed")]
    operations = [
        migrations.AddField("workspace", "previous_hash_key_id", models.UUIDField(blank=True, null=True)),
        migrations.AddField("workspace", "hash_renewed_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("hold", "hash_key_id", models.UUIDField(null=True)),
        migrations.AddField("rememberedanswer", "hash_key_id", models.UUIDField(null=True)),
        *(
            migrations.AddField(
                model, "secret_generation", models.PositiveIntegerField(db_default=0, default=0)
            )
            for model in ("apikey", "personaltoken")
        ),
        migrations.AddField(
            "deploymentkey", "generation", models.PositiveIntegerField(db_default=0, default=0)
        ),
        migrations.AddField("deploymentkey", "previous", models.BinaryField(max_length=80, null=True)),
        migrations.AddField("deploymentkey", "renewed_at", models.DateTimeField(null=True)),
        migrations.RunSQL(GUARD, NO_GUARD),
        migrations.RunSQL(
            MOVE_TOMBSTONE, "DROP FUNCTION lastro_move_tombstone(uuid, text, bytea, bytea, uuid);"
        ),
        migrations.RunSQL(MOVE_HANDLE, "DROP FUNCTION lastro_move_handle(uuid, bytea, bytea, uuid);"),
    ]
