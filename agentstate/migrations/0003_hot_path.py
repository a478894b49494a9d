"""One database function each for the hot read and the hot write (WM-19, PL-1).

Each binds its transaction to the workspace itself, so that it costs no round trip of its own.
"""

from django.db import migrations, models

CHANGES = """
CREATE SEQUENCE agentstate_change;
CREATE FUNCTION lastro_state_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.change := nextval('agentstate_change');
    RETURN NEW;
END
$$;
CREATE TRIGGER numbers_changes BEFORE INSERT OR UPDATE ON agentstate_state
    FOR EACH ROW EXECUTE FUNCTION lastro_state_changes();
"""

NO_CHANGES = """
DROP TRIGGER numbers_changes ON agentstate_state;
DROP FUNCTION lastro_state_changes();
DROP SEQUENCE agentstate_change;
"""

ROW = """
    id uuid, scope_kind text, hash_key_id uuid, life text, version bigint, epoch text, body bytea,
    data_key_id uuid, body_bytes integer, held text, type text, type_version text, types_document integer,
    retention_seconds integer, handle_id uuid, source_id uuid, recent_writes bytea, created_at timestamptz,
    updated_at timestamptz, due_at timestamptz, change bigint, handle_hash bytea
""".strip()

# The lock time-out is for a table that is locked whole: no writer's lock on a row keeps a reader.
READ = f"""
CREATE FUNCTION lastro_read_state(_workspace uuid, _scope bytea, _agent text, _lock_timeout text)
RETURNS TABLE (
    {ROW}
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('lastro.workspace', _workspace::text, true);
    PERFORM set_config('lock_timeout', _lock_timeout, true);
    RETURN QUERY SELECT
        s.id, s.scope_kind::text, s.hash_key_id, s.life::text, s.version, s.epoch::text, s.body,
        s.data_key_id, s.body_bytes, s.held::text, s.type::text, s.type_version::text, s.types_document,
        s.retention_seconds, s.handle_id, s.source_id, s.recent_writes, s.created_at,
        s.updated_at, s.due_at, s.change, h.hash
    FROM agentstate_state s LEFT JOIN workspaces_handle h ON h.id = s.handle_id
    WHERE s.workspace_id = _workspace AND s.scope_hash = _scope AND s.agent = _agent;
END
$$;
"""

# Waits for the writers who came before, in the order of arrival; then nothing that decides about the state changes
# until the transaction ends. Gives one row, with nulls where there is no state.
TURN = f"""
CREATE FUNCTION lastro_take_turn(
    _workspace uuid, _documents_lock bigint, _state_lock bigint, _scope bytea, _agent text, _lock_timeout text
)
RETURNS TABLE (
    heads text,
    {ROW}
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('lastro.workspace', _workspace::text, true);
    PERFORM set_config('lock_timeout', _lock_timeout, true);
    PERFORM pg_advisory_xact_lock_shared(_documents_lock);
    PERFORM pg_advisory_xact_lock(_state_lock);
    RETURN QUERY SELECT
        (SELECT json_object_agg(kind, document_id)::text FROM workspaces_documenthead
            WHERE workspace_id = _workspace),
        r.*
    FROM (SELECT) one LEFT JOIN lastro_read_state(_workspace, _scope, _agent, _lock_timeout) r ON true;
END
$$;
"""

# Answers `stored` with the number of the change, or why nothing was stored: `late` (past the writer's deadline),
# `busy` (another writer of this state is at work), `documents` (a version was published since), `changed`.
STORE = """
CREATE FUNCTION lastro_store_state(
    _workspace uuid, _documents_lock bigint, _documents uuid[], _state_lock bigint, _commit_until timestamptz,
    _expected bigint, _id uuid, _scope_kind text, _scope_hash bytea, _hash_key_id uuid, _agent text,
    _version bigint, _epoch text, _body bytea, _data_key_id uuid, _body_bytes integer, _held text, _type text,
    _type_version text, _types_document integer, _retention_seconds integer, _handle_id uuid, _source_id uuid,
    _recent_writes bytea, _created_at timestamptz, _updated_at timestamptz, _due_at timestamptz,
    OUT outcome text, OUT changed bigint
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('lastro.workspace', _workspace::text, true);
    PERFORM pg_advisory_xact_lock_shared(_documents_lock);
    IF cardinality(_documents) <> (
        SELECT count(*) FROM workspaces_documenthead
        WHERE workspace_id = _workspace AND document_id = ANY (_documents)
    ) THEN
        outcome := 'documents';
        RETURN;
    END IF;
    IF NOT pg_try_advisory_xact_lock(_state_lock) THEN
        outcome := 'busy';
        RETURN;
    END IF;
    IF clock_timestamp() > _commit_until THEN
        outcome := 'late';
        RETURN;
    END IF;
    IF _expected = 0 THEN
        INSERT INTO agentstate_state (
            id, workspace_id, scope_kind, scope_hash, hash_key_id, agent, life, version, epoch, body,
            data_key_id, body_bytes, held, type, type_version, types_document, retention_seconds, handle_id,
            source_id, recent_writes, created_at, updated_at, due_at, change
        ) VALUES (
            _id, _workspace, _scope_kind, _scope_hash, _hash_key_id, _agent, 'live', _version, _epoch, _body,
            _data_key_id, _body_bytes, _held::jsonb, _type, _type_version, _types_document, _retention_seconds,
            _handle_id, _source_id, _recent_writes, _created_at, _updated_at, _due_at, 0
        ) ON CONFLICT DO NOTHING RETURNING change INTO changed;
    ELSE
        UPDATE agentstate_state SET
            life = 'live', version = _version, epoch = _epoch, body = _body, data_key_id = _data_key_id,
            body_bytes = _body_bytes, held = _held::jsonb, type = _type, type_version = _type_version,
            types_document = _types_document, retention_seconds = _retention_seconds, handle_id = _handle_id,
            source_id = _source_id, recent_writes = _recent_writes, created_at = _created_at,
            updated_at = _updated_at, due_at = _due_at
        WHERE workspace_id = _workspace AND scope_hash = _scope_hash AND agent = _agent AND change = _expected
        RETURNING change INTO changed;
        IF _handle_id IS NOT NULL AND changed IS NOT NULL THEN
            UPDATE workspaces_profile p SET last_seen_at = _updated_at FROM workspaces_handle h
            WHERE h.id = _handle_id AND p.id = h.profile_id AND p.last_seen_at < _updated_at - interval '1 hour';
        END IF;
    END IF;
    outcome := CASE WHEN changed IS NULL THEN 'changed' ELSE 'stored' END;
END
$$;
"""

NO_READ = "DROP FUNCTION lastro_read_state(uuid, bytea, text, text);"
NO_TURN = "DROP FUNCTION lastro_take_turn(uuid, bigint, bigint, bytea, text, text);"
NO_STORE = "DROP FUNCTION lastro_store_state;"


class Migration(migrations.Migration):
    dependencies = [("agentstate", "0002_row_level_security")]
    operations = [
        migrations.AddField("state", "change", models.BigIntegerField(default=0, editable=False)),
        # What changes at every write stands in no index, so that most writes touch none.
        migrations.RemoveIndex("state", "states_of_a_handle"),
        migrations.AddIndex(
            "state",
            models.Index(
                condition=models.Q(("life", "live")),
                fields=["workspace", "handle"],
                name="states_of_a_handle",
            ),
        ),
        # Ciphertext does not get smaller: nobody need try.
        migrations.RunSQL(
            "ALTER TABLE agentstate_state ALTER COLUMN body SET STORAGE EXTERNAL",
            "ALTER TABLE agentstate_state ALTER COLUMN body SET STORAGE EXTENDED",
        ),
        migrations.RunSQL(CHANGES, NO_CHANGES),
        migrations.RunSQL(READ, NO_READ),
        migrations.RunSQL(TURN, NO_TURN),
        migrations.RunSQL(STORE, NO_STORE),
    ]
