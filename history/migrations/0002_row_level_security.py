"""Rows of another workspace are refused (PL-1), and what a workspace keeps is counted where it changes (HI-4)."""

from django.db import migrations

from workspaces.postgresql.policies import isolate

# A trigger, so that no way to change a session passes the count by. The part belongs to the connection: a transaction
# waits for no other of its workspace, or for one in sixteen.
COUNT = """
CREATE FUNCTION lastro_count_history() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    _sessions bigint := 0;
    _bytes bigint := 0;
    _workspace uuid;
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.life = 'live' THEN
        _sessions := _sessions - 1;
        _bytes := _bytes - OLD.stored_bytes;
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.life = 'live' THEN
        _sessions := _sessions + 1;
        _bytes := _bytes + NEW.stored_bytes;
    END IF;
    IF _sessions = 0 AND _bytes = 0 THEN
        RETURN NULL;
    END IF;
    _workspace := CASE WHEN TG_OP = 'DELETE' THEN OLD.workspace_id ELSE NEW.workspace_id END;
    INSERT INTO history_usage AS u (workspace_id, part, sessions, stored_bytes)
    VALUES (_workspace, pg_backend_pid() % 16, _sessions, _bytes)
    ON CONFLICT (workspace_id, part) DO UPDATE
        SET sessions = u.sessions + EXCLUDED.sessions, stored_bytes = u.stored_bytes + EXCLUDED.stored_bytes;
    RETURN NULL;
END
$$;
CREATE TRIGGER counts_history AFTER INSERT OR UPDATE OF life, stored_bytes OR DELETE ON history_session
    FOR EACH ROW EXECUTE FUNCTION lastro_count_history();
"""

COUNT_NOTHING = """
DROP TRIGGER counts_history ON history_session;
DROP FUNCTION lastro_count_history();
"""


class Migration(migrations.Migration):
    dependencies = [("history", "0001_initial"), ("workspaces", "0003_row_level_security")]
    operations = [
        isolate("history_session"),
        isolate("history_item"),
        isolate("history_usage"),
        # Ciphertext does not get smaller: nobody need try.
        migrations.RunSQL(
            "ALTER TABLE history_item ALTER COLUMN body SET STORAGE EXTERNAL",
            "ALTER TABLE history_item ALTER COLUMN body SET STORAGE EXTENDED",
        ),
        migrations.RunSQL(COUNT, COUNT_NOTHING),
    ]
