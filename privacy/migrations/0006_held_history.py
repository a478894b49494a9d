"""What a legal hold keeps of history, and of working memory where a session names the person (PR-16).

Here and not beside the tables: whom a conversation names is a question to both apps.
"""

from importlib import import_module

from django.db import migrations

_STATES = import_module("agentstate.migrations.0006_hash_keys")

# A hold on a person keeps what an erasure of them would take (PR-10): what names them, and in a conversation or task
# that names them also what names nobody.
HOLDS_ON = """
CREATE FUNCTION lastro_holds_on(_workspace uuid, _kind text, _scope bytea, _handle uuid) RETURNS SETOF uuid
LANGUAGE sql VOLATILE AS $$
    SELECT h.id FROM workspaces_hold h
    WHERE h.workspace_id = _workspace AND h.settled_at IS NULL AND h.lifted_at IS NULL
        AND h.ends_at > clock_timestamp() AND (
            h.scope_hash = _scope
            OR h.profile_id = (SELECT profile_id FROM workspaces_handle WHERE id = _handle)
            OR (_handle IS NULL AND _kind IN ('conversation', 'task') AND (
                EXISTS (
                    SELECT FROM agentstate_state s JOIN workspaces_handle n ON n.id = s.handle_id
                    WHERE s.workspace_id = _workspace AND s.scope_hash = _scope AND n.profile_id = h.profile_id
                ) OR EXISTS (
                    SELECT FROM history_session s JOIN workspaces_handle n ON n.id = s.handle_id
                    WHERE s.workspace_id = _workspace AND s.conversation_hash = _scope
                        AND n.profile_id = h.profile_id
                ) OR EXISTS (
                    SELECT FROM agentstate_keptversion k
                    WHERE k.workspace_id = _workspace AND k.scope_hash = _scope AND k.hold_id = h.id
                ) OR EXISTS (
                    SELECT FROM history_keptitem k
                    WHERE k.workspace_id = _workspace AND k.conversation_hash = _scope AND k.hold_id = h.id
                )
            ))
        )
$$;
"""
HOLDS_ON_NOTHING = "DROP FUNCTION lastro_holds_on(uuid, text, bytea, uuid);"

KEEP_STATES = """
CREATE OR REPLACE FUNCTION lastro_keep_held() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM workspaces_hold h WHERE h.workspace_id = OLD.workspace_id AND h.settled_at IS NULL
    ) THEN
        RETURN NULL;
    END IF;
    WITH held AS (
        SELECT id FROM lastro_holds_on(OLD.workspace_id, OLD.scope_kind, OLD.scope_hash, OLD.handle_id) AS f (id)
    ), kept AS (
        INSERT INTO agentstate_keptversion (
            workspace_id, hold_id, state_id, scope_kind, scope_hash, hash_key_id, agent, version, epoch, body, data_key_id,
            handle_id, held, type, updated_at, kept_at
        ) SELECT
            OLD.workspace_id, held.id, OLD.id, OLD.scope_kind, OLD.scope_hash, OLD.hash_key_id, OLD.agent, OLD.version,
            OLD.epoch, OLD.body, OLD.data_key_id, OLD.handle_id, OLD.held, OLD.type, OLD.updated_at, clock_timestamp()
        FROM held
    )
    INSERT INTO workspaces_heldkey (workspace_id, hold_id, key_id)
    SELECT OLD.workspace_id, held.id, key_id FROM held, unnest(ARRAY[OLD.data_key_id, OLD.handle_id]) AS key_id
    WHERE key_id IS NOT NULL ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
"""

# Triggers, so that no way to change history passes a hold by: a decision that is given up, a summary that follows
# another, a deletion, a sweep, a mistake.
KEEP = """
CREATE FUNCTION lastro_keep_message(
    _session history_session, _item uuid, _kind text, _position integer, _recorded timestamptz, _body bytea
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    WITH held AS (
        SELECT id FROM lastro_holds_on(
            _session.workspace_id, 'conversation', _session.conversation_hash, _session.handle_id
        ) AS f (id)
    ), kept AS (
        INSERT INTO history_keptitem (
            workspace_id, hold_id, session_id, source_id, conversation_hash, hash_key_id, handle_id, data_key_id,
            item_id, kind, position, recorded_at, body, kept_at
        ) SELECT
            _session.workspace_id, held.id, _session.id, _session.source_id, _session.conversation_hash,
            coalesce(_session.conversation_key_id, _session.hash_key_id), _session.handle_id, _session.data_key_id, _item, _kind, _position, _recorded, _body,
            clock_timestamp()
        FROM held
    )
    INSERT INTO workspaces_heldkey (workspace_id, hold_id, key_id)
    SELECT _session.workspace_id, held.id, key_id
    FROM held, unnest(ARRAY[_session.data_key_id, _session.handle_id]) AS key_id
    WHERE key_id IS NOT NULL ON CONFLICT DO NOTHING;
END
$$;
CREATE FUNCTION lastro_keep_held_item() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    _session history_session;
BEGIN
    IF EXISTS (
        SELECT FROM workspaces_hold h WHERE h.workspace_id = OLD.workspace_id AND h.settled_at IS NULL
    ) THEN
        SELECT * INTO _session FROM history_session WHERE id = OLD.session_id;
        PERFORM lastro_keep_message(_session, OLD.id, OLD.kind, OLD.position, OLD.recorded_at, OLD.body);
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION lastro_keep_held_summary() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM workspaces_hold h WHERE h.workspace_id = OLD.workspace_id AND h.settled_at IS NULL
    ) THEN
        PERFORM lastro_keep_message(OLD, OLD.id, 'summary', OLD.summary_version, NULL, OLD.summary);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER keeps_held_items AFTER DELETE ON history_item
    FOR EACH ROW EXECUTE FUNCTION lastro_keep_held_item();
CREATE TRIGGER keeps_emptied_items AFTER UPDATE OF is_swept ON history_item FOR EACH ROW
    WHEN (NEW.is_swept AND NOT OLD.is_swept) EXECUTE FUNCTION lastro_keep_held_item();
CREATE TRIGGER keeps_held_summaries AFTER UPDATE ON history_session FOR EACH ROW
    WHEN (OLD.summary IS NOT NULL AND (NEW.summary IS NULL OR OLD.summary_version <> NEW.summary_version))
    EXECUTE FUNCTION lastro_keep_held_summary();
CREATE TRIGGER keeps_last_summaries AFTER DELETE ON history_session FOR EACH ROW
    WHEN (OLD.summary IS NOT NULL) EXECUTE FUNCTION lastro_keep_held_summary();
"""
KEEP_NOTHING = """
DROP TRIGGER keeps_last_summaries ON history_session;
DROP TRIGGER keeps_held_summaries ON history_session;
DROP TRIGGER keeps_emptied_items ON history_item;
DROP TRIGGER keeps_held_items ON history_item;
DROP FUNCTION lastro_keep_held_summary();
DROP FUNCTION lastro_keep_held_item();
DROP FUNCTION lastro_keep_message(history_session, uuid, text, integer, timestamptz, bytea);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("agentstate", "0006_hash_keys"),
        ("history", "0005_hash_keys"),
        ("privacy", "0005_hash_keys"),
    ]

    operations = [
        migrations.RunSQL(HOLDS_ON, HOLDS_ON_NOTHING),
        migrations.RunSQL(KEEP_STATES, _STATES.KEEP_WITH_KEY),
        migrations.RunSQL(KEEP, KEEP_NOTHING),
    ]
